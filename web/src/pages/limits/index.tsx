import type { Page } from '../../page';
import { Limits } from './limits';

export const pages: Page[] = [{ path: '/ui/limits', title: 'Limits', component: Limits, nav: { icon: 'limits', order: 4.5, key: 'i' } }];
