// The two lists that belong together.
import { redrivesPath } from '../../core/dead-letters';
import { place } from '../../live/router';

const tabs = [{ path: '/ui/dead-letters', title: 'By cause' }, { path: redrivesPath, title: 'Redrives' }];

export const DeadLetterTabs = () => (
  <nav class="tabs" aria-label="Dead letters">
    {tabs.map((tab) => <a key={tab.path} href={tab.path} aria-current={place.value.path === tab.path ? 'page' : undefined}>{tab.title}</a>)}
  </nav>
);
