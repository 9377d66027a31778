// A layered drawing of a directed acyclic graph, from left to right. A node is in the layer after its last upstream node (longest
// path). Layers are ordered by barycentres to avoid crossings, and nodes are moved next to their neighbours. The same graph always
// gives the same drawing.

export interface Layout {
  x: Float64Array; // the left edge of each node
  y: Float64Array; // the upper edge of each node
  layers: number[][]; // nodes from top to bottom
  layerOf: Int32Array;
  bends: number[][]; // of each edge: x and y of the points between its ends
  width: number;
  height: number;
}

export const nodeWidth = 176;
export const nodeHeight = 40;
const rowGap = 18;
const dummyHeight = 6;
const layerGap = 64;
const columnGap = 28;
const sweeps = 8;
/** A layer with more nodes than this is broken into columns, so that wide flows are not drawn as one thin line. */
const leastWrap = 40;

/** What is put into layers: nodes, and for long edges a dummy in each layer that they pass. */
interface Item {
  node: number; // -1: a dummy
  layer: number;
  up: number[];
  down: number[];
}

interface Layered {
  items: Item[];
  layers: number[][]; // items in order
  chains: Map<string, number>; // "source layer" to the dummy there
  routed: Uint8Array; // 1: the edge goes along dummies
}

function longestPaths(count: number, from: Int32Array, to: Int32Array): Int32Array {
  const layerOf = new Int32Array(count);
  const open = new Int32Array(count);
  const down: number[][] = Array.from({ length: count }, () => []);
  for (let edge = 0; edge < from.length; edge += 1) {
    down[from[edge]!]!.push(to[edge]!);
    open[to[edge]!]! += 1;
  }
  const ready: number[] = [];
  for (let node = 0; node < count; node += 1) if (open[node] === 0) ready.push(node);
  for (let next = 0; next < ready.length; next += 1) {
    const node = ready[next]!;
    for (const child of down[node]!) {
      layerOf[child] = Math.max(layerOf[child]!, layerOf[node]! + 1);
      open[child]! -= 1;
      if (open[child] === 0) ready.push(child);
    }
  }
  return layerOf;
}

/** Edges over more layers than this are drawn without dummies; otherwise a few long edges of a deep flow would need millions. */
function longestSpan(count: number, from: Int32Array, to: Int32Array, layerOf: Int32Array): number {
  const allowed = 4 * count + 4000;
  let longest = Math.max(1, layerOf.reduce((most, layer) => Math.max(most, layer), 0));
  for (; longest > 1; longest = Math.floor(longest / 2)) {
    const spans = new Int32Array(count);
    for (let edge = 0; edge < from.length; edge += 1) {
      const span = layerOf[to[edge]!]! - layerOf[from[edge]!]!;
      if (span <= longest) spans[from[edge]!] = Math.max(spans[from[edge]!]!, span - 1);
    }
    if (spans.reduce((all, span) => all + span, 0) <= allowed) break;
  }
  return longest;
}

/** Edges of one source share their dummies: they run together until they part. */
function toLayers(count: number, from: Int32Array, to: Int32Array, layerOf: Int32Array): Layered {
  const items: Item[] = [];
  const layers: number[][] = [];
  const place = (node: number, layer: number): number => {
    (layers[layer] ??= []).push(items.length);
    items.push({ node, layer, up: [], down: [] });
    return items.length - 1;
  };
  for (let node = 0; node < count; node += 1) place(node, layerOf[node]!);
  const chains = new Map<string, number>();
  const longest = longestSpan(count, from, to, layerOf);
  const routed = new Uint8Array(from.length);
  const join = (a: number, b: number): void => { items[a]!.down.push(b); items[b]!.up.push(a); };
  const dummyAt = (source: number, layer: number): number => {
    let last = source;
    for (let at = layerOf[source]! + 1; at <= layer; at += 1) {
      let dummy = chains.get(`${source} ${at}`);
      if (dummy === undefined) {
        dummy = place(-1, at);
        chains.set(`${source} ${at}`, dummy);
        join(last, dummy);
      }
      last = dummy;
    }
    return last;
  };
  for (let edge = 0; edge < from.length; edge += 1) {
    const source = from[edge]!;
    const target = to[edge]!;
    const span = layerOf[target]! - layerOf[source]!;
    if (span < 1 || span > longest) continue; // less than 1: only in a cycle, which no flow has
    routed[edge] = 1;
    join(dummyAt(source, layerOf[target]! - 1), target);
  }
  for (let layer = 0; layer < layers.length; layer += 1) layers[layer] ??= [];
  return { items, layers, chains, routed };
}

