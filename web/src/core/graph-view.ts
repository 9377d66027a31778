// What of a drawing is seen, and where: panning, zooming, culling, hits and moves. `View` maps the drawing to the screen:
// screen = drawing * scale + offset.
import { nodeHeight, nodeWidth, type Layout } from './layout';

export interface View { x: number; y: number; scale: number }
export interface Size { width: number; height: number }
export interface Box { left: number; top: number; right: number; bottom: number }

export const leastScale = 0.01;
export const mostScale = 2.5;
/** Below this, names cannot be read: nodes are drawn as marks. */
export const textScale = 0.5;
/** With more nodes in view than this, they are drawn as marks, too, so that the number of elements stays small. */
export const mostDetailed = 500;
const margin = 24;

export function fit(layout: Layout, size: Size): View {
  const scale = Math.max(leastScale, Math.min(1, (size.width - 2 * margin) / Math.max(1, layout.width), (size.height - 2 * margin) / Math.max(1, layout.height)));
  return { scale, x: (size.width - layout.width * scale) / 2, y: (size.height - layout.height * scale) / 2 };
}

/** The point (x, y) of the screen stays where it is. */
export function zoom(view: View, factor: number, x: number, y: number): View {
  const scale = Math.max(leastScale, Math.min(mostScale, view.scale * factor));
  const ratio = scale / view.scale;
  return { scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
}

export const pan = (view: View, x: number, y: number): View => ({ ...view, x: view.x + x, y: view.y + y });

/** The part of the drawing that is on the screen. */
export function seen(view: View, size: Size): Box {
  return { left: -view.x / view.scale, top: -view.y / view.scale, right: (size.width - view.x) / view.scale, bottom: (size.height - view.y) / view.scale };
}

export function grown(box: Box, share: number): Box {
  const wide = (box.right - box.left) * share;
  const high = (box.bottom - box.top) * share;
  return { left: box.left - wide, top: box.top - high, right: box.right + wide, bottom: box.bottom + high };
}

export const contains = (outer: Box, inner: Box): boolean =>
  outer.left <= inner.left && outer.top <= inner.top && outer.right >= inner.right && outer.bottom >= inner.bottom;

export function nodesIn(layout: Layout, box: Box): number[] {
  const found: number[] = [];
  for (let node = 0; node < layout.x.length; node += 1) {
    const left = layout.x[node]!;
    const top = layout.y[node]!;
    if (left <= box.right && left + nodeWidth >= box.left && top <= box.bottom && top + nodeHeight >= box.top) found.push(node);
  }
  return found;
}

/** An edge as points: out of the right side of one node, into the left side of the other. */
export function edgePoints(layout: Layout, from: number, to: number, edge: number): number[] {
  return [layout.x[from]! + nodeWidth, layout.y[from]! + nodeHeight / 2, ...layout.bends[edge]!, layout.x[to]!, layout.y[to]! + nodeHeight / 2];
}

export function crosses(points: number[], box: Box): boolean {
  let left = Infinity;
  let right = -Infinity;
  let top = Infinity;
  let bottom = -Infinity;
  for (let at = 0; at < points.length; at += 2) {
    left = Math.min(left, points[at]!);
    right = Math.max(right, points[at]!);
    top = Math.min(top, points[at + 1]!);
    bottom = Math.max(bottom, points[at + 1]!);
  }
  return left <= box.right && right >= box.left && top <= box.bottom && bottom >= box.top;
}

const short = (value: number): string => (Math.round(value * 10) / 10).toString();

/** The curve of an edge as path data, without the pieces that are outside of the box. */
export function curve(points: number[], box?: Box): string {
  let data = '';
  let joined = false;
  for (let at = 2; at < points.length; at += 2) {
    const [x0, y0, x1, y1] = [points[at - 2]!, points[at - 1]!, points[at]!, points[at + 1]!];
    if (box && !crosses([x0, y0, x1, y1], box)) {
      joined = false;
      continue;
    }
    if (!joined) data += `M${short(x0)} ${short(y0)}`;
    joined = true;
    const middle = (x0 + x1) / 2;
    data += y0 === y1 ? `H${short(x1)}` : `C${short(middle)} ${short(y0)} ${short(middle)} ${short(y1)} ${short(x1)} ${short(y1)}`;
  }
  return data;
}

/** About how long the pieces are that `curve` draws. */
export function lengthOf(points: number[], box: Box): number {
  let length = 0;
  for (let at = 2; at < points.length; at += 2) {
    const piece = points.slice(at - 2, at + 2);
    if (crosses(piece, box)) length += Math.hypot(piece[2]! - piece[0]!, piece[3]! - piece[1]!);
  }
  return length;
}

export function arrow(points: number[]): string {
  const x = short(points[points.length - 2]!);
  const y = points[points.length - 1]!;
  return `M${x} ${short(y)}l-8 -4v8z`;
}

/** The node at a point of the screen. */
export function nodeAt(layout: Layout, view: View, x: number, y: number): number | undefined {
  // A little more than the node itself, so that small marks can be hit.
  const slack = 3 / view.scale;
  const at = { left: (x - view.x) / view.scale, top: (y - view.y) / view.scale };
  return nodesIn(layout, { left: at.left - slack, right: at.left + slack, top: at.top - slack, bottom: at.top + slack })[0];
}

/** The smallest move that brings the node into view. */
export function reveal(layout: Layout, view: View, size: Size, node: number): View {
  const left = layout.x[node]! * view.scale + view.x;
  const top = layout.y[node]! * view.scale + view.y;
  const move = (from: number, to: number, end: number): number => (from < margin ? margin - from : to > end - margin ? Math.max(margin - from, end - margin - to) : 0);
  const x = move(left, left + nodeWidth * view.scale, size.width);
  const y = move(top, top + nodeHeight * view.scale, size.height);
  return x === 0 && y === 0 ? view : pan(view, x, y);
}

export type Direction = 'left' | 'right' | 'up' | 'down';

/** Where an arrow key leads: up and down within the layer, left and right along edges to the nearest node. */
export function neighbour(layout: Layout, from: Int32Array, to: Int32Array, node: number, direction: Direction): number | undefined {
  if (direction === 'up' || direction === 'down') {
    const layer = layout.layers[layout.layerOf[node]!] ?? [];
    return layer[layer.indexOf(node) + (direction === 'up' ? -1 : 1)];
  }
  let best: number | undefined;
  const distance = (other: number): number => Math.abs(layout.y[other]! - layout.y[node]!);
  for (let edge = 0; edge < from.length; edge += 1) {
    const [here, other] = direction === 'right' ? [from[edge]!, to[edge]!] : [to[edge]!, from[edge]!];
    if (here === node && (best === undefined || distance(other) < distance(best))) best = other;
  }
  return best;
}

/** Each state has a shape besides its colour. In a box of nodeWidth by nodeHeight at (x, y). */
export function mark(state: string, x: number, y: number): string {
  const [w, h] = [nodeWidth, nodeHeight];
  const at = `M${short(x)} ${short(y)}`;
  switch (state) {
    case 'completed': return `${at}h${w}v${h}h-${w}z`;
    case 'active': case 'resumable': return `${at}h${w - h / 2}l${h / 2} ${h / 2}l-${h / 2} ${h / 2}h-${w - h / 2}z`;
    case 'failed': case 'expired': return `${at}l${w} ${h}v-${h}l-${w} ${h}z`;
    case 'cancelled': case 'skipped': return `M${short(x)} ${short(y + h * 0.4)}h${w}v${h * 0.2}h-${w}z`;
    default: return `${at}h${w}v${h}h-${w}zm10 10v${h - 20}h${w - 20}v-${h - 20}z`; // a frame: it has not begun
  }
}

/** The same as a sign of 14 by 14. */
export function sign(state: string): string {
  switch (state) {
    case 'completed': return 'M1 7l4 4 8-9';
    case 'active': case 'resumable': return 'M3 1l9 6-9 6z';
    case 'failed': case 'expired': return 'M2 2l10 10M12 2l-10 10';
    case 'cancelled': case 'skipped': return 'M1 7h12';
    case 'waiting_children': return 'M2 2h3v3h-3zM2 9h3v3h-3zM5 3.5l4 3.5-4 3.500';
    case 'delayed': case 'rate_limited': return 'M7 1a6 6 0 1 0 0 12 6 6 0 0 0 0-12M7 3.500v4l2.500 1.500';
    default: return 'M7 1a6 6 0 1 0 0 12 6 6 0 0 0 0-12';
  }
}
