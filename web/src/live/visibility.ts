// A hidden tab costs nothing: everything that repeats asks here.
import { signal } from '@preact/signals';

export const visible = signal(document.visibilityState !== 'hidden');
document.addEventListener('visibilitychange', () => {
  visible.value = document.visibilityState !== 'hidden';
});

/** Live updates are switched off by the person. */
export const paused = signal(false);

/** The time, in steps of a second, while the tab is visible. Used by texts such as "3 s ago". */
export const now = signal(Date.now());

let timer: ReturnType<typeof setInterval> | undefined;
visible.subscribe((shown) => {
  if (timer !== undefined) clearInterval(timer);
  timer = undefined;
  if (!shown) return;
  now.value = Date.now();
  timer = setInterval(() => {
    now.value = Date.now();
  }, 1000);
});
