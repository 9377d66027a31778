import { describe, expect, it } from 'vitest';
import { bytes, clock, compactDuration, count, duration, exact, fromLocalInput, parseDuration, plural, rate, relative, shortId, toLocalInput, withExecutions } from '../src/core/format';

describe('numbers', () => {
  it('groups digits with narrow spaces', () => {
    expect(count(0)).toBe('0');
    expect(count(999)).toBe('999');
    expect(count(1234567)).toBe('1\u202f234\u202f567');
  });
  it('gives rates the precision that they deserve', () => {
    expect([0, 0.04, 0.45, 9.96, 1234].map(rate)).toEqual(['0', '<0.1', '0.5', '10.0', '1\u202f234']);
    expect(rate(Number.NaN)).toBe('–');
  });
  it('knows one and many', () => {
    expect(plural(1, 'retry', 'retries')).toBe('1 retry');
    expect(plural(2, 'retry', 'retries')).toBe('2 retries');
  });
  it('writes sizes', () => {
    expect([5, 2048, 3 * 1024 * 1024].map(bytes)).toEqual(['5 B', '2.0 KiB', '3.0 MiB']);
  });
});

describe('durations', () => {
  it('uses two units at most', () => {
    expect([0, 0.4, 7, 999, 1250, 59_900, 60_000, 250_000, 3_600_000, 11_100_000, 90_000_000].map(duration))
      .toEqual(['0 ms', '0.4 ms', '7 ms', '999 ms', '1.25 s', '59.9 s', '1 min', '4 min 10 s', '1 h', '3 h 5 min', '1 d 1 h']);
    expect(duration(-1500)).toBe('−1.50 s');
  });
  it('reads what it writes', () => {
    for (const ms of [0, 1, 1500, 30_000, 5_400_000, 86_400_000]) expect(parseDuration(compactDuration(ms))).toBe(ms);
    expect(parseDuration('2 h')).toBe(7_200_000);
    expect(parseDuration('5')).toBeUndefined();
    expect(parseDuration('h')).toBeUndefined();
  });
});

describe('times', () => {
  const noon = Date.UTC(2026, 10, 17, 12, 0, 0, 5);
  it('leaves out what is the same as now', () => {
    expect(clock(noon - 1000, noon, { utc: true })).toBe('11:59:59');
    expect(clock(noon - 86_400_000, noon, { utc: true, ms: true })).toBe('Nov 16, 12:00:00.005');
    expect(clock(Date.UTC(2025, 0, 2), noon, { utc: true })).toBe('Jan 2 2025, 00:00:00');
  });
  it('shows the exact time with UTC and the number', () => {
    expect(exact(noon)).toContain('2026-11-17T12:00:00.005Z');
    expect(exact(noon)).toContain(String(noon));
  });
  it('is relative in the largest unit', () => {
    expect(relative(noon - 500, noon)).toBe('now');
    expect(relative(noon - 61_000, noon)).toBe('1 min ago');
    expect(relative(noon + 7_300_000, noon)).toBe('in 2 h');
  });
  it('goes through the fields of forms', () => {
    const second = Math.floor(noon / 1000) * 1000;
    expect(fromLocalInput(toLocalInput(second))).toBe(second);
    expect(fromLocalInput('')).toBeUndefined();
    expect(fromLocalInput('yesterday')).toBeUndefined();
  });
});

it('shortens ids in the middle', () => {
  expect(shortId('fp17-0193e0a2-7c55-7d6e-8f3a-6b1f0c9d2e41')).toBe('fp17…6b1f0c9d2e41');
  expect(shortId('short')).toBe('short');
});

it('reasons: the ids of executions are set apart', () => {
  const id = 'fp138-01a1f25e-d4e0-8920-acd4-1f70e8d54ef2';
  expect(withExecutions(`execution ${id} has not ended`)).toEqual([{ text: 'execution ', execution: false }, { text: id, execution: true }, { text: ' has not ended', execution: false }]);
  expect(withExecutions('fp1-x')).toEqual([{ text: 'fp1-x', execution: false }]);
});
