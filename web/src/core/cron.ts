// Cron expressions in words. The server says when a schedule fires; this only helps to read the expression, and leaves out what it
// cannot say simply.

interface Part {
  every?: boolean; // * or ?
  step?: number; // */n, from the least value on
  range?: [number, number];
  values?: number[];
  words?: string; // days that only words can name
}

const monthNames = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const ordinals = ['', 'first', 'second', 'third', 'fourth', 'fifth'];
const macros: Record<string, string> = {
  '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0', '@monthly': '0 0 1 * *', '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *',
};

const two = (value: number): string => value.toString().padStart(2, '0');
export const listWords = (parts: readonly string[], word = 'and'): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${word} ${parts[parts.length - 1] as string}`;

function numberOf(text: string, names: readonly string[], first: number): number | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const at = names.findIndex((name) => name.slice(0, 3).toUpperCase() === text.toUpperCase());
  return at < 0 ? undefined : at + first;
}

function valuesOf(text: string, most: number, names: readonly string[], first: number): number[] | undefined {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const found = /^([^/-]+)(?:-([^/-]+))?(?:\/(\d{1,2}))?$/.exec(item);
    const from = found?.[1] === '*' ? first : numberOf(found?.[1] ?? '', names, first);
    if (!found || from === undefined) return undefined;
    const step = Number(found[3] ?? 1);
    const to = found[2] !== undefined ? numberOf(found[2], names, first) : found[3] !== undefined || found[1] === '*' ? most : from;
    if (to === undefined || to < from || to > most || step < 1) return undefined;
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

function partOf(text: string, most: number, names: readonly string[] = [], first = 0): Part | undefined {
  if (text === '*' || text === '?') return { every: true };
  const step = /^\*\/(\d{1,2})$/.exec(text);
  if (step && Number(step[1]) === 1) return { every: true };
  const values = valuesOf(text, most, names, first);
  if (!values || values.length === 0) return undefined;
  const from = values[0] as number;
  const to = values[values.length - 1] as number;
  if (step && Number(step[1]) > 1) return { step: Number(step[1]), values };
  return values.length > 2 && to - from + 1 === values.length ? { range: [from, to], values } : { values };
}

const nth = (n: number): string => `${n}${n % 10 === 1 && n !== 11 ? 'st' : n % 10 === 2 && n !== 12 ? 'nd' : n % 10 === 3 && n !== 13 ? 'rd' : 'th'}`;

/** "every 10 minutes" if the steps are even all around the clock, else undefined. */
const evenly = (part: Part, size: number, unit: string): string | undefined =>
  (part.step !== undefined && size % part.step === 0 ? `every ${part.step} ${unit}s` : undefined);

const numbered = (part: Part, unit: string): string =>
  part.range ? `${unit}s ${part.range[0]} to ${part.range[1]}` : `${unit}${(part.values ?? []).length === 1 ? '' : 's'} ${listWords((part.values ?? []).map(String))}`;

const mostTimes = 6;

/** "at 02:30 and 14:30" if there are few times in a day. */
function timesOfDay(second: Part, minute: Part, hour: Part): string | undefined {
  if (second.values?.length !== 1 || !minute.values || !hour.values || hour.range || minute.values.length * hour.values.length > mostTimes) return undefined;
  const seconds = second.values[0] === 0 ? '' : `:${two(second.values[0] as number)}`;
  return `at ${listWords(hour.values.flatMap((h) => (minute.values ?? []).map((m) => `${two(h)}:${two(m)}${seconds}`)))}`;
}

function secondWords(part: Part): string {
  if (part.every) return 'every second';
  return evenly(part, 60, 'second') ?? `at ${numbered(part, 'second')}`;
}

/** Within the hours: "every 15 minutes", "at minute 30". */
function minuteWords(second: Part, minute: Part): string {
  const onTheMinute = second.values?.length === 1 && second.values[0] === 0;
  if (minute.every) return onTheMinute ? 'every minute' : second.values?.length === 1 ? `every minute at second ${second.values[0]}` : secondWords(second);
  const minutes = evenly(minute, 60, 'minute') ?? `at ${numbered(minute, 'minute')}`;
  return onTheMinute ? minutes : `${secondWords(second)} of ${minute.step ? `every ${nth(minute.step)} minute` : numbered(minute, 'minute')}`;
}

function hourWords(second: Part, minute: Part, hour: Part): string {
  const times = timesOfDay(second, minute, hour);
  if (times) return times;
  const minutes = minuteWords(second, minute);
  const single = minute.values?.length === 1 && second.values?.length === 1 && second.values[0] === 0 ? minute.values[0] as number : undefined;
  const past = single ? ` at minute ${single}` : '';
  if (hour.every) return single === undefined ? (minute.values && evenly(minute, 60, 'minute') === undefined ? `${minutes} of every hour` : minutes) : `every hour${past}`;
  const even = evenly(hour, 24, 'hour');
  if (even) return single === undefined ? `${minutes} in every ${nth(hour.step as number)} hour` : `${even}${past}`;
  if (hour.range) {
    const [from, to] = hour.range;
    return single === undefined ? `${minutes} from ${two(from)}:00 to ${two(to)}:59` : `every hour from ${two(from)}:${two(single)} to ${two(to)}:${two(single)}`;
  }
  return single === undefined ? `${minutes} in the ${numbered(hour, 'hour')}` : `at ${listWords((hour.values ?? []).map((h) => `${two(h)}:${two(single)}`))}`;
}

function weekdayPart(text: string): Part | undefined {
  const named = /^([^,#-]+?)(?:#([1-5])|L)$/i.exec(text);
  if (named && text !== 'L') {
    const day = numberOf(named[1] ?? '', dayNames, 0);
    if (day === undefined) return undefined;
    return { words: `on the ${named[2] ? ordinals[Number(named[2])] : 'last'} ${dayNames[day % 7]} of the month` };
  }
  const part = partOf(text, 7, dayNames);
  if (!part?.values) return part;
  if (part.range) return { words: `${dayNames[part.range[0] % 7]} to ${dayNames[part.range[1] % 7]}` };
  return { words: `on ${listWords([...new Set(part.values.map((day) => dayNames[day % 7] as string))])}` };
}

function dayPart(text: string): Part | undefined {
  if (text.toUpperCase() === 'L') return { words: 'on the last day of the month' };
  const part = partOf(text, 31, [], 1);
  if (!part?.values) return part;
  return { words: part.step ? `on every ${nth(part.step)} day of the month` : `on ${numbered(part, 'day')} of the month` };
}

function monthWords(part: Part): string {
  if (part.every) return '';
  const name = (month: number): string => monthNames[month - 1] ?? '';
  return part.range ? ` from ${name(part.range[0])} to ${name(part.range[1])}` : ` in ${listWords((part.values ?? []).map(name))}`;
}

/** "at 02:30, Monday to Friday"; undefined if the expression is wrong or says too much. */
export function cronWords(expression: string): string | undefined {
  const fields = (macros[expression.trim().toLowerCase()] ?? expression).trim().split(/\s+/);
  if (fields.length === 5) fields.unshift('0');
  if (fields.length !== 6) return undefined;
  const [seconds, minutes, hours, days, months, weekdays] = fields as [string, string, string, string, string, string];
  const second = partOf(seconds, 59);
  const minute = partOf(minutes, 59);
  const hour = partOf(hours, 23);
  const day = dayPart(days);
  const month = partOf(months, 12, monthNames, 1);
  const weekday = weekdayPart(weekdays);
  if (!second || !minute || !hour || !day || !month || !weekday) return undefined;
  const time = hourWords(second, minute, hour);
  const joined = /^[*?]/.test(days) || /^[*?]/.test(weekdays) ? ', if also ' : ' or ';
  const dated = [day, weekday].map((part) => part.words).filter((words): words is string => words !== undefined).join(joined);
  const everyDay = time.startsWith('at ') && !hour.every && month.every ? ' every day' : '';
  return `${time}${dated === '' ? everyDay : `, ${dated}`}${monthWords(month)}`;
}
