import { describe, expect, it } from 'vitest';
import type { Policy, ScheduleFiring, ScheduleSpec, ScheduleSummary } from '../src/api/types';
import { cronWords } from '../src/core/cron';
import { rawAt } from '../src/core/raw-json';
import { Refusal } from '../src/core/form';
import { emptyForm, formOf, specOf, timesOf } from '../src/core/schedule-form';
import { catchUpWords, exceptionWords, firingState, matchesText, parseScheduleFilter, previewRange, rangeWords, scheduleLink, scheduleQuery, schedulesLink, timesText, timesWords } from '../src/core/schedules';

describe('cronWords', () => {
  const cases: [string, string | undefined][] = [
    ['30 2 * * *', 'at 02:30 every day'],
    ['30 2 * * MON-FRI', 'at 02:30, Monday to Friday'],
    ['0 9,17 * * 1-5', 'at 09:00 and 17:00, Monday to Friday'],
    ['* * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['*/7 * * * *', 'at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour'],
    ['0 * * * *', 'every hour'],
    ['30 * * * *', 'every hour at minute 30'],
    ['0,20,40 * * * *', 'at minutes 0, 20 and 40 of every hour'],
    ['0 */6 * * *', 'at 00:00, 06:00, 12:00 and 18:00 every day'],
    ['5 */2 * * *', 'every 2 hours at minute 5'],
    ['*/10 9-17 * * *', 'every 10 minutes from 09:00 to 17:59'],
    ['15 9-17 * * MON-FRI', 'every hour from 09:15 to 17:15, Monday to Friday'],
    ['0 0 1 * *', 'at 00:00, on day 1 of the month'],
    ['0 0 1,15 * *', 'at 00:00, on days 1 and 15 of the month'],
    ['0 0 L * *', 'at 00:00, on the last day of the month'],
    ['0 0 13 * FRI', 'at 00:00, on day 13 of the month or on Friday'],
    ['0 0 */2 * FRI', 'at 00:00, on every 2nd day of the month, if also on Friday'],
    ['0 12 * * FRI#2', 'at 12:00, on the second Friday of the month'],
    ['0 12 * * FRIL', 'at 12:00, on the last Friday of the month'],
    ['0 12 ? * 0,6', 'at 12:00, on Sunday and Saturday'],
    ['0 12 * * 7', 'at 12:00, on Sunday'],
    ['0 8 * 12 *', 'at 08:00 in December'],
    ['0 8 1 3-5 *', 'at 08:00, on day 1 of the month from March to May'],
    ['0 8 1 JAN,JUL *', 'at 08:00, on day 1 of the month in January and July'],
    ['*/10 * * * * *', 'every 10 seconds'],
    ['30 0 2 * * *', 'at 02:00:30 every day'],
    ['30 * * * * *', 'every minute at second 30'],
    ['* * * * * *', 'every second'],
    ['*/5 */3 * * *', 'every 5 minutes in every 3rd hour'],
    ['@daily', 'at 00:00 every day'],
    ['@weekly', 'at 00:00, on Sunday'],
    ['@hourly', 'every hour'],
  ];
  for (const [expression, text] of cases) it(expression, () => expect(cronWords(expression)).toBe(text));
  it('says nothing about what it does not understand', () => {
    for (const wrong of ['', 'x', '61 * * *', '99 * * * *', '* * * * * * *', '* 25 * * *', '* * * FOO *', '0 0 * * FRI#9', '5-1 * * * *', '*/0 * * * *']) expect(cronWords(wrong), wrong).toBeUndefined();
    expect(timesWords({ cron: '0 0 * * FRI#2,MON' })).toBe('at the times of 0 0 * * FRI#2,MON');
  });
});

describe('filters and addresses', () => {
  it('read what they write', () => {
    const filter = parseScheduleFilter('?state=paused,active,deleted&namespace=team&text=night%20report');
    expect(filter).toEqual({ state: ['active', 'paused'], namespace: 'team', text: 'night report' });
    expect(parseScheduleFilter(`?${scheduleQuery(filter).toString()}`)).toEqual(filter);
    expect(schedulesLink({})).toBe('/ui/schedules');
    expect(schedulesLink({ state: ['active', 'paused'] })).toBe('/ui/schedules?state=active,paused');
  });
  it('name a schedule with its namespace', () => {
    expect(scheduleLink('default', 'a')).toBe('/ui/schedules/a');
    expect(scheduleLink('te/am', 'a?b#c')).toBe('/ui/schedules/a%3Fb%23c?namespace=te%2Fam');
  });
  it('find every word', () => {
    const row = { namespace: 'n', name: 'nightly-report', state: 'active', cron: '30 2 * * *', time_zone: 'UTC', overlap: 'skip', kind: 'Report', lane: 'slow', fired: 0, running: 0 } as ScheduleSummary;
    expect(matchesText(row, undefined)).toBe(true);
    expect(matchesText(row, 'REPORT slow')).toBe(true);
    expect(matchesText(row, 'report fast')).toBe(false);
  });
});

describe('words', () => {
  it('tell intervals', () => {
    expect(timesText({ every_ms: 900_000 })).toBe('every 15 min');
    expect(timesWords({ every_ms: 900_000 })).toBe('every 15 min');
    expect(timesText({ every_ms: 3000 })).toBe('every 3 s');
    expect(timesText({ every_ms: 1500 })).toBe('every 1500 ms');
    expect(timesText({})).toBe('–');
  });
  it('tell what happens to missed firings', () => {
    const spec = { catch_up: 'all' as const, catch_up_limit: 1000, start_window_ms: 60_000 };
    expect(catchUpWords(spec)).toMatch(/more than 1 min late were missed; the last 1.000 of them/);
    expect(catchUpWords({ ...spec, catch_up: 'none' })).toMatch(/not made up for/);
  });
  it('tell days of rest', () => expect(exceptionWords(['12-25', '2026-12-24/2027-01-01', '2027-05-01'])).toBe('12-25 (every year), 2026-12-24 to 2027-01-01 and 2027-05-01'));
  it('tell what became of a firing', () => {
    const firing = (more: Partial<ScheduleFiring>): ScheduleFiring => ({ cause: 'timer', outcome: 'fired', ended: 'none', count: 1, ...more });
    expect(firingState(firing({ execution_id: 'x' })).text).toBe('not ended');
    expect(firingState(firing({ execution_id: 'x', ended: 'failed' }))).toEqual({ tone: 'failed', text: 'failed' });
    expect(firingState(firing({ count: 3 })).text).toBe('3 created');
    expect(firingState(firing({ outcome: 'missed', count: 12 })).text).toBe('12 missed');
    expect(firingState(firing({ outcome: 'refused' }))).toEqual({ tone: 'bad', text: 'refused' });
  });
});

describe('previewRange', () => {
  it('ends before the end and before what is to come', () => {
    expect(previewRange([10, 20, 30], 30, 100).times).toEqual([10, 20]);
    expect(previewRange([10, 20, 30], 100, 20).times).toEqual([10, 20]);
    expect(rangeWords(previewRange([], 30, 100))).toMatch(/^No scheduled time/);
    expect(rangeWords(previewRange([10], 30, 100))).toMatch(/^1 scheduled time\./);
  });
  it('allows as many as one call does', () => {
    const times = Array.from({ length: 1001 }, (_, index) => index + 1);
    expect(previewRange(times, 1001, 5000)).toMatchObject({ tooMany: false });
    expect(previewRange(times, 1002, 5000).tooMany).toBe(true);
  });
});

describe('rawAt', () => {
  it('keeps the digits of numbers, and reads past texts with brackets', () => {
    const text = '{"a": [1, {"}": "]"}], "b\\"c": {"payload" : 12345678901234567890 , "x":1.10}, "d":{"e":"\\u007d"}}';
    expect(rawAt(text, ['b"c', 'payload'])).toBe('12345678901234567890');
    expect(rawAt(text, ['b"c', 'x'])).toBe('1.10');
    expect(rawAt(text, ['b"c'])).toBe('{"payload" : 12345678901234567890 , "x":1.10}');
    expect(rawAt(text, ['d', 'e'])).toBe('"\\u007d"');
    expect(rawAt(text, ['a'])).toBe('[1, {"}": "]"}]');
    expect(rawAt(text, ['a', 'x'])).toBeUndefined();
    expect(rawAt(text, ['missing'])).toBeUndefined();
    expect(rawAt('{}', ['a'])).toBeUndefined();
  });
});

describe('the form', () => {
  const spec: ScheduleSpec = {
    cron: '30 2 * * *', time_zone: 'Europe/Berlin', exceptions: ['12-25'], start_at: 1_800_000_000_123, jitter_ms: 0, overlap: 'buffer_one', catch_up: 'all', catch_up_limit: 7, start_window_ms: 90_000,
    execution: { namespace: 'default', kind: 'report', lane: 'slow', priority: 3, tags: { 'team.name': 'a=b' }, payload: { id: 1 }, payload_encoding: 'json', creator: '', idempotency_key: '', policy: { retry: { max_retries: 2 } } as Policy },
  };
  it('sends what it got, and the payload byte for byte', () => {
    const payload = '{"id": 12345678901234567890, "é": "☃"}';
    const sent = specOf(formOf(spec, payload), spec, payload);
    expect(sent).toMatchObject({ cron: '30 2 * * *', time_zone: 'Europe/Berlin', exceptions: ['12-25'], start_at: 1_800_000_000_123, jitter_ms: 0, overlap: 'buffer_one', catch_up: 'all', catch_up_limit: 7, start_window_ms: 90_000 });
    expect(sent.execution).toEqual({ kind: 'report', lane: 'slow', priority: 3, tags: { 'team.name': 'a=b' }, policy: { retry: { max_retries: 2 } }, payload_base64: btoa(String.fromCharCode(...new TextEncoder().encode(payload))), payload_encoding: 'json' });
  });
  it('keeps a payload that is not JSON, and drops one that was cleared', () => {
    const other: ScheduleSpec = { ...spec, execution: { kind: 'k', payload_base64: 'AAEC', payload_encoding: 'bin' } };
    expect(specOf(formOf(other, undefined), other, undefined).execution).toMatchObject({ payload_base64: 'AAEC', payload_encoding: 'bin' });
    const cleared = specOf({ ...formOf(spec, '1'), payload: '' }, spec, '1').execution;
    expect('payload' in cleared || 'payload_base64' in cleared || 'payload_encoding' in cleared).toBe(false);
  });
  it('has an interval or an expression, not both', () => {
    const every = timesOf({ ...emptyForm, timing: 'every', every: '90s', cron: '* * * * *' });
    expect(every).toEqual({ every_ms: 90_000, time_zone: 'UTC' });
    expect(timesOf({ ...emptyForm, cron: ' * * * * * ', exceptions: '12-25\n\n 01-01 ' })).toEqual({ cron: '* * * * *', time_zone: 'UTC', exceptions: ['12-25', '01-01'] });
  });
  it('names the field that cannot be sent', () => {
    const refusal = (change: Record<string, string>): string => {
      try {
        specOf({ ...emptyForm, kind: 'k', ...change });
      } catch (problem) {
        return problem instanceof Refusal ? problem.field : 'something else';
      }
      return 'nothing';
    };
    expect(refusal({ timing: 'every', every: 'soon' })).toBe('every_ms');
    expect(refusal({ jitter: '1 week' })).toBe('jitter_ms');
    expect(refusal({ payload: '{' })).toBe('execution.payload');
    expect(refusal({})).toBe('nothing');
  });
});
