import type { Page } from '../../page';
import { Executions } from './executions';

export const pages: Page[] = [{ path: '/ui/executions', title: 'Executions', component: Executions, nav: { icon: 'executions', order: 2, key: 'e' } }];