/** Pairs of edges between two layers that cross each other, counted with a tree of sums (Fenwick). */
function crossings(upper: number[], lower: number[], items: Item[], place: Int32Array): number {
  lower.forEach((item, index) => { place[item] = index + 1; });
  const tree = new Int32Array(lower.length + 1);
  let total = 0;
  let seen = 0;
  for (const item of upper) {
    const down = items[item]!.down;
    for (const target of down) {
      let before = 0;
      for (let at = place[target]!; at > 0; at -= at & -at) before += tree[at]!;
      total += seen - before;
    }
    for (const target of down) for (let at = place[target]!; at <= lower.length; at += at & -at) tree[at]! += 1;
    seen += down.length;
  }
  return total;
}

function allCrossings({ items, layers }: Layered, place: Int32Array): number {
  let total = 0;
  for (let layer = 1; layer < layers.length; layer += 1) total += crossings(layers[layer - 1]!, layers[layer]!, items, place);
  return total;
}

function sortByNeighbours(layer: number[], items: Item[], place: Float64Array, wanted: Float64Array, side: 'up' | 'down'): number[] {
  layer.forEach((item, index) => {
    const near = items[item]![side];
    let sum = 0;
    for (const other of near) sum += place[other]!;
    // Without neighbours there, it stays where it is.
    wanted[item] = near.length > 0 ? sum / near.length : (index + 0.5) / layer.length;
  });
  return [...layer].sort((a, b) => wanted[a]! - wanted[b]!); // stable
}

/** Sweeps down and up; the best order that was seen is kept. */
function orderLayers(layered: Layered): void {
  const { items } = layered;
  const relative = new Float64Array(items.length);
  const wanted = new Float64Array(items.length);
  const scratch = new Int32Array(items.length);
  const settle = (layer: number[]): void => layer.forEach((item, index) => { relative[item] = (index + 0.5) / layer.length; });
  layered.layers.forEach(settle);
  let best = layered.layers;
  let fewest = allCrossings(layered, scratch);
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep += 1) {
    const layers = [...layered.layers];
    const side = sweep % 2 === 0 ? 'up' : 'down';
    for (let step = 1; step < layers.length; step += 1) {
      const at = side === 'up' ? step : layers.length - 1 - step;
      layers[at] = sortByNeighbours(layers[at]!, items, relative, wanted, side);
      settle(layers[at]!);
    }
    layered.layers = layers;
    const found = allCrossings(layered, scratch);
    if (found < fewest) {
      fewest = found;
      best = layers;
    }
  }
  layered.layers = best;
}

const heightOf = (item: Item): number => (item.node < 0 ? dummyHeight : nodeHeight);

/** Items of one layer that are drawn side by side: one item, or, in a layer that is broken into columns, one for each column. */
type Row = number[];

/** Rows are filled one after the other, so that the order from top to bottom stays. A dummy has a row of its own. */
function toRows(layer: number[], items: Item[], most: number): Row[] {
  const nodes = layer.filter((item) => items[item]!.node >= 0).length;
  const columns = Math.max(1, Math.ceil(nodes / most));
  const rows: Row[] = [];
  let open: Row | undefined;
  for (const item of layer) {
    if (items[item]!.node < 0) {
      rows.push([item]);
      continue;
    }
    if (!open || open.length === columns) rows.push(open = []);
    open.push(item);
  }
  return rows;
}

/** The places nearest to the wanted ones (least squares) that keep the order and the distances: isotonic regression. */
function spread(rows: Row[], items: Item[], wanted: Float64Array, centre: Float64Array): void {
  const blocks: { sum: number; weight: number; size: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  rows.forEach((row, index) => {
    const height = heightOf(items[row[0]!]!);
    if (index > 0) offset += (heightOf(items[rows[index - 1]![0]!]!) + height) / 2 + rowGap;
    offsets.push(offset);
    const weight = height === dummyHeight ? 4 : row.length; // long edges are drawn straight
    const mean = row.reduce((all, item) => all + wanted[item]!, 0) / row.length;
    let block = { sum: (mean - offset) * weight, weight, size: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.weight >= block.sum / block.weight; last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, size: last.size + block.size };
      blocks.pop();
    }
    blocks.push(block);
  });
  let index = 0;
  for (const block of blocks)
    for (let in_block = 0; in_block < block.size; in_block += 1, index += 1)
      for (const item of rows[index]!) centre[item] = block.sum / block.weight + offsets[index]!;
}

