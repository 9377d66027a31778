import { describe, expect, it } from 'vitest';
import type { DeadLetterGroup, Redrive } from '../src/api/types';
import { emptyRedriveForm, executionsTarget, filterTarget, groupLink, groupsTarget, isNarrowed, isUnfiltered, lanesWords, lettersLink, messageWords, parseLetterFilter, progressOf, progressWords, redriveBody, redriveWords, selectionWords } from '../src/core/dead-letters';
import { Refusal } from '../src/core/form';

const group = (more: Partial<DeadLetterGroup> = {}): DeadLetterGroup => ({ namespace: 'default', fingerprint: '00000000000000aa', count: 3, lanes: [], ...more });
const none = { groups: [], executions: 0, complete: true };
const redrive = (more: Partial<Redrive> = {}): Redrive => ({ redrive_id: 'r', namespace: 'default', state: 'running', selection: {}, found: 10, replayed: 0, refused: 0, left: 10, failed_again: 0, refusals: [], ...more });

describe('addresses', () => {
  it('have the filter', () => {
    expect(parseLetterFilter('?namespace=shop&kind=+mail+&lane=&other=1')).toEqual({ namespace: 'shop', kind: 'mail' });
    expect(lettersLink({ kind: 'a b', namespace: 'shop', category: '' })).toBe('/ui/dead-letters?namespace=shop&kind=a+b');
    expect(lettersLink({})).toBe('/ui/dead-letters');
    expect(isUnfiltered({ kind: '' })).toBe(true);
  });
  it('name a group', () => {
    expect(groupLink('default', '00aa')).toBe('/ui/dead-letters/groups/00aa');
    expect(groupLink('shop', 'older')).toBe('/ui/dead-letters/groups/older?namespace=shop');
  });
});

describe('words', () => {
  it('tell what went wrong', () => {
    expect(messageWords(group({ message: 'after <n> ms' }))).toBe('after <n> ms');
    expect(messageWords(group())).toBe('no message');
    expect(messageWords(group({ fingerprint: 'older', example: 'x' }))).toBe('failed under an earlier version');
    expect(lanesWords(group({ lanes: [{ lane: 'a', count: 2 }] }))).toBe('a');
    expect(lanesWords(group({ lanes: [{ lane: 'a', count: 2 }, { lane: 'b', count: 1 }] }))).toBe('a: 2, b: 1');
  });
  it('tell what a redrive is for', () => {
    expect(selectionWords({ all: true })).toBe('all of the namespace');
    expect(selectionWords({ fingerprints: ['00aa'], lane: 'mail' })).toBe('the group 00aa, lane mail');
    expect(selectionWords({ execution_ids: ['a', 'b'] })).toBe('2 executions');
    expect(selectionWords({ category: '', tag: { a: 'b' }, failed_from: 0 })).toBe('category (empty), tag a=b, failed from 1970-01-01T00:00:00.000Z');
  });
});

describe('what a redrive is for', () => {
  it('groups, executions, or a filter, with their number', () => {
    expect(groupsTarget([group(), group({ fingerprint: '00bb', count: 4 })])).toMatchObject({ namespace: 'default', selection: { fingerprints: ['00000000000000aa', '00bb'] }, expected: 7, older: false });
    expect(executionsTarget('shop', ['x'])).toMatchObject({ namespace: 'shop', selection: { execution_ids: ['x'] }, expected: 1 });
  });
  it('a filter: as much as the listing tells', () => {
    const groups = [group({ namespace: 'shop', category: 'timeout' }), group({ namespace: 'shop', fingerprint: '00bb', category: 'x', count: 4 }), group({ count: 50 })];
    const listed = { groups, executions: 70, complete: true };
    expect(filterTarget('shop', {}, listed)).toMatchObject({ selection: { all: true }, expected: 7, older: false });
    expect(filterTarget('shop', { lane: 'mail', category: 'timeout' }, listed)).toMatchObject({ selection: { lane: 'mail', category: 'timeout' }, expected: 3, older: false });
    expect(filterTarget('shop', { category: 'x' }, { ...listed, groups: [...groups, group({ namespace: 'shop', fingerprint: 'older' })] })).toMatchObject({ expected: 4, older: true });
    expect(filterTarget('shop', { kind: 'mail' }, listed)).toMatchObject({ expected: 7, older: true });
    expect(filterTarget('shop', {}, { ...listed, complete: false })).toMatchObject({ expected: undefined, older: false });
    expect(filterTarget('shop', { namespace: 'shop' }, { ...listed, complete: false })).toMatchObject({ expected: 70 });
    expect(filterTarget('shop', { namespace: 'shop', category: 'x' }, { ...listed, complete: false })).toMatchObject({ expected: undefined, older: true });
  });
  it('as a request and as a command', () => {
    const target = groupsTarget([group({ namespace: 'shop' })]);
    const body = redriveBody(target, { ...emptyRedriveForm, rate: ' 100/1m ', paused: 'yes', reason: 'it is back' }, 'k');
    expect(body).toEqual({ namespace: 'shop', fingerprints: ['00000000000000aa'], idempotency_key: 'k', rate: '100/1m', paused: true, reason: 'it is back' });
    expect(redriveWords(body).join(' ')).toBe('dead-letters redrive 00000000000000aa --namespace shop --rate 100/1m --paused --reason it is back');
    expect(redriveWords(redriveBody(filterTarget('default', {}, none), emptyRedriveForm, 'k')).join(' ')).toBe('dead-letters redrive --all --yes');
    expect(redriveWords({ execution_ids: ['a', 'b'], tag: { x: 'y' }, failed_from: 5 }).join(' ')).toBe('dead-letters redrive --execution a --execution b --tag x=y --failed-from 5');
  });
  it('narrowed down further, all of the namespace is no longer said', () => {
    const values = { ...emptyRedriveForm, tag: 'app.customer=acme', failed_from: '2026-01-02T03:04:05' };
    expect(isNarrowed(values)).toBe(true);
    expect(redriveBody(filterTarget('default', {}, none), values, 'k')).toEqual({ namespace: 'default', idempotency_key: 'k', tag: { 'app.customer': 'acme' }, failed_from: new Date('2026-01-02T03:04:05').getTime() });
    expect(() => redriveBody(groupsTarget([group()]), { ...emptyRedriveForm, failed_before: 'soon' }, 'k')).toThrow(Refusal);
  });
});

describe('progress', () => {
  it('counts what was not meant', () => {
    const progress = progressOf(redrive({ replayed: 4, refused: 1, left: 3 }));
    expect(progress).toEqual({ replayed: 4, refused: 1, passed: 2, left: 3 });
    expect(progressWords(progress)).toBe('4 replayed, 1 refused, 2 not meant, 3 left');
  });
  it('is never less than nothing', () => {
    expect(progressOf(redrive({ found: 0, left: 0 }))).toEqual({ replayed: 0, refused: 0, passed: 0, left: 0 });
    expect(progressOf(redrive({ found: 1, left: 0, replayed: 3 }))).toMatchObject({ passed: 0, replayed: 3 });
  });
});
