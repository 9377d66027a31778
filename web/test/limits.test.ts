import { describe, expect, it } from 'vitest';
import type { LimitInfo, LimitUse } from '../src/api/types';
import { Refusal } from '../src/core/form';
import { allowanceWords, checkBody, emptyLimitForm, heldWords, isNamedIn, keyWords, levelOf, limitBody, limitFormOf, limitLink, periodWords, scopeWords, totalOf, totalWords } from '../src/core/limits';

const info = (more: Partial<LimitInfo> = {}): LimitInfo => ({ name: 'l', per: [], revision: 3, ...more });
const use = (more: Partial<LimitUse> = {}): LimitUse => ({ key: [], in_use: 0, held_back: 0, holders: [], ...more });

describe('words', () => {
  it('tell how much is allowed', () => {
    expect(allowanceWords(info({ concurrency: 3 }))).toBe('3 at a time');
    expect(allowanceWords(info({ share: { weights: { acme: 5, '': 2 } } }))).toBe('turns, acme 5 times as often, (empty) 2 times as often');
    expect(allowanceWords(info({ rate: { count: 100, period_ms: 60_000 } }))).toBe('100 per min');
    expect(allowanceWords(info({ concurrency: 1, rate: { count: 5, period_ms: 90_000, burst: 9 } }))).toBe('1 at a time, 5 per 90 s, up to 9 at once');
    expect(periodWords(1000)).toBe('s');
    expect(periodWords(10_000)).toBe('10 s');
    expect(periodWords(250)).toBe('250 ms');
  });
  it('tell what it is for', () => {
    expect(scopeWords(info())).toBe('executions in all namespaces');
    expect(scopeWords(info({ namespace: 'shop', lane: 'mail', kind: 'send', per: ['tags.app.customer', 'creator'] })))
      .toBe('executions of kind send and lane mail in namespace shop, for each value of tag app.customer and creator');
    expect(keyWords([])).toBe('all together');
    expect(keyWords(['acme', ''])).toBe('acme, (empty)');
  });
  it('tell how many wait', () => {
    expect(heldWords(3)).toBe('3');
    expect(heldWords(1000)).toMatch(/^1.000 or more$/);
    expect(heldWords(3, true)).toBe('3 or more');
  });
  it('find the limit in a reason', () => {
    const sentence = 'Limit "a "b" c" has held it back since 2026-01-01T00:00:00.000Z: it lets …';
    expect(isNamedIn(sentence, { name: 'a "b" c' })).toBe(true);
    expect(isNamedIn(sentence, { name: 'a' })).toBe(false);
    expect(isNamedIn('It is next in its queue.', { name: 'a' })).toBe(false);
  });
  it('name a limit with its namespace, if it has one', () => {
    expect(limitLink(undefined, 'a b/c')).toBe('/ui/limits/a%20b%2Fc');
    expect(limitLink('default', 'l')).toBe('/ui/limits/l?namespace=default');
  });
});

describe('levels', () => {
  it('are the part of the slots that is taken', () => {
    expect(levelOf(info({ concurrency: 4 }), use({ in_use: 1, free: 3 }))).toEqual({ part: 0.25, tone: 'good', text: '1 of 4' });
    expect(levelOf(info({ concurrency: 4 }), use({ in_use: 3, free: 1 })).tone).toBe('warn');
    expect(levelOf(info({ concurrency: 4 }), use({ in_use: 4, free: 0 })).tone).toBe('bad');
    // It was lowered while they ran.
    expect(levelOf(info({ concurrency: 2 }), use({ in_use: 4, free: 0 }))).toEqual({ part: 1, tone: 'bad', text: '4 of 2' });
    expect(levelOf(info({ concurrency: 4 }), use({ in_use: 1, free: 0 })).tone).toBe('bad');
  });
  it('of a rate are full or not', () => {
    expect(levelOf(info(), use({ free: 2 }))).toEqual({ part: 0, tone: 'good', text: '2 may start now' });
    expect(levelOf(info(), use({ free: 0 })).part).toBe(1);
    expect(levelOf(info(), use()).text).toBe('any number may start');
  });
  it('of many keys are that of the fullest', () => {
    const total = totalOf(info({ concurrency: 2 }), [use({ key: ['a'], in_use: 1, free: 1 }), use({ key: ['b'], in_use: 2, free: 0, held_back: 5 }), use({ key: ['c'], in_use: 2, free: 0, held_back: 1 })]);
    expect(total).toMatchObject({ keys: 3, full: 2, inUse: 5, held: 6, fullest: { key: ['b'] } });
    expect(totalWords(total)).toBe('3 keys, 2 full');
    expect(totalWords(totalOf(info(), []))).toBe('not in use');
  });
});

describe('forms', () => {
  it('send what they got', () => {
    const limit = info({ namespace: 'shop', lane: 'mail', per: ['tags.a', 'kind'], concurrency: 3, rate: { count: 5, period_ms: 1500, burst: 9 } });
    expect(limitBody(limitFormOf(limit), 3)).toEqual({ expected_revision: 3, namespace: 'shop', lane: 'mail', per: ['tags.a', 'kind'], concurrency: 3, rate: { count: 5, period_ms: 1500, burst: 9 } });
    expect(limitBody({ ...emptyLimitForm, concurrency: '1' }, 0)).toEqual({ expected_revision: 0, concurrency: 1 });
  });
  it('name the field that cannot be sent', () => {
    expect(() => limitBody({ ...emptyLimitForm, rate: '5', period: 'soon' }, 0)).toThrowError(Refusal);
    expect(() => limitBody({ ...emptyLimitForm, burst: '5' }, 0)).toThrowError(/rate.burst/);
  });
  it('of a check leave out what is empty', () => {
    expect(checkBody({ kind: ' send ', lane: '', tags: 'app.customer=acme\n' })).toEqual({ kind: 'send', tags: { 'app.customer': 'acme' } });
  });
});
