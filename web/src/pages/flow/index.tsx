import type { Page } from '../../page';
import { Flow } from './flow';

export const pages: Page[] = [{ path: '/ui/flows/:id', title: 'Flow', component: Flow }];
