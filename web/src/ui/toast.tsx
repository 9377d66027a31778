// Short messages about something that was done.
import { signal } from '@preact/signals';

interface Toast { id: number; text: string; tone: 'good' | 'bad' }
const toasts = signal<Toast[]>([]);
let next = 1;

export function toast(text: string, tone: Toast['tone'] = 'good'): void {
  const entry = { id: next, text, tone };
  next += 1;
  toasts.value = [...toasts.value, entry].slice(-4);
  setTimeout(() => { toasts.value = toasts.value.filter((other) => other !== entry); }, tone === 'bad' ? 9000 : 4000);
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map((entry) => <div class="toast" data-state={entry.tone} key={entry.id}>{entry.text}</div>)}
  </div>
);
