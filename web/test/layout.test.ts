import { describe, expect, it } from 'vitest';
import { layOut, nodeHeight, nodeWidth, type Layout } from '../src/core/layout';
import { contains, crosses, curve, edgePoints, fit, grown, leastScale, lengthOf, mark, mostScale, neighbour, nodeAt, nodesIn, pan, reveal, seen, sign, zoom } from '../src/core/graph-view';
import { publicStates } from '../src/api/types';

type Pairs = [number, number][];
const ends = (pairs: Pairs): [Int32Array, Int32Array] => [Int32Array.from(pairs, ([from]) => from), Int32Array.from(pairs, ([, to]) => to)];
const drawn = (count: number, pairs: Pairs): Layout => layOut(count, ...ends(pairs));

function overlaps(layout: Layout): number {
  let found = 0;
  for (let a = 0; a < layout.x.length; a += 1)
    for (let b = 0; b < a; b += 1)
      if (Math.abs(layout.x[a]! - layout.x[b]!) < nodeWidth && Math.abs(layout.y[a]! - layout.y[b]!) < nodeHeight) found += 1;
  return found;
}

/** A graph that looks random and is always the same. */
function tangle(count: number, edges: number): Pairs {
  let seed = 12345;
  const next = (below: number): number => { seed = (seed * 48271) % 2147483647; return seed % below; };
  return Array.from({ length: edges }, () => { const to = 1 + next(count - 1); return [next(to), to] as [number, number]; });
}

describe('the layout', () => {
  it('puts a node after the last of its upstream nodes', () => {
    const layout = drawn(5, [[0, 1], [1, 2], [0, 2], [2, 3], [0, 3]]);
    expect([...layout.layerOf]).toEqual([0, 1, 2, 3, 0]);
    expect(layout.layers).toEqual([[0, 4], [1], [2], [3]]);
    for (const [from, to] of [[0, 1], [1, 2], [2, 3]] as const) expect(layout.x[to]).toBeGreaterThan(layout.x[from]! + nodeWidth);
  });
  it('leads long edges around the nodes between', () => {
    const layout = drawn(3, [[0, 1], [1, 2], [0, 2]]);
    expect(layout.bends.map((bends) => bends.length)).toEqual([0, 0, 4]);
    const height = layout.bends[2]![1]!;
    expect(height < layout.y[1]! || height > layout.y[1]! + nodeHeight).toBe(true);
  });
  it('undoes crossings', () => {
    // Two columns that are connected the wrong way round.
    const layout = drawn(6, [[0, 5], [1, 4], [2, 3]]);
    const [left, right] = [layout.layers[0]!, layout.layers[1]!];
    expect(right.map((node) => 5 - node)).toEqual(left);
    expect(layout.y[0]).toBe(layout.y[5]);
  });
  it('draws a chain straight and a fan around its source', () => {
    const chain = drawn(4, [[0, 1], [1, 2], [2, 3]]);
    expect(new Set(chain.y).size).toBe(1);
    const fan = drawn(4, [[0, 1], [0, 2], [0, 3]]);
    expect(fan.y[0]).toBeCloseTo(fan.y[2]!, 6);
  });
  it('never puts nodes on each other, is always the same, and begins at 0', () => {
    const pairs = tangle(80, 200);
    const layout = drawn(80, pairs);
    expect(overlaps(layout)).toBe(0);
    expect(layout).toEqual(drawn(80, pairs));
    const points = layout.bends.flatMap((bends) => bends.filter((_, index) => index % 2 === 1));
    expect(Math.min(...layout.y, ...points)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...layout.y) + nodeHeight).toBeLessThanOrEqual(layout.height);
    expect(Math.max(...layout.x) + nodeWidth).toBeLessThanOrEqual(layout.width);
  });
  it('breaks a very wide layer into columns', () => {
    const layout = drawn(1000, Array.from({ length: 999 }, (_, index) => [0, index + 1] as [number, number]));
    expect(overlaps(layout)).toBe(0);
    expect(layout.height).toBeLessThan(5000);
    expect(layout.layers[1]).toHaveLength(999);
    // No edge goes through a node of a column between.
    const far = layout.layers[1]!.find((node) => layout.x[node]! > layout.x[1]! + 3 * nodeWidth)!;
    const [, height] = layout.bends[far - 1]!;
    const others = layout.layers[1]!.filter((node) => layout.y[node]! <= height! && height! <= layout.y[node]! + nodeHeight);
    expect(others).toEqual([]);
  });
  it('draws nothing, nodes without edges, and even a cycle', () => {
    expect(drawn(0, [])).toMatchObject({ width: 0, height: 0, layers: [] });
    expect(drawn(1, [])).toMatchObject({ width: nodeWidth, height: nodeHeight });
    expect(overlaps(drawn(3, [[0, 1], [1, 2], [2, 1], [2, 2]]))).toBeLessThan(4);
  });
  it('needs few dummies for deep flows', () => {
    // A chain in which every node also leads to the last one.
    const deep: Pairs = Array.from({ length: 599 }, (_, index) => [index, index + 1]);
    const layout = drawn(600, [...deep, ...deep.map(([from]) => [from, 599] as [number, number])]);
    expect(layout.layers).toHaveLength(600);
    expect(Math.max(...layout.bends.map((bends) => bends.length))).toBeLessThan(400);
  });
});

