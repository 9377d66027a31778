import type { Page } from '../../page';
import { Events } from './events';

export const pages: Page[] = [{ path: '/ui/events', title: 'Events', component: Events, nav: { icon: 'events', order: 6, key: 'v' } }];
