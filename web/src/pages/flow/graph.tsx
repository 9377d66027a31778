// The graph of a flow. Only what is in view is drawn: nodes with their names when these can be read, else as marks that are merged
// into one path for each state. Edges are always merged. So the number of elements has a limit, whatever the size of the flow.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FlowEdgeInfo, FlowGraph } from '../../api/types';
import { countStates, endsOf, findNodes, sameShape } from '../../core/flows';
import { count, plural } from '../../core/format';
import { visibleLine } from '../../core/bytes';
import { layOut, nodeHeight, nodeWidth, type Layout } from '../../core/layout';
import { arrow, contains, crosses, curve, edgePoints, fit, grown, lengthOf, mark, mostDetailed, neighbour, nodeAt, nodesIn, pan, reveal, seen, sign, textScale, zoom, type Box, type Direction, type Size, type View } from '../../core/graph-view';
import { words } from '../../ui/basic';
import { useShortcuts } from '../../ui/keyboard';

interface Shape { graph: FlowGraph; numbers: Map<string, number>; from: Int32Array; to: Int32Array; layout: Layout; points: number[][] }

function shapeOf(graph: FlowGraph): Shape {
  const numbers = new Map(graph.nodes.map((node, index) => [node.name, index]));
  const { from, to } = endsOf(graph, numbers);
  const layout = layOut(graph.nodes.length, from, to);
  const points = Array.from(from, (source, edge) => edgePoints(layout, source, to[edge]!, edge));
  return { graph, numbers, from, to, layout, points };
}

/** The drawing stays as it is while only states change. */
function useShape(graph: FlowGraph): Shape {
  const kept = useRef<Shape>();
  if (!kept.current || !sameShape(kept.current.graph, graph)) kept.current = shapeOf(graph);
  return kept.current;
}

function useSize(element: { current: HTMLElement | null }): Size | undefined {
  const [size, setSize] = useState<Size>();
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const measure = (): void => setSize((old) => (old?.width === target.clientWidth && old.height === target.clientHeight ? old : { width: target.clientWidth, height: target.clientHeight }));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    return () => observer.disconnect();
  }, []);
  return size;
}

interface Window { shape: Shape; box: Box; scale: number; readable: boolean; detailed: boolean; nodes: number[] }

/** What is drawn: the view and a margin. It is kept while the view moves within it. */
function useWindow(shape: Shape, view: View | undefined, size: Size | undefined): Window | undefined {
  const kept = useRef<Window>();
  if (!view || !size) return undefined;
  const old = kept.current;
  const shown = seen(view, size);
  const readable = view.scale >= textScale;
  if (old && old.shape === shape && old.readable === readable && contains(old.box, shown) && view.scale < old.scale * 1.3) return old;
  const box = grown(shown, 0.25);
  const nodes = nodesIn(shape.layout, box);
  kept.current = { shape, box, scale: view.scale, readable, detailed: readable && nodes.length <= mostDetailed, nodes };
  return kept.current;
}

interface Props { graph: FlowGraph; selected: string | undefined; onSelect: (name: string | undefined) => void; openPanel: () => void }

const zoomStep = 1.3;
const arrows: Record<string, Direction> = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' };