describe('the view', () => {
  const layout = drawn(4, [[0, 1], [0, 2], [1, 3], [2, 3]]);
  const size = { width: 800, height: 600 };
  it('fits, zooms around a point and pans', () => {
    const view = fit(layout, size);
    expect(contains(seen(view, size), { left: 0, top: 0, right: layout.width, bottom: layout.height })).toBe(true);
    const closer = zoom(view, 1.5, 100, 50);
    expect((100 - closer.x) / closer.scale).toBeCloseTo((100 - view.x) / view.scale, 9);
    expect(zoom(view, 1e9, 0, 0).scale).toBe(mostScale);
    expect(zoom(view, 1e-9, 0, 0).scale).toBe(leastScale);
    expect(pan(view, 5, -6)).toEqual({ scale: view.scale, x: view.x + 5, y: view.y - 6 });
    expect(contains(grown(seen(view, size), 0.1), seen(view, size))).toBe(true);
  });
  it('knows what is in it', () => {
    expect(nodesIn(layout, { left: 0, top: 0, right: layout.width, bottom: layout.height })).toEqual([0, 1, 2, 3]);
    expect(nodesIn(layout, { left: 0, top: -9, right: 10, bottom: 1e6 })).toEqual([0]);
    expect(crosses(edgePoints(layout, 0, 1, 0), { left: 1e6, top: 0, right: 2e6, bottom: 10 })).toBe(false);
    expect(curve([0, 0, 10, 0, 20, 5])).toBe('M0 0H10C15 0 15 5 20 5');
    expect(curve([0, 0, 10, 0, 20, 5], { left: 12, top: 0, right: 30, bottom: 9 })).toBe('M10 0C15 0 15 5 20 5');
  });
  it('measures what it draws', () => {
    const box = { left: 12, top: 0, right: 30, bottom: 9 };
    expect(lengthOf([0, 0, 10, 0, 13, 4], box)).toBe(5);
    expect(lengthOf([0, 0, 10, 0, 13, 4], { ...box, left: 0 })).toBe(15);
  });
  it('hits nodes and brings them into view', () => {
    const view = fit(layout, size);
    for (let node = 0; node < 4; node += 1)
      expect(nodeAt(layout, view, (layout.x[node]! + 5) * view.scale + view.x, (layout.y[node]! + 5) * view.scale + view.y)).toBe(node);
    expect(nodeAt(layout, view, 1, 1)).toBeUndefined();
    expect(reveal(layout, view, size, 3)).toBe(view);
    const far = pan(view, -5000, 3000);
    const shown = reveal(layout, far, size, 3);
    expect(contains(seen(shown, size), { left: layout.x[3]!, top: layout.y[3]!, right: layout.x[3]! + nodeWidth, bottom: layout.y[3]! + nodeHeight })).toBe(true);
  });
  it('is walked with arrow keys', () => {
    const [from, to] = ends([[0, 1], [0, 2], [1, 3], [2, 3]]);
    const upper = layout.layers[1]![0]!;
    const lower = layout.layers[1]![1]!;
    expect([upper, lower]).toContain(neighbour(layout, from, to, 0, 'right'));
    expect(neighbour(layout, from, to, upper, 'down')).toBe(lower);
    expect(neighbour(layout, from, to, upper, 'up')).toBeUndefined();
    expect(neighbour(layout, from, to, lower, 'right')).toBe(3);
    expect(neighbour(layout, from, to, 3, 'right')).toBeUndefined();
    expect(neighbour(layout, from, to, 1, 'left')).toBe(0);
  });
  it('has a shape for each kind of state', () => {
    const families = [['completed'], ['active', 'resumable'], ['failed', 'expired'], ['cancelled', 'skipped']];
    expect(new Set(families.map(([state]) => mark(state ?? '', 0, 0))).size).toBe(4);
    for (const state of publicStates) expect(mark(state, 3, 4) + sign(state)).not.toMatch(/NaN|undefined/);
  });
});
