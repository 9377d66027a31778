// What the frame and the command palette both offer.
import { call, get, session } from './api/client';
import { allows, type Session } from './api/contract';
import { shownTheme, theme } from './live/preferences';
import { forgetOverview } from './live/overview';
import { pages, type Page } from './page';

export const visiblePages = (): Page[] => pages.filter((page) => page.nav && (!page.role || allows(session.value, page.role)));

export async function signOut(): Promise<void> {
  await call<unknown>('DELETE', '/v1/session');
  forgetOverview();
  session.value = await get<Session>('/v1/session');
}

export function switchTheme(): void {
  theme.value = shownTheme.value === 'dark' ? 'light' : 'dark';
}
