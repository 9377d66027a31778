import type { Page } from '../../page';
import { DeadLetters } from './dead-letters';
import { Group } from './group';

export const pages: Page[] = [
  { path: '/ui/dead-letters', title: 'Dead letters', component: DeadLetters, nav: { icon: 'dead-letters', order: 2.5, key: 'd' } },
  { path: '/ui/dead-letters/groups/:id', title: 'Dead letters', component: Group },
];
