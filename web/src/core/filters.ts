// The filter of the executions page: as text in the address, as a query of the API, as a body of a bulk action.
import type { Event, ExecutionFilter, ExecutionSummary } from '../api/types';
import { publicStates, type PublicState } from '../api/contract';

export interface Filter {
  namespace?: string;
  lane?: string;
  kind?: string;
  state: PublicState[];
  tag?: string;
  flow?: string;
  created_from?: number;
  created_before?: number;
  finished_from?: number;
  finished_before?: number;
}

export const textFields = ['namespace', 'lane', 'kind', 'tag', 'flow'] as const;
export const timeFields = ['created_from', 'created_before', 'finished_from', 'finished_before'] as const;
type TextField = (typeof textFields)[number];
type TimeField = (typeof timeFields)[number];
export type FilterField = TextField | TimeField | 'state';

export const noFilter: Filter = { state: [] };

export function parseFilter(search: string): Filter {
  const query = new URLSearchParams(search);
  const filter: Filter = { state: [] };
  for (const field of textFields) {
    const value = query.get(field)?.trim();
    if (value) filter[field] = value;
  }
  for (const field of timeFields) {
    const value = query.get(field);
    if (value && /^\d+$/.test(value)) filter[field] = Number(value);
  }
  const wanted = new Set((query.get('state') ?? '').split(','));
  filter.state = publicStates.filter((state) => wanted.has(state));
  return filter;
}

/** Fields in a fixed order, so that equal filters have equal addresses. */
export function filterQuery(filter: Filter): URLSearchParams {
  const query = new URLSearchParams();
  if (filter.state.length > 0) query.set('state', filter.state.join(','));
  for (const field of [...textFields, ...timeFields]) {
    const value = filter[field];
    if (value !== undefined && value !== '') query.set(field, String(value));
  }
  return query;
}

/** The address of the executions page with this filter. */
export function filterLink(filter: Partial<Filter>): string {
  const query = filterQuery({ ...noFilter, ...filter }).toString().replaceAll('%2C', ',');
  return query ? `/ui/executions?${query}` : '/ui/executions';
}

export const isEmpty = (filter: Filter): boolean => filterQuery(filter).toString() === '';

export function bulkFilter(filter: Filter): ExecutionFilter {
  const body: ExecutionFilter = {};
  for (const field of ['namespace', 'lane', 'kind', 'flow'] as const) if (filter[field]) body[field] = filter[field];
  for (const field of timeFields) if (filter[field] !== undefined) body[field] = filter[field];
  if (filter.state.length > 0) body.states = filter.state;
  if (filter.tag) {
    const { key, value } = splitTag(filter.tag);
    body.tag = { [key]: value };
  }
  return body;
}

export function splitTag(text: string): { key: string; value: string } {
  const at = text.indexOf('=');
  return at < 0 ? { key: text, value: '' } : { key: text.slice(0, at), value: text.slice(at + 1) };
}

/** Whether an execution that an event has just created belongs into the list. Tags are not in events, so a tag never matches. */
export function matchesCreated(filter: Filter, event: Event): boolean {
  if (filter.tag || filter.flow || filter.finished_from || filter.finished_before) return false;
  const at = event.at ?? 0;
  return (!filter.namespace || filter.namespace === event.namespace)
    && (!filter.lane || filter.lane === event.lane)
    && (!filter.kind || filter.kind === event.kind)
    && (filter.state.length === 0 || filter.state.includes(event.state_after as PublicState))
    && (filter.created_from === undefined || at >= filter.created_from)
    && (filter.created_before === undefined || at < filter.created_before);
}

/** An event brings a listed execution into a state that the filter selects, and it was not in one before. */
export function entersFilter(filter: Filter, event: Event): boolean {
  if (event.type === 'created') return matchesCreated(filter, event);
  if (filter.state.length === 0 || filter.tag || filter.flow) return false;
  if (event.state_before === event.state_after) return false;
  return filter.state.includes(event.state_after as PublicState)
    && !filter.state.includes(event.state_before as PublicState)
    && (!filter.namespace || filter.namespace === event.namespace)
    && (!filter.lane || filter.lane === event.lane)
    && (!filter.kind || filter.kind === event.kind);
}

/** The row after the event; the same object if the event changes nothing that a row shows. */
export function applyEvent(row: ExecutionSummary, event: Event): ExecutionSummary {
  if (event.execution_id !== row.execution_id) return row;
  const next = { ...row };
  if (event.state_after) next.public_state = event.state_after;
  if (event.attempt_index !== undefined) next.attempt_count = Math.max(row.attempt_count, event.attempt_index + 1);
  if (event.type === 'claimed' && next.started_at === undefined) next.started_at = event.at;
  const ended = ['completed', 'failed', 'cancelled', 'expired'].includes(event.type);
  if (ended) next.finished_at = event.at;
  if (event.type === 'replayed') delete next.finished_at;
  const changed = next.public_state !== row.public_state || next.attempt_count !== row.attempt_count
    || next.started_at !== row.started_at || next.finished_at !== row.finished_at;
  return changed ? next : row;
}

export type Search = { id: string } | { filter: Filter };

const idPattern = /^(fp\d{1,3}-[0-9a-f-]{36}|\{fp:\d{1,3}\}:[0-9a-f-]{36})$/i;

/**
 * The text of the search box: an id, or words like `kind:send lane:mail state:failed,expired tag:team=mail`. A word
 * without a field is a state if it is one, else a kind.
 */
export function parseSearch(text: string, base: Filter = noFilter): Search {
  const trimmed = text.trim();
  if (idPattern.test(trimmed)) return { id: trimmed };
  const filter: Filter = { ...base, state: [...base.state] };
  for (const word of trimmed.split(/\s+/).filter(Boolean)) addWord(filter, word);
  return { filter };
}

function addWord(filter: Filter, word: string): void {
  const colon = word.indexOf(':');
  const field = colon < 0 ? '' : word.slice(0, colon);
  const value = word.slice(colon + 1);
  if ((textFields as readonly string[]).includes(field)) {
    if (value) filter[field as TextField] = value;
    else delete filter[field as TextField];
    return;
  }
  const states = (field === 'state' ? value : word).split(',').filter((state): state is PublicState => (publicStates as readonly string[]).includes(state));
  if (states.length > 0) filter.state = publicStates.filter((state) => states.includes(state));
  else if (field !== 'state') filter.kind = word;
}
