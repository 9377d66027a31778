// Data for views: loaded, kept while it is loaded again, refreshed while the tab is visible.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useSignalEffect } from '@preact/signals';
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

/** `key` names what is loaded: when it changes, the data of the old key is dropped. An undefined key loads nothing. */
export function useResource<T>(key: string | undefined, load: (abort: AbortSignal) => Promise<T>, options: Options = {}): Resource<T> {
  const [state, setState] = useState<{ key?: string; data?: T; error?: ApiError; loading: boolean }>({ loading: key !== undefined });
  const loader = useRef(load);
  loader.current = load;
  const running = useRef<AbortController>();

  const reload = useCallback(() => {
    if (key === undefined) return;
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, loading: true }));
    loader.current(abort.signal).then(
      (data) => { if (!abort.signal.aborted) setState({ key, data, loading: false }); },
      (error: unknown) => { if (!abort.signal.aborted) setState((old) => ({ ...old, error: toApiError(error), loading: false })); },
    );
  }, [key]);

  useEffect(() => {
    reload();
    return () => running.current?.abort();
  }, [reload]);

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
  useSignalEffect(() => {
    if (ms === undefined) return undefined;
    if (!visible.value || paused.value) {
      stopped.current = true;
      return undefined;
    }
    if (stopped.current) latest.current();
    stopped.current = false;
    const timer = setInterval(() => latest.current(), ms);
    return () => clearInterval(timer);
  });
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
