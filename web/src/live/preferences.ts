// What this browser remembers. Everything works without it, as in private windows that refuse storage.
import { effect, signal, type Signal } from '@preact/signals';

function read<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(`flowfabric.${name}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function remembered<T>(name: string, otherwise: T): Signal<T> {
  const value = signal(read(name, otherwise));
  let first = true;
  effect(() => {
    const text = JSON.stringify(value.value);
    if (first) {
      first = false;
      return;
    }
    try {
      localStorage.setItem(`flowfabric.${name}`, text);
    } catch {
      // It holds until the tab is closed.
    }
  });
  return value;
}

export type Theme = 'system' | 'light' | 'dark';
export const theme = remembered<Theme>('theme', 'system');
export const utc = remembered('utc', false);

export interface SavedView {
  name: string;
  query: string;
}
export const savedViews = remembered<SavedView[]>('views', []);

const darkSystem = matchMedia('(prefers-color-scheme: dark)');
/** Light or dark, as shown. Charts draw on a canvas and have to know. */
export const shownTheme = signal<'light' | 'dark'>('light');
const settle = (): void => {
  const dark = theme.value === 'dark' || (theme.value === 'system' && darkSystem.matches);
  shownTheme.value = dark ? 'dark' : 'light';
  document.documentElement.dataset['theme'] = shownTheme.value;
};
effect(settle);
darkSystem.addEventListener('change', settle);

const narrowScreen = matchMedia('(max-width: 760px)');
export const narrow = signal(narrowScreen.matches);
narrowScreen.addEventListener('change', () => {
  narrow.value = narrowScreen.matches;
});
