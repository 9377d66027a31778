import type { Page } from '../../page';
import { Flows } from './flows';

export const pages: Page[] = [{ path: '/ui/flows', title: 'Flows', component: Flows, nav: { icon: 'flows', order: 3, key: 'f' } }];
