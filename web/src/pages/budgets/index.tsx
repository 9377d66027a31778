import type { Page } from '../../page';
import { Budgets } from './budgets';

export const pages: Page[] = [{ path: '/ui/budgets', title: 'Budgets', component: Budgets, nav: { icon: 'budgets', order: 4.6, key: 'b' } }];
