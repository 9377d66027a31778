import type { Page } from '../../page';
import { Overview } from './overview';

export const pages: Page[] = [{ path: '/', title: 'Overview', component: Overview, nav: { icon: 'overview', order: 1, key: 'o' } }];
