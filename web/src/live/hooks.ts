// Data for views: loaded, kept while it is loaded again, refreshed while the tab is visible.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { effect, useSignalEffect } from '@preact/signals';
import { ApiError } from '../api/client';
import { generation, subscribe, type EventFilter, type Listener } from './stream';
import { paused, visible } from './visibility';

export interface Resource<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  reload: () => void;
  set: (change: (data: T) => T) => void;
}

export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, 'internal', error instanceof Error ? error.message : String(error), undefined);
}

interface Options {
  /** Load again this often while visible and not paused. */
  every?: number;
  /** Load again when events may have been missed. */
  live?: boolean;
}

interface State<T> {
  key?: string;
  data?: T;
  error?: ApiError;
  loading: boolean;
}

/** `key` names what is loaded: when it changes, the data of the old key is dropped. An undefined key loads nothing. */
export function useResource<T>(key: string | undefined, load: (abort: AbortSignal) => Promise<T>, options: Options = {}): Resource<T> {
  const [state, setState] = useState<State<T>>({ loading: key !== undefined });
  const loader = useRef(load);
  loader.current = load;
  const running = useRef<{ abort: AbortController; again: boolean }>();

  const start = useCallback(() => {
    if (key === undefined) return;
    const own = { abort: new AbortController(), again: false };
    running.current = own;
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, loading: true }));
    const settle = (change: (old: State<T>) => State<T>): void => {
      if (own.abort.signal.aborted) return;
      running.current = undefined;
      setState(change);
      if (own.again) start();
    };
    loader.current(own.abort.signal).then(
      (data) => settle(() => ({ key, data, loading: false })),
      (error: unknown) => settle((old) => ({ ...old, error: toApiError(error), loading: false })),
    );
  }, [key]);

  // A slow answer is waited for, and then asked for again: repeated reloads must not keep the first one from ever arriving.
  const reload = useCallback(() => {
    if (running.current) running.current.again = true;
    else start();
  }, [start]);

  useEffect(() => {
    start();
    return () => {
      running.current?.abort.abort();
      running.current = undefined;
    };
  }, [start]);

  useRepeat(options.every, reload);
  const seen = useRef(generation.peek());
  useSignalEffect(() => {
    const current = generation.value;
    if (!options.live || current === seen.current) return;
    seen.current = current;
    reload();
  });

  const set = useCallback((change: (data: T) => T) => {
    setState((old) => (old.data === undefined ? old : { ...old, data: change(old.data) }));
  }, []);
  const own = state.key === key;
  return { data: own ? state.data : undefined, error: own ? state.error : undefined, loading: state.loading || !own, reload, set };
}

/** Calls `action` every `ms` while the tab is visible and updates are not paused, and once when that begins again. */
export function useRepeat(ms: number | undefined, action: () => void): void {
  const latest = useRef(action);
  latest.current = action;
  const stopped = useRef(false);
  useEffect(() => (ms === undefined ? undefined : effect(() => {
    if (!visible.value || paused.value) {
      stopped.current = true;
      return undefined;
    }
    if (stopped.current) latest.current();
    stopped.current = false;
    const timer = setInterval(() => latest.current(), ms);
    return () => clearInterval(timer);
  })), [ms]);
}

/** The events of the stream while the view is shown. `key` changes when the filter does. */
export function useEvents(filter: EventFilter | undefined, listener: Listener): void {
  const latest = useRef(listener);
  latest.current = listener;
  const key = JSON.stringify(filter);
  useEffect(() => {
    if (!filter) return undefined;
    return subscribe(filter, (events, received) => latest.current(events, received));
  }, [key]);
}

/** Calls `action` within `ms` after it was asked for, and no more often than that. */
export function useSoon(action: () => void, ms: number): () => void {
  const latest = useRef(action);
  latest.current = action;
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, ms);
  };
}
