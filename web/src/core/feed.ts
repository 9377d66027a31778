// The live feed of events: keeps the newest ones, and a sample of them when more arrive than anyone can read.
import type { Event } from '../api/types';

export interface Feed {
  events: readonly Event[]; // oldest first
  received: number; // all that came
  shown: number; // all that were kept when they came
}

export const emptyFeed: Feed = { events: [], received: 0, shown: 0 };

/** Keeps all of a batch up to `most`, and beyond that evenly spread ones, first and last included. */
export function sample<T>(batch: readonly T[], most: number): T[] {
  if (batch.length <= most) return [...batch];
  if (most <= 1) return most < 1 ? [] : batch.slice(-1);
  const kept: T[] = [];
  for (let i = 0; i < most; i += 1) kept.push(batch[Math.floor((i * (batch.length - 1)) / (most - 1))] as T);
  return kept;
}

/** `received` counts what came since the last call, which may be more than `batch` has. */
export function addToFeed(feed: Feed, batch: readonly Event[], received: number, most: number, capacity: number): Feed {
  if (received === 0) return feed;
  const kept = sample(batch, most);
  const events = [...feed.events, ...kept].slice(-capacity);
  return { events, received: feed.received + received, shown: feed.shown + kept.length };
}
