// The event stream of this tab. There is at most one: the page that is shown says which events it wants, and the stream is
// opened again when that changes. It is closed while the tab is hidden or updates are paused.
import { effect, signal } from '@preact/signals';
import type { Event } from '../api/types';
import { ApiError, errorOf, session, withQuery } from '../api/client';
import { SseParser } from '../core/sse';
import { sample } from '../core/feed';
import { paused, visible } from './visibility';

/** `refused`: the server does not accept the filter, and asking again would not help. */
export type StreamState = 'off' | 'connecting' | 'live' | 'waiting' | 'refused';
export interface StreamStatus {
  state: StreamState;
  retryAt?: number;
  problem?: string;
}
export const streamStatus = signal<StreamStatus>({ state: 'off' });

/** Changes whenever events may have been missed: views load their data again. */
export const generation = signal(0);

export interface EventFilter {
  namespace?: string;
  lane?: string;
  execution_id?: string;
  type?: string;
}

/** `events` are all events of the batch, or evenly spread ones if there were more than `mostParsed`; `received` is the true number. */
export type Listener = (events: Event[], received: number) => void;

interface Subscription {
  filter: EventFilter;
  listener: Listener;
}
const wanted = signal<Subscription | undefined>(undefined);

/** Events are handed on this often: more often than anyone reads, and seldom enough that drawing keeps up. */
const batchMs = 150;
const mostParsed = 400;
const longestPauseMs = 15_000;
const hopeless = new Set([400, 403, 404]);

/** Returns the function that ends the subscription. The newest subscription replaces the one before. */
export function subscribe(filter: EventFilter, listener: Listener): () => void {
  const subscription = { filter, listener };
  wanted.value = subscription;
  return () => {
    if (wanted.peek() === subscription) wanted.value = undefined;
  };
}

class Connection {
  private readonly abort = new AbortController();
  private raw: string[] = [];
  private flushTimer: ReturnType<typeof setTimeout> | undefined;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private cursor = '';
  private failures = 0;

  constructor(private readonly subscription: Subscription) {
    void this.run();
  }

  close(): void {
    this.abort.abort();
    clearTimeout(this.flushTimer);
    clearTimeout(this.retryTimer);
  }

  private get closed(): boolean {
    return this.abort.signal.aborted;
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      if (this.failures === 0) streamStatus.value = { state: 'connecting' };
      let problem = 'The server ended the stream.';
      try {
        await this.read();
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
        if (error instanceof ApiError && hopeless.has(error.status)) {
          streamStatus.value = { state: 'refused', problem };
          return;
        }
      }
      if (this.closed) return;
      await this.rest(problem);
    }
  }

  private async read(): Promise<void> {
    const path = withQuery('/v1/events', { ...this.subscription.filter, cursor: this.cursor });
    const response = await fetch(path, { headers: { Accept: 'text/event-stream' }, signal: this.abort.signal, cache: 'no-store' })
      .catch((): never => { throw new Error('The server cannot be reached.'); });
    if (!response.ok || !response.body) throw await this.refused(response);
    const again = this.failures > 0;
    this.failures = 0;
    streamStatus.value = { state: 'live' };
    // A stream continues from its cursor, but what the page loaded may be older than the first event.
    if (again || this.cursor === '') generation.value += 1;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new SseParser();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const messages = parser.push(value);
      if (parser.lastId !== '') this.cursor = parser.lastId;
      for (const message of messages) {
        if (message.event === 'cut') return this.cut(message.data);
        this.raw.push(message.data);
      }
      if (this.raw.length > 0 && this.flushTimer === undefined) this.flushTimer = setTimeout(() => this.flush(), batchMs);
    }
  }

  private async refused(response: Response): Promise<Error> {
    const problem = await errorOf(response);
    if (problem.status === 410) this.cursor = '';
    if (problem.status === 401 && session.value) session.value = { ...session.value, signed_in: false };
    return problem;
  }

  private cut(data: string): never {
    const { reason, message, cursor } = JSON.parse(data) as { reason: string; message: string; cursor?: string };
    if (cursor) this.cursor = cursor;
    if (reason === 'cursor_expired') generation.value += 1;
    if (reason === 'unauthenticated' && session.value) session.value = { ...session.value, signed_in: false };
    throw new Error(message);
  }

  private rest(problem: string): Promise<void> {
    this.failures += 1;
    const pause = Math.min(longestPauseMs, 500 * 2 ** Math.min(this.failures - 1, 5)) * (0.75 + Math.random() / 2);
    streamStatus.value = { state: 'waiting', retryAt: Date.now() + pause, problem };
    return new Promise((resolve) => {
      this.retryTimer = setTimeout(resolve, pause);
    });
  }

  private flush(): void {
    this.flushTimer = undefined;
    const raw = this.raw;
    this.raw = [];
    if (this.closed) return;
    const events = sample(raw, mostParsed).map((data) => JSON.parse(data) as Event);
    this.subscription.listener(events, raw.length);
  }
}

let connection: Connection | undefined;

effect(() => {
  const subscription = wanted.value;
  const signedIn = session.value?.signed_in ?? false;
  connection?.close();
  connection = undefined;
  if (subscription && signedIn && visible.value && !paused.value) connection = new Connection(subscription);
  else streamStatus.value = { state: 'off' };
});
