import type { Page } from '../../page';
import { Lanes } from './lanes';

export const pages: Page[] = [{ path: '/ui/lanes', title: 'Lanes', component: Lanes, nav: { icon: 'lanes', order: 4, key: 'l' } }];
