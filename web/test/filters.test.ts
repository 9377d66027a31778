import { describe, expect, it } from 'vitest';
import type { Event, ExecutionSummary } from '../src/api/types';
import { applyEvent, bulkFilter, entersFilter, filterLink, filterQuery, isEmpty, noFilter, parseFilter, parseSearch } from '../src/core/filters';
import { asCli, asCurl, filterOptions, quote } from '../src/core/commands';

const id = 'fp17-0193e0a2-7c55-7d6e-8f3a-6b1f0c9d2e41';
const event = (more: Partial<Event>): Event => ({ type: 'claimed', at: 100, execution_id: id, namespace: 'default', lane: 'mail', kind: 'send', cursor: 'c', ...more });
const row: ExecutionSummary = { execution_id: id, namespace: 'default', lane: 'mail', kind: 'send', public_state: 'waiting', priority: 0, tags: {}, created_at: 10, attempt_count: 0 };

describe('the address', () => {
  it('carries every filter and comes back the same', () => {
    const filter = parseFilter('?state=failed,waiting&lane=mail&kind=a%26b&namespace=n&tag=a.b=c=d&flow=f&created_from=5&created_before=6&finished_from=7&finished_before=8');
    expect(filter).toEqual({ state: ['waiting', 'failed'], lane: 'mail', kind: 'a&b', namespace: 'n', tag: 'a.b=c=d', flow: 'f', created_from: 5, created_before: 6, finished_from: 7, finished_before: 8 });
    expect(parseFilter(filterLink(filter).split('?')[1] ?? '')).toEqual(filter);
  });
  it('ignores what is no filter', () => {
    expect(parseFilter('?state=happy&created_from=soon&lane=')).toEqual(noFilter);
    expect(isEmpty(parseFilter('?x=1'))).toBe(true);
    expect(filterLink({})).toBe('/ui/executions');
    expect(filterLink({ state: ['failed', 'expired'] })).toBe('/ui/executions?state=failed,expired');
  });
  it('becomes the body of a bulk action', () => {
    expect(bulkFilter(parseFilter('?state=failed&tag=team=a=b&lane=mail&created_from=5'))).toEqual({ states: ['failed'], tag: { team: 'a=b' }, lane: 'mail', created_from: 5 });
  });
});

describe('the search box', () => {
  it('opens ids in both forms', () => {
    expect(parseSearch(` ${id} `)).toEqual({ id });
    expect(parseSearch('{fp:17}:0193e0a2-7c55-7d6e-8f3a-6b1f0c9d2e41')).toHaveProperty('id');
  });
  it('reads words with and without fields', () => {
    expect(parseSearch('send state:failed,expired lane:mail tag:a=b')).toEqual({ filter: { state: ['failed', 'expired'], kind: 'send', lane: 'mail', tag: 'a=b' } });
    expect(parseSearch('failed')).toEqual({ filter: { state: ['failed'] } });
    expect(parseSearch('lane:', { state: [], lane: 'mail' })).toEqual({ filter: { state: [] } });
  });
});

describe('events', () => {
  it('move a row through its life', () => {
    const claimed = applyEvent(row, event({ state_after: 'active', attempt_index: 0, at: 20 }));
    expect(claimed).toMatchObject({ public_state: 'active', attempt_count: 1, started_at: 20 });
    const failed = applyEvent(claimed, event({ type: 'failed', state_after: 'failed', attempt_index: 0, at: 30 }));
    expect(failed).toMatchObject({ public_state: 'failed', finished_at: 30 });
    expect(applyEvent(failed, event({ type: 'replayed', state_after: 'waiting', at: 40 }))).not.toHaveProperty('finished_at');
  });
  it('leave a row alone that they do not change', () => {
    expect(applyEvent(row, event({ type: 'tags_changed', state_after: 'waiting' }))).toBe(row);
    expect(applyEvent(row, event({ execution_id: 'other', state_after: 'active' }))).toBe(row);
  });
  it('enter a list when they come into its states', () => {
    const failures = parseFilter('?state=failed&lane=mail');
    expect(entersFilter(failures, event({ type: 'failed', state_before: 'active', state_after: 'failed' }))).toBe(true);
    expect(entersFilter(failures, event({ type: 'failed', state_before: 'active', state_after: 'failed', lane: 'other' }))).toBe(false);
    expect(entersFilter(noFilter, event({ type: 'failed', state_before: 'active', state_after: 'failed' }))).toBe(false);
    expect(entersFilter(noFilter, event({ type: 'created', state_after: 'waiting' }))).toBe(true);
    expect(entersFilter(parseFilter('?tag=a=b'), event({ type: 'created', state_after: 'waiting' }))).toBe(false);
    expect(entersFilter(parseFilter('?created_from=101'), event({ type: 'created', state_after: 'waiting' }))).toBe(false);
  });
});

describe('commands', () => {
  it('quote for the shell', () => {
    expect(quote('a-b')).toBe('a-b');
    expect(quote('')).toBe("''");
    expect(quote("it's $HOME")).toBe(`'it'\\''s $HOME'`);
  });
  it('are the same as the click', () => {
    expect(asCli(['executions', 'cancel', ...filterOptions(parseFilter('?state=failed&kind=a b&created_from=5&flow=f'))], 'http://h:1'))
      .toBe("flowfabric executions cancel --state failed --kind 'a b' --created-from 5 --store http://h:1");
    expect(asCurl({ method: 'POST', path: '/v1/x', body: { reason: "it's" } }, 'http://h:1', true))
      .toBe(`curl -s -X POST -H 'Content-Type: application/json' -H "Authorization: Bearer $FLOWFABRIC_API_KEY" -d '{"reason":"it'\\''s"}' http://h:1/v1/x`);
    expect(filterQuery(noFilter).toString()).toBe('');
  });
});
