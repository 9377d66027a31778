// One place for keys. Pages add theirs while they are shown.
import { useLayoutEffect } from 'preact/hooks';
import { dialogIsOpen } from './dialog';

export interface Shortcut {
  keys: string; // "j", "g e", "ctrl+k"
  text: string; // for the list of shortcuts
  run: (event: KeyboardEvent) => void;
  always?: boolean; // also in fields and dialogs
}

const active = new Set<Shortcut>();
export const activeShortcuts = (): Shortcut[] => [...active];

let prefix = '';
let prefixAt = 0;
const prefixMs = 1200;

const inField = (event: KeyboardEvent): boolean =>
  event.target instanceof HTMLElement && (event.target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(event.target.tagName));

function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) return `ctrl+${key}`;
  return event.altKey ? `alt+${key}` : key;
}

document.addEventListener('keydown', (event) => {
  const name = nameOf(event);
  const combined = prefix !== '' && Date.now() - prefixAt < prefixMs ? `${prefix} ${name}` : '';
  prefix = '';
  const free = !inField(event) && !dialogIsOpen();
  // The newest first: a page may give a key a meaning of its own.
  for (const shortcut of [...active].reverse()) {
    if (shortcut.keys !== name && shortcut.keys !== combined) continue;
    if (!free && !shortcut.always) continue;
    event.preventDefault();
    shortcut.run(event);
    return;
  }
  if (free && [...active].some((shortcut) => shortcut.keys.startsWith(`${name} `))) {
    prefix = name;
    prefixAt = Date.now();
  }
});

export function useShortcuts(shortcuts: Shortcut[]): void {
  useLayoutEffect(() => {
    for (const shortcut of shortcuts) active.add(shortcut);
    return () => { for (const shortcut of shortcuts) active.delete(shortcut); };
  });
}
