// Numbers, durations and times as text.

const thin = '\u202f';

/** 12345 as "12 345", with narrow spaces, so that digits stay readable and the width changes little. */
export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, thin);
}

/** A rate with the precision that it deserves: 0.4, 12, 1 234. */
export function rate(perSecond: number): string {
  if (!Number.isFinite(perSecond)) return '–';
  if (perSecond === 0) return '0';
  if (perSecond < 0.1) return '<0.1';
  if (perSecond < 10) return perSecond.toFixed(1);
  return count(perSecond);
}

/** 3 ms, 1.25 s, 4 min 10 s, 3 h 5 min, 2 d 4 h. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const sign = ms < 0 ? '−' : '';
  const value = Math.abs(ms);
  return sign + positiveDuration(value);
}

function positiveDuration(value: number): string {
  if (value < 1) return value === 0 ? '0 ms' : `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 10_000) return `${(value / 1000).toFixed(2)} s`;
  if (value < 60_000) return `${(value / 1000).toFixed(1)} s`;
  const seconds = Math.round(value / 1000);
  if (seconds < 3600) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.floor(minutes / 60);
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

const pair = (a: number, unitA: string, b: number, unitB: string): string =>
  b === 0 ? `${a} ${unitA}` : `${a} ${unitA} ${b} ${unitB}`;

/** "3 s ago", "in 5 min", "now". The largest unit only: it changes seldom. */
export function relative(at: number, now: number): string {
  const difference = at - now;
  const size = Math.abs(difference);
  if (size < 1000) return 'now';
  const text = roughly(size);
  return difference < 0 ? `${text} ago` : `in ${text}`;
}

export function roughly(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

const two = (value: number): string => value.toString().padStart(2, '0');
const three = (value: number): string => value.toString().padStart(3, '0');
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

interface Parts { year: number; month: number; day: number; hour: number; minute: number; second: number; ms: number }

function partsOf(at: number, utc: boolean): Parts {
  const d = new Date(at);
  return utc
    ? { year: d.getUTCFullYear(), month: d.getUTCMonth(), day: d.getUTCDate(), hour: d.getUTCHours(), minute: d.getUTCMinutes(), second: d.getUTCSeconds(), ms: d.getUTCMilliseconds() }
    : { year: d.getFullYear(), month: d.getMonth(), day: d.getDate(), hour: d.getHours(), minute: d.getMinutes(), second: d.getSeconds(), ms: d.getMilliseconds() };
}

/** Time of day for today, else with the date; the year only if it differs. */
export function clock(at: number, now: number, options: { utc?: boolean; ms?: boolean } = {}): string {
  const utc = options.utc ?? false;
  const t = partsOf(at, utc);
  const n = partsOf(now, utc);
  const time = `${two(t.hour)}:${two(t.minute)}:${two(t.second)}${options.ms ? `.${three(t.ms)}` : ''}`;
  if (t.year === n.year && t.month === n.month && t.day === n.day) return time;
  const date = `${months[t.month]} ${t.day}`;
  return t.year === n.year ? `${date}, ${time}` : `${date} ${t.year}, ${time}`;
}

/** The exact time, for tooltips: local with offset, UTC, and the number that the API uses. */
export function exact(at: number): string {
  const d = new Date(at);
  const t = partsOf(at, false);
  const offset = -d.getTimezoneOffset();
  const zone = `${offset < 0 ? '−' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  const local = `${t.year}-${two(t.month + 1)}-${two(t.day)} ${two(t.hour)}:${two(t.minute)}:${two(t.second)}.${three(t.ms)} ${zone}`;
  return `${local}\n${d.toISOString()}\n${at}`;
}

/** For <input type="datetime-local">, in local time, to the second. */
export function toLocalInput(at: number): string {
  const t = partsOf(at, false);
  return `${t.year}-${two(t.month + 1)}-${two(t.day)}T${two(t.hour)}:${two(t.minute)}:${two(t.second)}`;
}

export function fromLocalInput(text: string): number | undefined {
  if (text === '') return undefined;
  const at = new Date(text).getTime();
  return Number.isFinite(at) ? at : undefined;
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${(size / 1024).toFixed(1)} KiB`;
  return `${(size / 1024 / 1024).toFixed(1)} MiB`;
}

/** "1 execution", "2 executions". */
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

/** The end of an id tells executions apart; its beginning is the partition and the time. */
export function shortId(id: string): string {
  const dash = id.indexOf('-');
  return dash < 0 || id.length < 24 ? id : `${id.slice(0, dash)}…${id.slice(-12)}`;
}

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** "500ms", "30s", "5m", "2h", "7d" as milliseconds; undefined if it is none of them. */
export function parseDuration(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)\s*$/.exec(text);
  if (!match) return undefined;
  return Math.round(Number(match[1]) * (unitMs[match[2] ?? ''] ?? 0));
}

/** The shortest text that parseDuration reads back exactly. */
export function compactDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const)
    if (ms !== 0 && ms % unitMs[unit]! === 0) return `${ms / unitMs[unit]!}${unit}`;
  return `${ms}ms`;
}

/** The text of a reason, with the ids of executions apart. */
export function withExecutions(text: string): { text: string; execution: boolean }[] {
  return text.split(/(fp\d{1,3}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/).map((part, index) => ({ text: part, execution: index % 2 === 1 })).filter((part) => part.text !== '');
}
