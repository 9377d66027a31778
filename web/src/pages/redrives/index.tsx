import type { Page } from '../../page';
import { RedrivePage } from './redrive';
import { Redrives } from './redrives';

export const pages: Page[] = [
  { path: '/ui/dead-letters/redrives', title: 'Redrives', component: Redrives },
  { path: '/ui/dead-letters/redrives/:id', title: 'Redrive', component: RedrivePage },
];