export function Graph({ graph, selected, onSelect, openPanel }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const shape = useShape(graph);
  const size = useSize(element);
  const [moved, setMoved] = useState<View>();
  const [critical, setCritical] = useState(true);
  // Until somebody moves it, the drawing fits.
  const view = moved ?? (size ? fit(shape.layout, size) : undefined);
  const current = useRef({ view, size });
  current.current = { view, size };
  const change = (next: (view: View, size: Size) => View): void => {
    const { view: from, size: within } = current.current;
    if (from && within) setMoved(next(from, within));
  };
  useEffect(() => setMoved(undefined), [shape]);
  useWheel(element, change);
  const at = selected === undefined ? undefined : shape.numbers.get(selected);
  // A link to a node of a large flow shows the node, not the whole.
  const linked = useRef(selected !== undefined);
  useEffect(() => {
    if (at === undefined || !size) return;
    const far = linked.current;
    linked.current = false;
    change((from) => (far && from.scale < textScale ? centre(shape.layout, at, size) : reveal(shape.layout, from, size, at)));
  }, [at, size?.width, shape]);
  const zoomBy = (factor: number): void => change((from, within) => zoom(from, factor, within.width / 2, within.height / 2));
  useShortcuts([
    { keys: '+', text: 'zoom in', run: () => zoomBy(zoomStep) },
    { keys: '-', text: 'zoom out', run: () => zoomBy(1 / zoomStep) },
    { keys: '0', text: 'show the whole graph', run: () => setMoved(undefined) },
  ]);
  const onKey = (event: KeyboardEvent): void => {
    const direction = arrows[event.key];
    if (direction && event.shiftKey) change((from) => pan(from, direction === 'left' ? 80 : direction === 'right' ? -80 : 0, direction === 'up' ? 80 : direction === 'down' ? -80 : 0));
    else if (direction) {
      const next = at === undefined ? shape.layout.layers[0]?.[0] : neighbour(shape.layout, shape.from, shape.to, at, direction);
      if (next !== undefined) onSelect(graph.nodes[next]?.name);
    } else if (event.key === 'Enter' && at !== undefined) openPanel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const drag = useDrag(change, (x, y) => {
    const { view: shown } = current.current;
    const hit = shown ? nodeAt(shape.layout, shown, x, y) : undefined;
    onSelect(hit === undefined ? undefined : graph.nodes[hit]?.name);
  });
  const win = useWindow(shape, view, size);
  const drawing = useMemo(() => (win ? <Drawing window={win} graph={graph} selected={at} critical={critical} /> : null), [win, graph, at, critical]);
  const node = at === undefined ? undefined : graph.nodes[at];
  const find = (text: string): void => {
    const name = nextMatch(graph, text, selected);
    const found = name === undefined ? undefined : shape.numbers.get(name);
    if (found === undefined) return;
    onSelect(name);
    change((from, within) => (from.scale < textScale ? centre(shape.layout, found, within) : reveal(shape.layout, from, within, found)));
  };
  return (
    <div class="fg">
      <div class="fg-tools">
        <Find graph={graph} find={find} />
        <span class="grow" />
        <button type="button" class="button small" aria-pressed={critical} title="The chain of nodes that determined the time" onClick={() => setCritical(!critical)}>Critical path</button>
        <button type="button" class="button small" aria-label="Zoom out" title="Zoom out (-)" onClick={() => zoomBy(1 / zoomStep)}>−</button>
        <button type="button" class="button small" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomBy(zoomStep)}>+</button>
        <button type="button" class="button small" title="Show the whole graph (0)" onClick={() => setMoved(undefined)}>Fit</button>
      </div>
      <div class="fg-canvas" ref={element} tabIndex={0} role="application" aria-label={`Graph: ${plural(graph.nodes.length, 'node')}, ${plural(graph.edges.length, 'edge')}`} aria-describedby="fg-help" onKeyDown={onKey} {...drag}>
        <svg aria-hidden="true" data-detailed={win?.detailed ?? false} data-scale={view?.scale.toFixed(3)}>
          <defs><clipPath id="fg-clip"><rect x="28" width={nodeWidth - 34} height={nodeHeight} /></clipPath></defs>
          <g transform={view ? `translate(${view.x} ${view.y}) scale(${view.scale})` : undefined}>{drawing}</g>
        </svg>
      </div>
      <p class="hidden-text" id="fg-help">Arrow keys go from node to node: left and right along edges, up and down within a layer. Enter goes to the description of the node. The list of nodes has the same as text.</p>
      <p class="hidden-text" aria-live="polite">{node ? `${visibleLine(node.name)}, ${words(node.public_state)}${node.waits_for.length > 0 ? `, waits for ${node.waits_for.map(visibleLine).join(', ')}` : ''}` : ''}</p>
      <Legend graph={graph} />
    </div>
  );
}

function centre(layout: Layout, node: number, size: Size): View {
  const scale = 0.8;
  return { scale, x: size.width / 2 - (layout.x[node]! + nodeWidth / 2) * scale, y: size.height / 2 - (layout.y[node]! + nodeHeight / 2) * scale };
}

/** The match after the node that is selected, so that Enter goes from one to the next. */
function nextMatch(graph: FlowGraph, text: string, selected: string | undefined): string | undefined {
  if (text.trim() === '') return undefined;
  const found = findNodes(graph.nodes, text);
  const at = found.findIndex((node) => node.name === selected);
  return found[(at + 1) % Math.max(1, found.length)]?.name;
}

