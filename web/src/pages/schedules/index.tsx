import type { Page } from '../../page';
import { Schedules } from './schedules';

export const pages: Page[] = [{ path: '/ui/schedules', title: 'Schedules', component: Schedules, nav: { icon: 'schedules', order: 3.8, key: 'c' } }];
