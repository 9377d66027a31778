import type { Page } from '../../page';
import { Limit } from './limit';

export const pages: Page[] = [{ path: '/ui/limits/:id', title: 'Limit', component: Limit }];