function placeRows(layers: Row[][], items: Item[]): Float64Array {
  const centre = new Float64Array(items.length);
  const wanted = new Float64Array(items.length);
  for (const rows of layers) {
    spread(rows, items, wanted, centre);
    const middle = rows.length > 0 ? (centre[rows[0]![0]!]! + centre[rows.at(-1)![0]!]!) / 2 : 0;
    for (const row of rows) for (const item of row) centre[item]! -= middle;
  }
  for (let sweep = 0; sweep < sweeps; sweep += 1)
    for (let step = 0; step < layers.length; step += 1) {
      const side = sweep % 2 === 0 ? 'up' : 'down';
      const rows = layers[side === 'up' ? step : layers.length - 1 - step]!;
      for (const row of rows) for (const item of row) {
        const near = items[item]![side];
        let sum = 0;
        for (const other of near) sum += centre[other]!;
        wanted[item] = near.length > 0 ? sum / near.length : centre[item]!;
      }
      spread(rows, items, wanted, centre);
    }
  return centre;
}

interface Lefts { node: Float64Array; begin: number[]; end: number[]; width: number }

function placeColumns(layers: Row[][], items: Item[], count: number): Lefts {
  const node = new Float64Array(count);
  const begin: number[] = [];
  const end: number[] = [];
  let left = 0;
  layers.forEach((rows, index) => {
    begin.push(left);
    let columns = 1;
    let edges = 0;
    for (const row of rows) {
      columns = Math.max(columns, row.length);
      row.forEach((item, at) => {
        edges += items[item]!.down.length;
        if (items[item]!.node >= 0) node[items[item]!.node] = left + at * (nodeWidth + columnGap);
      });
    }
    left += columns * (nodeWidth + columnGap) - columnGap;
    end.push(left);
    // More edges need more room to part.
    if (index < layers.length - 1) left += layerGap + Math.min(160, 4 * Math.sqrt(edges));
  });
  return { node, begin, end, width: left };
}

/** In a layer of several columns, edges run between the rows, so that they do not seem to come out of a neighbour. */
function aroundColumns(lefts: Lefts, y: Float64Array, layer: number, node: number, side: 'out' | 'in'): number[] {
  const left = lefts.node[node]!;
  if (side === 'out') {
    const height = y[node]! + nodeHeight + rowGap / 3;
    return left + nodeWidth < lefts.end[layer]! - 1 ? [left + nodeWidth + columnGap / 2, height, lefts.end[layer]!, height] : [];
  }
  const height = y[node]! - rowGap / 3;
  return left > lefts.begin[layer]! + 1 ? [lefts.begin[layer]!, height, left - columnGap / 2, height] : [];
}

/** `from` and `to` are the ends of the edges: numbers of nodes, from 0 to `count` - 1. */
export function layOut(count: number, from: Int32Array, to: Int32Array): Layout {
  const layerOf = longestPaths(count, from, to);
  const layered = toLayers(count, from, to, layerOf);
  orderLayers(layered);
  const { items, chains, routed } = layered;
  const most = Math.max(leastWrap, Math.ceil(Math.sqrt(count) * 1.5));
  const rows = layered.layers.map((layer) => toRows(layer, items, most));
  const centre = placeRows(rows, items);
  const lefts = placeColumns(rows, items, count);
  let top = Infinity;
  let bottom = 0;
  items.forEach((item, index) => { top = Math.min(top, centre[index]! - heightOf(item) / 2); });
  if (items.length === 0) top = 0;
  const y = new Float64Array(count);
  items.forEach((item, index) => {
    centre[index]! -= top;
    bottom = Math.max(bottom, centre[index]! + heightOf(item) / 2);
    if (item.node >= 0) y[item.node] = centre[index]! - nodeHeight / 2;
  });
  const bends: number[][] = [];
  for (let edge = 0; edge < from.length; edge += 1) {
    const points = aroundColumns(lefts, y, layerOf[from[edge]!]!, from[edge]!, 'out');
    for (let layer = layerOf[from[edge]!]! + 1; layer < layerOf[to[edge]!]!; layer += 1) {
      const dummy = routed[edge] === 1 ? chains.get(`${from[edge]} ${layer}`) : undefined;
      if (dummy === undefined) break;
      points.push(lefts.begin[layer]!, centre[dummy]!, lefts.end[layer]!, centre[dummy]!);
    }
    bends.push([...points, ...aroundColumns(lefts, y, layerOf[to[edge]!]!, to[edge]!, 'in')]);
  }
  const layers = layered.layers.map((layer) => layer.map((item) => items[item]!.node).filter((node) => node >= 0));
  return { x: lefts.node, y, layers, layerOf, bends, width: lefts.width, height: bottom };
}
