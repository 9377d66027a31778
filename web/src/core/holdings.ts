// What a worker holds, as far as the event stream told: a claim adds, the end of a lease removes.
import type { Event } from '../api/types';

export interface Held {
  execution_id: string;
  kind: string;
  since: number;
}
export type Holdings = ReadonlyMap<string, { worker: string; held: Held }>; // by execution

export const workerKey = (namespace: string | undefined, instance: string): string => `${namespace ?? 'default'} ${instance}`;

const starts = new Set(['claimed', 'resumed', 'lease_reclaimed']);
const ends = new Set(['completed', 'failed', 'retry_scheduled', 'cancelled', 'expired', 'lease_expired', 'lease_revoked', 'delayed', 'released']);
const most = 5000;

export function follow(holdings: Holdings, events: readonly Event[]): Holdings {
  let next: Map<string, { worker: string; held: Held }> | undefined;
  for (const event of events) {
    const id = event.execution_id;
    if (id === undefined) continue;
    if (starts.has(event.type) && event.worker_instance_id) {
      next ??= new Map(holdings);
      next.set(id, { worker: event.worker_instance_id, held: { execution_id: id, kind: event.kind ?? '', since: event.at ?? 0 } });
    } else if (ends.has(event.type) && (next ?? holdings).has(id)) {
      next ??= new Map(holdings);
      next.delete(id);
    }
  }
  if (!next) return holdings;
  // The oldest are the likeliest to be stale: their end may have been in a part of the stream that was sampled.
  for (const id of next.keys()) {
    if (next.size <= most) break;
    next.delete(id);
  }
  return next;
}

export function heldBy(holdings: Holdings): Map<string, Held[]> {
  const byWorker = new Map<string, Held[]>();
  for (const { worker, held } of holdings.values()) byWorker.set(worker, [...(byWorker.get(worker) ?? []), held]);
  return byWorker;
}
