import type { Page } from '../../page';
import { ApiKeys } from './api-keys';
import { Namespaces } from './namespaces';
import { SigningKeys } from './signing-keys';
import { ThisBrowser } from './browser';

export const pages: Page[] = [
  { path: '/ui/settings', title: 'Settings', component: ThisBrowser, nav: { icon: 'settings', order: 10, key: 's' } },
  { path: '/ui/settings/api-keys', title: 'API keys', component: ApiKeys },
  { path: '/ui/settings/signing-keys', title: 'Signing keys', component: SigningKeys },
  { path: '/ui/settings/namespaces', title: 'Namespaces', component: Namespaces },
];
