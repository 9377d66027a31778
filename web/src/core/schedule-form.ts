// What the form of a schedule holds, as texts, and the request that they make. What the form has no field for is kept.
import type { CreateRequest, PreviewBody, ScheduleSpec } from '../api/types';
import { Refusal, type FormValues } from './form';
import { compactDuration, fromLocalInput, parseDuration, toLocalInput } from './format';
import { parseTags } from './tags';

export const emptyForm: FormValues = {
  timing: 'cron', cron: '', every: '1h', time_zone: 'UTC', exceptions: '', anchor_at: '', start_at: '', end_at: '', jitter: '0s', overlap: 'skip', catch_up: 'last', catch_up_limit: '100',
  start_window: '1m', kind: '', lane: 'default', priority: '0', payload: '', tags: '',
};

const moment = (at: number | undefined): string => (at ? toLocalInput(at) : '');

/** `payload` is the JSON text of the payload, if it is JSON. */
export function formOf(spec: ScheduleSpec, payload: string | undefined): FormValues {
  const execution = spec.execution ?? { kind: '' };
  return {
    timing: spec.cron ? 'cron' : 'every', cron: spec.cron ?? '', every: compactDuration(spec.every_ms ?? 3_600_000), time_zone: spec.time_zone, exceptions: spec.exceptions.join('\n'),
    anchor_at: moment(spec.anchor_at), start_at: moment(spec.start_at), end_at: moment(spec.end_at), jitter: compactDuration(spec.jitter_ms).replace('0ms', '0s'), overlap: spec.overlap,
    catch_up: spec.catch_up, catch_up_limit: String(spec.catch_up_limit), start_window: compactDuration(spec.start_window_ms), kind: execution.kind, lane: execution.lane ?? 'default',
    priority: String(execution.priority ?? 0), payload: payload ?? '', tags: Object.entries(execution.tags ?? {}).map(([key, value]) => `${key}=${value}`).join('\n'),
  };
}

function milliseconds(values: FormValues, name: string, field: string): number {
  const ms = parseDuration(values[name] ?? '');
  if (ms === undefined) throw new Refusal(field, `"${values[name] ?? ''}" is not a duration; write 500ms, 30s, 15m, 2h or 1d`);
  return ms;
}

/** A time of the form. One that was not touched keeps its milliseconds, which the input does not show. */
function momentOf(values: FormValues, name: string, before: number | undefined): number | undefined {
  if (before && toLocalInput(before) === values[name]) return before;
  return fromLocalInput(values[name] ?? '');
}

const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter(Boolean);

/** When it would fire. */
export function timesOf(values: FormValues, before?: ScheduleSpec): Omit<PreviewBody, 'from' | 'count'> {
  const times: Omit<PreviewBody, 'from' | 'count'> = {};
  const anchor = momentOf(values, 'anchor_at', before?.anchor_at);
  const start = momentOf(values, 'start_at', before?.start_at);
  const end = momentOf(values, 'end_at', before?.end_at);
  if (values['timing'] === 'every') {
    times.every_ms = milliseconds(values, 'every', 'every_ms');
    if (anchor !== undefined) times.anchor_at = anchor;
  } else times.cron = (values['cron'] ?? '').trim();
  if ((values['time_zone'] ?? '').trim() !== '') times.time_zone = (values['time_zone'] ?? '').trim();
  const exceptions = linesOf(values['exceptions'] ?? '');
  if (exceptions.length > 0) times.exceptions = exceptions;
  if (start !== undefined) times.start_at = start;
  if (end !== undefined) times.end_at = end;
  return times;
}

function base64(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}

function executionOf(values: FormValues, before: CreateRequest | undefined, beforePayload: string | undefined): CreateRequest {
  const kept: CreateRequest = { ...before, kind: (values['kind'] ?? '').trim() };
  const execution = Object.fromEntries(Object.entries(kept).filter(([name, value]) => name === 'kind' || (value !== '' && name !== 'namespace'))) as unknown as CreateRequest;
  execution.lane = (values['lane'] ?? '').trim() || 'default';
  execution.priority = Number(values['priority'] ?? 0);
  execution.tags = parseTags(values['tags'] ?? '');
  const payload = values['payload'] ?? '';
  // A payload that is not JSON is not in the form, and stays unless another one is written.
  if (payload.trim() === '' && beforePayload === undefined) return execution;
  delete execution.payload;
  delete execution.payload_base64;
  delete execution.payload_encoding;
  if (payload.trim() === '') return execution;
  try {
    JSON.parse(payload);
  } catch (error) {
    throw new Refusal('execution.payload', `is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
  // As bytes: a number of many digits would not survive as a JSON value of the browser.
  execution.payload_base64 = base64(payload);
  execution.payload_encoding = 'json';
  return execution;
}

/** The spec that the form describes. */
export function specOf(values: FormValues, before?: ScheduleSpec, beforePayload?: string): Omit<Partial<ScheduleSpec>, 'execution'> & { execution: CreateRequest } {
  return {
    ...timesOf(values, before), jitter_ms: milliseconds(values, 'jitter', 'jitter_ms'), overlap: values['overlap'] as ScheduleSpec['overlap'], catch_up: values['catch_up'] as ScheduleSpec['catch_up'],
    catch_up_limit: Number(values['catch_up_limit']), start_window_ms: milliseconds(values, 'start_window', 'start_window_ms'),
    execution: executionOf(values, before?.execution, beforePayload),
  };
}
