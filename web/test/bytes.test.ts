import { describe, expect, it } from 'vitest';
import { asText, formatJson, hexLines, visible, visibleLine } from '../src/core/bytes';
import { buildTimeline, ticks } from '../src/core/timeline';
import { parseTags } from '../src/core/tags';
import type { Attempt, Event, Step } from '../src/api/types';

const plainText = (text: string): string | undefined => formatJson(text)?.map((token) => token.text).join('');

describe('JSON', () => {
  it('is indented without being changed', () => {
    expect(plainText('{"b":12345678901234567890,"a":[1,{}],"b":[]}')).toBe('{\n  "b": 12345678901234567890,\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}');
    expect(plainText('"a,{:}\\""')).toBe('"a,{:}\\""');
    expect(formatJson('{"a":true}')?.map((token) => token.kind)).toEqual(['plain', 'key', 'plain', 'word', 'plain']);
  });
  it('is refused when it is something else', () => {
    expect(formatJson('{')).toBeUndefined();
    expect(formatJson('')).toBeUndefined();
    expect(formatJson('19946 hopeless')).toBeUndefined();
  });
});

describe('text from outside', () => {
  it('shows control characters and direction marks', () => {
    expect(visible('a\u001b[31m\u0000\u202eb\tc\n')).toBe('a\u241b[31m\u2400\\u202eb\tc\n');
    expect(visibleLine('a\r\nb\tc')).toBe('a\u240d\u2424b c');
    expect(visible('<b>&')).toBe('<b>&');
  });
  it('is text only if it is UTF-8', () => {
    expect(asText(new Uint8Array([0xff, 0xfe]))).toBeUndefined();
    expect(asText(new TextEncoder().encode('ä'))).toBe('ä');
  });
  it('has a hexadecimal form', () => {
    expect(hexLines(new TextEncoder().encode('0123456789abcdef!'))).toEqual([
      { offset: '000000', hex: '30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66', text: '0123456789abcdef' },
      { offset: '000010', hex: '21', text: '!' },
    ]);
  });
  it('becomes tags line by line', () => {
    expect(parseTags(' a.b = c=d \n\nx\n')).toEqual({ 'a.b': 'c=d', x: '' });
  });
});

describe('the timeline', () => {
  const event = (type: Event['type'], at: number, more: Partial<Event> = {}): Event => ({ type, at, cursor: `${at}`, ...more });
  const attempt = (index: number, more: Partial<Attempt> = {}): Attempt => ({
    attempt_index: index, attempt_id: 'x', attempt_type: 'initial', attempt_state: 'started', lease_epoch: 1, worker_id: 'w', worker_instance_id: 'w-1', has_result: false, ...more,
  });
  const step = (name: string, at: number, more: Partial<Step> = {}): Step => ({
    name, position: 1, state: 'succeeded', result_encoding: '', permanent: false, tries: 1, duration_ms: 0, recorded_at: at, attempt_index: 1, replay_count: 0, worker_instance_id: 'w-2', ...more,
  });
  it('has a bar for each state and each lease', () => {
    const lines = buildTimeline([
      event('created', 0, { state_after: 'waiting' }),
      event('claimed', 10, { state_after: 'active', attempt_index: 0, worker_instance_id: 'w-1' }),
      event('lease_expired', 40, { state_after: 'waiting', attempt_index: 0 }),
      event('lease_reclaimed', 50, { state_after: 'active', attempt_index: 1, worker_instance_id: 'w-2' }),
      event('completed', 90, { state_after: 'completed', attempt_index: 1 }),
    ], [attempt(0), attempt(1)], [step('charge', 60, { duration_ms: 5 }), step('nap', 65, { state: 'sleep', wake_at: 80 })], 1000);
    expect([lines.from, lines.to]).toEqual([0, 90]);
    expect(lines.rows.map((line) => line.bars.map((bar) => [bar.tone, bar.from, bar.to]))).toEqual([
      [['waiting', 0, 10], ['active', 10, 40], ['waiting', 40, 50], ['active', 50, 90]], [['lost', 10, 40]], [['completed', 50, 90]], [['step', 55, 60], ['delayed', 65, 80]],
    ]);
  });
  it('goes on until now while the execution lives', () => {
    const lines = buildTimeline([event('created', 0, { state_after: 'waiting' }), event('claimed', 10, { state_after: 'active', attempt_index: 0 })], [attempt(0)], [], 200);
    expect(lines.to).toBe(200);
    expect(lines.rows[1]?.bars[0]).toMatchObject({ from: 10, to: 200, open: true, tone: 'active' });
  });
  it('falls back to attempts when the history is cut', () => {
    const lines = buildTimeline([event('created', 0, { state_after: 'waiting' })], [attempt(7, { started_at: 5, ended_at: 9, attempt_state: 'ended_failure' })], [], 20);
    expect(lines.rows[1]?.bars[0]).toMatchObject({ from: 5, to: 9, tone: 'failed' });
  });
  it('has round marks', () => {
    expect(ticks(100)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(ticks(60_000)).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    expect(ticks(0)).toEqual([0]);
    expect(ticks(400 * 86_400_000).length).toBeLessThan(9);
  });
});
