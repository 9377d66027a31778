import type { Page } from '../../page';
import { Execution } from './execution';

export const pages: Page[] = [{ path: '/ui/executions/:id', title: 'Execution', component: Execution }];
