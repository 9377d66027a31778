import { describe, expect, it } from 'vitest';
import type { ApprovalInfo, Step, WaitingExecution } from '../src/api/types';
import { bytesOf } from '../src/core/bytes';
import { buildTimeline } from '../src/core/timeline';
import { conditionWords, decisionsWords, inboxOf, leftWords, reasonAgainst } from '../src/core/waits';

const approval = (more: Partial<ApprovalInfo> = {}): ApprovalInfo => ({ title: 'Deploy', approvers: [], needed: 2, rejections: 1, decisions: [], ...more });

describe('conditionWords', () => {
  it('names one signal', () => {
    expect(conditionWords({ signal: {} })).toBe('a signal');
    expect(conditionWords({ signal: { waitpoint: 'paid' } })).toBe('a signal at “paid”');
    expect(conditionWords({ signal: { name: 'ok', waitpoint: 'paid', sources: ['a', 'b', 'c'], fields: [{ pointer: '/state', equals: 'done' }, { pointer: '', equals: 3 }] } }))
      .toBe('a signal “ok” at “paid” from “a”, “b” or “c” where /state is "done" where the payload is 3');
  });
  it('names counts', () => {
    expect(conditionWords({ count: { n: 2, of: [{}] } })).toBe('2 signals');
    expect(conditionWords({ count: { n: 1, by: 'signals', of: [{ waitpoint: 'a' }, { waitpoint: 'b' }] } })).toBe('1 signal at “a” or at “b”');
    expect(conditionWords({ count: { n: 2, by: 'sources', of: [{ name: 'approve', waitpoint: 'board' }] } })).toBe('2 different senders with “approve” at “board”');
    expect(conditionWords({ count: { n: 2, by: 'waitpoints', of: [{}, { waitpoint: 'a' }] } })).toBe('2 different waitpoints');
  });
  it('puts trees in brackets', () => {
    const at = (waitpoint: string) => ({ signal: { waitpoint } });
    expect(conditionWords({ all_of: [at('a'), { any_of: [at('b'), at('c')] }] })).toBe('a signal at “a” and (a signal at “b” or a signal at “c”)');
    expect(conditionWords({ any_of: [{ all_of: [at('a')] }] })).toBe('a signal at “a”');
  });
});

describe('approvals', () => {
  const yes = { decision: 'approve' as const, actor: 'anna' };
  it('counts decisions', () => {
    expect(decisionsWords(approval())).toBe('0 of 2 approved');
    expect(decisionsWords(approval({ decisions: [yes, { decision: 'reject', actor: 'bob' }] }))).toBe('1 of 2 approved, 1 of 1 rejected');
  });
  it('says who may decide', () => {
    expect(reasonAgainst(approval(), undefined)).toBeUndefined();
    expect(reasonAgainst(approval(), 'anna')).toBeUndefined();
    expect(reasonAgainst(approval({ decisions: [yes] }), 'anna')).toBe('You have approved.');
    expect(reasonAgainst(approval({ approvers: ['bob'] }), 'anna')).toMatch(/not one of those/);
    expect(reasonAgainst(approval({ approvers: ['anna'] }), 'anna')).toBeUndefined();
  });
  it('lists every approval of a wait and no other waitpoint', () => {
    const point = (name: string, number: number, asks: boolean) => ({ name, number, waited_for: true, signals: 0, ...(asks ? { approval: approval() } : {}) });
    const wait: WaitingExecution = { execution_id: 'x', namespace: 'n', lane: 'l', kind: 'k', escalated: false, waitpoints: [point('a', 1, true), point('b', 2, false), point('c', 3, true)] };
    expect(inboxOf([wait]).map((item) => item.key)).toEqual(['x 1', 'x 3']);
  });
  it('says how long is left', () => {
    expect(leftWords(61_000, 1000)).toBe('1 min left');
    expect(leftWords(1000, 1000)).toBe('overdue');
  });
});

it('bytesOf reads what the API sends', () => {
  const text = (data: Uint8Array): string => new TextDecoder().decode(data);
  expect(text(bytesOf({ a: 1 }, undefined))).toBe('{"a":1}');
  expect(text(bytesOf(undefined, btoa('plain')))).toBe('plain');
  expect(bytesOf(undefined, undefined).length).toBe(0);
  expect(text(bytesOf(null, undefined))).toBe('null');
});

it('a wait is a bar of its own on the timeline of steps', () => {
  const step: Step = { position: 1, name: 'approve', state: 'wait', result_encoding: '', permanent: false, tries: 1, duration_ms: 400, recorded_at: 1000, attempt_index: 0, replay_count: 0, worker_instance_id: 'w' };
  const line = buildTimeline([{ cursor: '1', type: 'created', at: 500 }], [], [step], 2000).rows.find((row) => row.title === 'Steps');
  expect(line?.bars).toMatchObject([{ from: 600, to: 1000, tone: 'suspended', label: 'approve' }]);
});
