import type { Page } from '../../page';
import { Workers } from './workers';

export const pages: Page[] = [{ path: '/ui/workers', title: 'Workers', component: Workers, nav: { icon: 'workers', order: 5, key: 'w' } }];
