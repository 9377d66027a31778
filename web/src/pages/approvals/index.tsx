import type { Page } from '../../page';
import { Approvals } from './approvals';

export const pages: Page[] = [{ path: '/ui/approvals', title: 'Approvals', component: Approvals, nav: { icon: 'approvals', order: 3.3, key: 'a' } }];
