import { describe, expect, it } from 'vitest';
import { scrollToShow, visibleRows } from '../src/core/virtual';
import { addToFeed, emptyFeed, sample } from '../src/core/feed';
import { SseParser } from '../src/core/sse';
import { rank, score } from '../src/core/palette';
import { match } from '../src/core/routes';
import { follow, heldBy } from '../src/core/holdings';
import { grouped, lastRate, mergeOverview, sinceOf } from '../src/core/overview';
import type { Event } from '../src/api/types';
import type { Overview } from '../src/api/contract';

const event = (n: number, more: Partial<Event> = {}): Event => ({ type: 'created', cursor: `c${n}`, ...more });

describe('virtual rows', () => {
  it('exist only around the view', () => {
    expect(visibleRows(50_000, 30, 0, 600, 5)).toEqual({ first: 0, end: 25, padTop: 0, height: 1_500_000 });
    expect(visibleRows(50_000, 30, 30_000, 600, 5)).toEqual({ first: 995, end: 1025, padTop: 29_850, height: 1_500_000 });
    expect(visibleRows(3, 30, 9999, 600, 5)).toEqual({ first: 0, end: 3, padTop: 0, height: 90 });
    expect(visibleRows(0, 30, 0, 600)).toMatchObject({ first: 0, end: 0, height: 0 });
  });
  it('are scrolled to by the least distance', () => {
    expect(scrollToShow(0, 30, 100, 300)).toBe(0);
    expect(scrollToShow(5, 30, 100, 300)).toBe(100);
    expect(scrollToShow(20, 30, 100, 300)).toBe(330);
  });
});

describe('the feed', () => {
  it('keeps a sample that has the first and the last', () => {
    const kept = sample([...new Array(1000).keys()], 10);
    expect(kept).toHaveLength(10);
    expect(kept[0]).toBe(0);
    expect(kept[9]).toBe(999);
    expect(sample([1, 2], 10)).toEqual([1, 2]);
    expect(sample([1, 2], 1)).toEqual([2]);
    expect(sample([1, 2], 0)).toEqual([]);
  });
  it('counts everything and forgets the oldest', () => {
    let feed = addToFeed(emptyFeed, [event(1), event(2)], 2, 5, 3);
    feed = addToFeed(feed, [event(3), event(4)], 900, 5, 3);
    expect(feed.events.map((entry) => entry.cursor)).toEqual(['c2', 'c3', 'c4']);
    expect(feed).toMatchObject({ received: 902, shown: 4 });
    expect(addToFeed(feed, [], 0, 5, 3)).toBe(feed);
  });
});

describe('server-sent events', () => {
  it('are read from pieces cut anywhere', () => {
    const text = 'retry: 1000\n\nid: A\nevent: created\ndata: {"a":1}\n\n: heartbeat\nid: B\n\nid: C\r\ndata: x\r\ndata: y\r\n\r\n';
    for (let cut = 0; cut <= text.length; cut += 1) {
      const parser = new SseParser();
      const messages = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
      expect(messages).toEqual([{ id: 'A', event: 'created', data: '{"a":1}' }, { id: 'C', event: '', data: 'x\ny' }]);
      expect(parser.lastId).toBe('C');
    }
  });
  it('move the cursor by comments, too', () => {
    const parser = new SseParser();
    expect(parser.push(': heartbeat\nid: B\n\n')).toEqual([]);
    expect(parser.lastId).toBe('B');
  });
});

describe('the palette', () => {
  it('prefers beginnings of words and neighbours', () => {
    expect(score('xyz', 'Executions')).toBeUndefined();
    const found = rank('exf', [{ title: 'Events' }, { title: 'Executions: failed' }, { title: 'Workers' }]);
    expect(found.map((entry) => entry.title)).toEqual(['Executions: failed']);
    expect(rank('', [{ title: 'a' }, { title: 'b' }])).toHaveLength(2);
  });
});

it('matches paths with names', () => {
  expect(match('/ui/executions/:id', '/ui/executions/a%2Fb')).toEqual({ id: 'a/b' });
  expect(match('/ui/executions/:id', '/ui/executions')).toBeUndefined();
  expect(match('/ui/executions/:id', '/ui/executions/%')).toBeUndefined();
  expect(match('/', '/')).toEqual({});
});

describe('what workers hold', () => {
  it('follows claims and ends', () => {
    const claim = event(1, { type: 'claimed', execution_id: 'a', worker_instance_id: 'w1', kind: 'k', at: 5 });
    const held = follow(new Map(), [claim, event(2, { type: 'claimed', execution_id: 'b', worker_instance_id: 'w1' })]);
    expect(heldBy(held).get('w1')).toHaveLength(2);
    const after = follow(held, [event(3, { type: 'completed', execution_id: 'a' })]);
    expect(heldBy(after).get('w1')).toEqual([{ execution_id: 'b', kind: '', since: 0 }]);
    expect(follow(after, [event(4, { type: 'completed', execution_id: 'a' })])).toBe(after);
  });
});

describe('figures over time', () => {
  const figures = (ats: number[], lanes: Overview['lanes']): Overview => ({
    now: 0, interval_ms: 5000, lanes, failures: [], needs_attention: [], due_lag_ms: 0, store: { kind: 'sqlite', ready: true },
    samples: ats.map((at) => ({ at, created: at, claimed: 0, completed: 0, failed: 0, cancelled: 0 })),
  });
  it('replace the open sample and keep lanes aligned', () => {
    const first = mergeOverview(undefined, figures([10, 20], [{ lane: 'a', state: 'active', counts: {}, samples: [1, 2] }]));
    expect(sinceOf(first)).toBe(20);
    const second = mergeOverview(first, figures([20, 30], [{ lane: 'a', state: 'active', counts: {}, samples: [5, 6] }, { lane: 'b', state: 'active', counts: {} }]));
    expect(second.samples.map((sample) => sample.at)).toEqual([10, 20, 30]);
    expect(second.lanes.map((lane) => lane.samples)).toEqual([[1, 5, 6], [0, 0, 0]]);
  });
  it('keep an hour', () => {
    let all: Overview | undefined;
    for (let at = 0; at < 800; at += 1) all = mergeOverview(all, figures([at], [{ lane: 'a', state: 'active', counts: {}, samples: [at] }]));
    expect(all?.samples).toHaveLength(720);
    expect(all?.lanes[0]?.samples?.[0]).toBe(80);
  });
  it('give the rate of a complete interval, and sums for small lines', () => {
    expect(lastRate([10, 50, 3], 5000)).toBe(10);
    expect(lastRate(undefined, 5000)).toBe(0);
    expect(grouped([1, 2, 3, 4, 5], 3)).toEqual([3, 7, 5]);
  });
});
