// Schedules: the filter of their list, when they fire and what they do in words, and what became of a firing.
import type { ScheduleFiring, ScheduleSpec, ScheduleSummary } from '../api/types';
import { cronWords, listWords } from './cron';
import { compactDuration, count, duration, plural } from './format';

export type ScheduleState = 'active' | 'paused';
export const scheduleStates: readonly ScheduleState[] = ['active', 'paused'];

export interface ScheduleFilter {
  state: ScheduleState[];
  namespace?: string;
  /** Words that appear in the name, the kind, the lane or the times. The server does not know this filter. */
  text?: string;
}
export const noScheduleFilter: ScheduleFilter = { state: [] };

/** The events after which a list of schedules is no longer right. */
export const scheduleEvents = 'schedule_created,schedule_updated,schedule_paused,schedule_resumed,schedule_deleted,schedule_fired,schedule_skipped,schedule_buffered';

export function parseScheduleFilter(search: string): ScheduleFilter {
  const query = new URLSearchParams(search);
  const wanted = new Set((query.get('state') ?? '').split(','));
  const filter: ScheduleFilter = { state: scheduleStates.filter((state) => wanted.has(state)) };
  for (const field of ['namespace', 'text'] as const) {
    const value = query.get(field)?.trim();
    if (value) filter[field] = value;
  }
  return filter;
}

export function scheduleQuery(filter: ScheduleFilter): URLSearchParams {
  const query = new URLSearchParams();
  if (filter.state.length > 0) query.set('state', filter.state.join(','));
  for (const field of ['namespace', 'text'] as const) if (filter[field]) query.set(field, filter[field] as string);
  return query;
}

export function schedulesLink(filter: Partial<ScheduleFilter>): string {
  const query = scheduleQuery({ ...noScheduleFilter, ...filter }).toString().replaceAll('%2C', ',');
  return query ? `/ui/schedules?${query}` : '/ui/schedules';
}

export function scheduleLink(namespace: string | undefined, name: string): string {
  const query = namespace && namespace !== 'default' ? `?${new URLSearchParams({ namespace }).toString()}` : '';
  return `/ui/schedules/${encodeURIComponent(name)}${query}`;
}

export const schedulePath = (name: string): string => `/v1/schedules/${encodeURIComponent(name)}`;
export const scheduleKey = (row: Pick<ScheduleSummary, 'namespace' | 'name'>): string => `${row.namespace}\n${row.name}`;

type Times = Partial<Pick<ScheduleSpec, 'cron' | 'every_ms' | 'time_zone'>>;

const longUnits: Record<string, string> = { d: 'd', h: 'h', m: 'min', s: 's', ms: 'ms' };

/** "every 15 min", in the largest unit that says it exactly. */
const intervalText = (ms: number): string => `every ${compactDuration(ms).replace(/[a-z]+$/, (unit) => ` ${longUnits[unit] ?? unit}`)}`;

/** "30 2 * * MON-FRI", "every 15 min". */
export const timesText = (times: Times): string => (times.cron ? times.cron : times.every_ms ? intervalText(times.every_ms) : '–');

/** The same in words; the expression itself if it says too much. */
export function timesWords(times: Times): string {
  if (!times.cron) return timesText(times);
  return cronWords(times.cron) ?? `at the times of ${times.cron}`;
}

export function matchesText(row: ScheduleSummary, text: string | undefined): boolean {
  const wanted = (text ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const about = `${row.name}\n${row.kind ?? ''}\n${row.lane ?? ''}\n${timesText(row)}\n${row.time_zone ?? ''}`.toLowerCase();
  return wanted.every((word) => about.includes(word));
}

export const overlapWords: Record<ScheduleSpec['overlap'], string> = {
  skip: 'While an execution of an earlier firing has not ended, a firing is skipped.',
  buffer_one: 'While an execution of an earlier firing has not ended, one firing waits for it; further ones are skipped.',
  allow: 'Executions of several firings may run side by side.',
  cancel_running: 'A firing cancels the execution of an earlier firing that has not ended.',
};

export function catchUpWords(spec: Pick<ScheduleSpec, 'catch_up' | 'catch_up_limit' | 'start_window_ms'>): string {
  const missed = `Firings that are more than ${duration(spec.start_window_ms)} late were missed`;
  if (spec.catch_up === 'none') return `${missed} and are not made up for.`;
  return spec.catch_up === 'last' ? `${missed}; the last of them is made up for.` : `${missed}; the last ${count(spec.catch_up_limit)} of them are made up for.`;
}

/** "12-25 (every year)", "2026-12-24 to 2027-01-01". */
export const exceptionWords = (days: readonly string[]): string =>
  listWords(days.map((day) => (/^\d\d-\d\d$/.test(day) ? `${day} (every year)` : day.replace('/', ' to '))));

export interface FiringState { tone: string; text: string }

const endings: Record<ScheduleFiring['ended'], FiringState> = {
  none: { tone: 'active', text: 'not ended' },
  success: { tone: 'completed', text: 'succeeded' },
  failed: { tone: 'failed', text: 'failed' },
  cancelled: { tone: 'cancelled', text: 'cancelled' },
  expired: { tone: 'expired', text: 'expired' },
  skipped: { tone: 'skipped', text: 'skipped' },
};
const outcomes: Record<Exclude<ScheduleFiring['outcome'], 'fired'>, FiringState> = {
  skipped: { tone: 'quiet', text: 'skipped' },
  buffered: { tone: 'delayed', text: 'buffered' },
  missed: { tone: 'warn', text: 'missed' },
  refused: { tone: 'bad', text: 'refused' },
};

/** What became of a firing, or of its execution. */
export function firingState(firing: Pick<ScheduleFiring, 'outcome' | 'ended' | 'execution_id' | 'flow_id' | 'count'>): FiringState {
  if (firing.outcome !== 'fired') {
    const state = outcomes[firing.outcome];
    return firing.count > 1 ? { ...state, text: `${count(firing.count)} ${state.text}` } : state;
  }
  // Executions of a backfill are not followed one by one.
  if (firing.execution_id === undefined && firing.flow_id === undefined) return { tone: 'quiet', text: `${count(firing.count)} created` };
  return endings[firing.ended];
}

export const causeWords: Record<ScheduleFiring['cause'], string> = { timer: 'time', trigger: 'by hand', backfill: 'backfill' };

/** What a range of scheduled times holds, of the times that the server has computed from its beginning on. */
export interface RangePreview { times: number[]; tooMany: boolean }

export const mostBackfilled = 1000;

/** `next` are up to 1,001 times from the beginning of the range on; the end of the range does not belong to it, nor does the future. */
export function previewRange(next: readonly number[], to: number, now: number): RangePreview {
  const times = next.filter((at) => at < to && at <= now);
  return { times: times.slice(0, mostBackfilled), tooMany: times.length > mostBackfilled };
}

export function rangeWords(preview: RangePreview): string {
  if (preview.tooMany) return `More than ${count(mostBackfilled)} scheduled times: the limit of one backfill. Choose a shorter range.`;
  if (preview.times.length === 0) return 'No scheduled time is in this range.';
  return `${plural(preview.times.length, 'scheduled time')}. Those that have their execution already are left as they are.`;
}