function Find({ graph, find }: { graph: FlowGraph; find: (text: string) => void }) {
  const [text, setText] = useState('');
  const matches = useMemo(() => (text.trim() === '' ? undefined : findNodes(graph.nodes, text).length), [graph, text]);
  return (
    <form class="row" role="search" aria-label="Nodes" onSubmit={(event) => { event.preventDefault(); find(text); }}>
      <input class="fg-find" aria-label="Find a node" placeholder="Find a node: name, kind, state" value={text} onInput={(event) => setText(event.currentTarget.value)} autoComplete="off" spellcheck={false} />
      <span class="muted nowrap">{matches === undefined ? '' : matches === 0 ? 'no match' : `${count(matches)} · Enter for the next`}</span>
    </form>
  );
}

type Change = (next: (view: View, size: Size) => View) => void;

/** Wheels zoom. The browser has to be told that the page shall not scroll, which listeners of Preact cannot. */
function useWheel(element: { current: HTMLElement | null }, change: Change): void {
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const box = target.getBoundingClientRect();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const amount = Math.max(-240, Math.min(240, event.deltaY * lines));
      latest.current((view) => zoom(view, Math.exp(-amount * 0.002), event.clientX - box.left, event.clientY - box.top));
    };
    target.addEventListener('wheel', onWheel, { passive: false });
    return () => target.removeEventListener('wheel', onWheel);
  }, []);
}

/** Dragging pans; a press without a move is a click. */
function useDrag(change: Change, click: (x: number, y: number) => void) {
  const start = useRef<{ x: number; y: number; far: boolean }>();
  return {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return;
      start.current = { x: event.clientX, y: event.clientY, far: false };
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent): void => {
      const from = start.current;
      if (!from) return;
      const [x, y] = [event.clientX - from.x, event.clientY - from.y];
      if (!from.far && Math.hypot(x, y) < 4) return;
      start.current = { x: event.clientX, y: event.clientY, far: true };
      change((view) => pan(view, x, y));
    },
    onPointerUp: (event: PointerEvent): void => {
      const from = start.current;
      start.current = undefined;
      if (!from || from.far) return;
      const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
      click(event.clientX - box.left, event.clientY - box.top);
    },
    onPointerCancel: (): void => { start.current = undefined; },
  };
}

/** With more edges in view, an even sample of them is drawn: no eye can follow so many. */
const mostEdges = 4000;
/** When the edges in view are longer than this, in pixels, none is dashed: browsers need seconds for so many dashes. Colours remain. */
const mostDashed = 20_000;

interface Line { edge: number; look: string }

function linesIn({ shape, box }: Window, edges: readonly FlowEdgeInfo[], onPath: ReadonlySet<string>, selected: number | undefined): Line[] {
  const lines: Line[] = [];
  for (let edge = 0; edge < edges.length; edge += 1) {
    if (!crosses(shape.points[edge]!, box)) continue;
    const { from, to, state } = edges[edge]!;
    const chosen = selected !== undefined && (shape.from[edge] === selected || shape.to[edge] === selected);
    lines.push({ edge, look: onPath.has(`${from}\n${to}`) ? 'critical' : chosen ? `chosen ${state}` : state });
  }
  const step = Math.ceil(lines.length / mostEdges);
  return step <= 1 ? lines : lines.filter((line, index) => index % step === 0 || line.look === 'critical');
}

function Drawing({ window: win, graph, selected, critical }: { window: Window; graph: FlowGraph; selected: number | undefined; critical: boolean }) {
  const { shape, detailed } = win;
  const path = critical ? graph.critical_path : [];
  const onPath = new Set(path.slice(1).map((name, index) => `${path[index]}\n${name}`));
  const pathNodes = new Set(path);
  const edges = useMemo(() => endsOf(graph, shape.numbers).kept, [graph, shape]);
  const data = new Map<string, { curves: string; heads: string }>();
  const lines = linesIn(win, edges, onPath, selected);
  const length = lines.reduce((all, { edge }) => all + lengthOf(shape.points[edge]!, win.box) * win.scale, 0);
  const thin = !detailed || length > mostDashed;
  for (const { edge, look } of lines) {
    const entry = data.get(look) ?? { curves: '', heads: '' };
    entry.curves += curve(shape.points[edge]!, win.box);
    if (detailed) entry.heads += arrow(shape.points[edge]!);
    data.set(look, entry);
  }
  const looks = [...data.keys()].sort((a, b) => rank(a) - rank(b));
  return (
    <>
      {looks.map((look) => <path key={look} class={`fg-edge ${look} ${thin ? 'thin' : ''}`} d={data.get(look)?.curves} />)}
      {detailed ? looks.map((look) => <path key={`head ${look}`} class={`fg-head ${look}`} d={data.get(look)?.heads} />) : null}
      {detailed ? win.nodes.map((node) => <Node key={node} shape={shape} graph={graph} node={node} critical={pathNodes.has(graph.nodes[node]?.name ?? '')} />) : <Marks window={win} graph={graph} pathNodes={pathNodes} />}
      {selected === undefined ? null : <rect class="fg-selected" x={shape.layout.x[selected]! - 4} y={shape.layout.y[selected]! - 4} width={nodeWidth + 8} height={nodeHeight + 8} rx="8" />}
    </>
  );
}

