import type { Page } from '../../page';
import { WaitsPage } from './waits';

export const pages: Page[] = [{ path: '/ui/waits', title: 'Waits', component: WaitsPage, nav: { icon: 'waits', order: 3.6, key: 't' } }];
