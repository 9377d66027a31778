import type { Page } from '../../page';
import { Schedule } from './schedule';

export const pages: Page[] = [{ path: '/ui/schedules/:id', title: 'Schedule', component: Schedule }];