const rank = (look: string): number => (look === 'critical' ? 3 : look.startsWith('chosen') ? 2 : look === 'satisfied' ? 0 : 1);

const mostLetters = 21;
const cut = (text: string): string => (text.length > mostLetters ? `${text.slice(0, mostLetters - 1)}…` : text);

function Node({ shape, graph, node, critical }: { shape: Shape; graph: FlowGraph; node: number; critical: boolean }) {
  const info = graph.nodes[node];
  if (!info) return null;
  const name = visibleLine(info.name);
  return (
    <g class={critical ? 'fg-node critical' : 'fg-node'} data-node={info.name} data-state={info.public_state} transform={`translate(${shape.layout.x[node]!} ${shape.layout.y[node]!})`}>
      <title>{name}</title>
      <rect width={nodeWidth} height={nodeHeight} rx="5" />
      <path class="sign" d={sign(info.public_state)} transform="translate(9 13)" />
      <text x="31" y="17" clip-path={name.length > 12 ? 'url(#fg-clip)' : undefined}>{cut(name)}</text>
      <text class="state" x="31" y="32">{words(info.public_state)}</text>
    </g>
  );
}

function Marks({ window: win, graph, pathNodes }: { window: Window; graph: FlowGraph; pathNodes: ReadonlySet<string> }) {
  const { layout } = win.shape;
  const byState = new Map<string, string>();
  let ground = '';
  let outline = '';
  for (const node of win.nodes) {
    const info = graph.nodes[node];
    if (!info) continue;
    ground += `M${layout.x[node]!} ${layout.y[node]!}h${nodeWidth}v${nodeHeight}h-${nodeWidth}z`;
    byState.set(info.public_state, (byState.get(info.public_state) ?? '') + mark(info.public_state, layout.x[node]!, layout.y[node]!));
    if (pathNodes.has(info.name)) outline += `M${layout.x[node]! - 5} ${layout.y[node]! - 5}h${nodeWidth + 10}v${nodeHeight + 10}h-${nodeWidth + 10}z`;
  }
  return (
    <>
      <path class="fg-ground" d={ground} />
      {[...byState].map(([state, data]) => <path key={state} class="fg-mark" data-state={state} fill-rule="evenodd" d={data} />)}
      {outline ? <path class="fg-outline" d={outline} /> : null}
    </>
  );
}

function Legend({ graph }: { graph: FlowGraph }) {
  const states = useMemo(() => countStates(graph.nodes), [graph]);
  const edges = useMemo(() => new Set(graph.edges.map((edge) => edge.state)), [graph]);
  return (
    <div class="fg-legend">
      {states.map(([state, value]) => <span key={state} data-state={state}><svg width="14" height="14" aria-hidden="true"><path class="sign" d={sign(state)} /></svg>{words(state)} <b>{count(value)}</b></span>)}
      <i />
      {[...edges].sort().map((state) => <span key={state}><svg width="26" height="8" aria-hidden="true"><path class={`fg-edge ${state}`} d="M1 4h24" /></svg>{edgeWords[state]}</span>)}
      {graph.edges.length > mostEdges ? <span>of more than {count(mostEdges)} edges in view, a sample is drawn</span> : null}
      {graph.critical_path.length > 1 ? <span><svg width="26" height="8" aria-hidden="true"><path class="fg-edge critical" d="M1 4h24" /></svg>critical path</span> : null}
    </div>
  );
}

const edgeWords: Record<FlowEdgeInfo['state'], string> = { waiting: 'edge open', satisfied: 'edge satisfied', unsatisfiable: 'edge unsatisfiable' };
