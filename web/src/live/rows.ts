// The rows of a list that is loaded page by page while it is scrolled. Rows change in place; new ones are only counted.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/client';
import { toApiError, useSoon } from './hooks';
import { generation } from './stream';

const pageSize = 100;
const mostRefreshed = 1000;
const refreshMs = 2000;

export interface RowPage<T> { rows: T[]; next: string }
export type LoadRows<T> = (limit: number, cursor: string, abort?: AbortSignal) => Promise<RowPage<T>>;

/** `key` names the filter: when it changes, the list begins again. */
export function useRows<T>(key: string, keyOf: (row: T) => string, read: LoadRows<T>) {
  const [state, setState] = useState<{ key: string; rows: T[]; cursor: string; done: boolean; loaded: boolean }>({ key, rows: [], cursor: '', done: false, loaded: false });
  const [error, setError] = useState<ApiError>();
  const busy = useRef<AbortController>();
  const [fresh, setFresh] = useState(0);

  const load = (from: string, keep: T[]): void => {
    if (from !== '' && busy.current) return;
    busy.current?.abort();
    const abort = new AbortController();
    busy.current = abort;
    read(pageSize, from, abort.signal).then((page) => {
      const known = new Set(keep.map(keyOf));
      busy.current = undefined;
      setError(undefined);
      setState({ key, rows: [...keep, ...page.rows.filter((row) => !known.has(keyOf(row)))], cursor: page.next, done: page.next === '', loaded: true });
    }, (problem: unknown) => {
      if (abort.signal.aborted) return;
      busy.current = undefined;
      setError(toApiError(problem));
    });
  };
  const reload = (): void => { setFresh(0); load('', []); };
  useEffect(() => { reload(); return () => busy.current?.abort(); }, [key, generation.value]);
  const more = (): void => { if (state.key === key && state.loaded && !state.done && !error) load(state.cursor, state.rows); };
  /** Changes rows in place; the function returns the same array if there is nothing to change. */
  const change = (update: (rows: T[]) => T[]): void => setState((old) => {
    const rows = update(old.rows);
    return rows === old.rows ? old : { ...old, rows };
  });
  const refresh = (): void => {
    if (state.rows.length === 0) return;
    read(Math.min(mostRefreshed, state.rows.length), '').then((page) => {
      const current = new Map(page.rows.map((row) => [keyOf(row), row]));
      setState((old) => (old.key === key ? { ...old, rows: old.rows.map((row) => current.get(keyOf(row)) ?? row) } : old));
    }, () => undefined);
  };
  const refreshSoon = useSoon(refresh, refreshMs);
  const own = state.key === key;
  return {
    rows: own ? state.rows : [], loaded: own && state.loaded, done: own && state.done, error, fresh, reload, more, change, refresh, refreshSoon,
    addFresh: (count: number): void => { if (count > 0) setFresh((old) => old + count); },
  };
}

/** Applies events to the rows that they are about. */
export function applyAll<T, E>(rows: T[], events: readonly E[], keyOf: (row: T) => string, about: (event: E) => string | undefined, apply: (row: T, event: E) => T): T[] {
  const numbers = new Map(rows.map((row, index) => [keyOf(row), index] as const));
  let changed: T[] | undefined;
  for (const event of events) {
    const key = about(event);
    const index = key === undefined ? undefined : numbers.get(key);
    if (index === undefined) continue;
    const before = (changed ?? rows)[index] as T;
    const after = apply(before, event);
    if (after === before) continue;
    changed ??= [...rows];
    changed[index] = after;
  }
  return changed ?? rows;
}
