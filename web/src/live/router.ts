// The address is the state: every view can be linked to, and back and forward work.
import { signal } from '@preact/signals';

export interface Place {
  path: string;
  search: string;
}

const here = (): Place => ({ path: window.location.pathname, search: window.location.search });
export const place = signal<Place>(here());

export function navigate(to: string, options: { replace?: boolean } = {}): void {
  if (to === place.value.path + place.value.search) return;
  if (options.replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  place.value = here();
}

window.addEventListener('popstate', () => {
  place.value = here();
});

/** Ordinary links work without reloading; with a modifier key they do what the browser does. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== window.location.origin) return;
  if (link.pathname !== '/' && !link.pathname.startsWith('/ui/')) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
});
