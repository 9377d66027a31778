import type { Page } from '../../page';
import { Budget } from './budget';

export const pages: Page[] = [{ path: '/ui/budgets/:id', title: 'Budget', component: Budget }];
