// Flows: the filter of their list, progress, events that change a graph, and what a node waits for.
import type { Event, FlowCounts, FlowEdgeInfo, FlowGraph, FlowGroupInfo, FlowNodeInfo, FlowSummary } from '../api/types';
import { timeFields } from './filters';

export type FlowState = FlowSummary['state'];
/** The states by which flows are listed; `blocked` is only shown for a single flow. */
export const flowStates = ['building', 'running', 'cancelling', 'completed', 'failed', 'cancelled'] as const satisfies readonly FlowState[];
export const endedFlow = (state: string): boolean => ['completed', 'failed', 'cancelled'].includes(state);

export interface FlowFilter {
  state: (typeof flowStates)[number][];
  namespace?: string;
  kind?: string;
  tag?: string;
  created_from?: number;
  created_before?: number;
  finished_from?: number;
  finished_before?: number;
}

export const flowTextFields = ['kind', 'namespace', 'tag'] as const;
export const noFlowFilter: FlowFilter = { state: [] };

export function parseFlowFilter(search: string): FlowFilter {
  const query = new URLSearchParams(search);
  const wanted = new Set((query.get('state') ?? '').split(','));
  const filter: FlowFilter = { state: flowStates.filter((state) => wanted.has(state)) };
  for (const field of flowTextFields) {
    const value = query.get(field)?.trim();
    if (value) filter[field] = value;
  }
  for (const field of timeFields) {
    const value = query.get(field);
    if (value && /^\d+$/.test(value)) filter[field] = Number(value);
  }
  return filter;
}

export function flowQuery(filter: FlowFilter): URLSearchParams {
  const query = new URLSearchParams();
  if (filter.state.length > 0) query.set('state', filter.state.join(','));
  for (const field of [...flowTextFields, ...timeFields]) {
    const value = filter[field];
    if (value !== undefined && value !== '') query.set(field, String(value));
  }
  return query;
}

export function flowsLink(filter: Partial<FlowFilter>): string {
  const query = flowQuery({ ...noFlowFilter, ...filter }).toString().replaceAll('%2C', ',');
  return query ? `/ui/flows?${query}` : '/ui/flows';
}

export type FlowTab = 'graph' | 'nodes' | 'result' | 'events';

/** The page of a flow, with a node selected. */
export function flowLink(id: string, node?: string, view: FlowTab = 'graph'): string {
  const query = new URLSearchParams();
  if (view !== 'graph') query.set('view', view);
  if (node !== undefined) query.set('node', node);
  const text = query.toString();
  return `/ui/flows/${encodeURIComponent(id)}${text ? `?${text}` : ''}`;
}

/** The filter of executions takes the UUID without the partition. */
export const flowUuid = (id: string): string => id.replace(/^fp\d+-/, '');

/** The options of `flowfabric flows list`. */
export function flowOptions(filter: FlowFilter): string[] {
  const words = filter.state.length > 0 ? ['--state', filter.state.join(',')] : [];
  for (const field of [...flowTextFields, ...timeFields]) {
    const value = filter[field];
    if (value !== undefined && value !== '') words.push(`--${field.replaceAll('_', '-')}`, String(value));
  }
  return words;
}

export interface Segment { state: string; name: string; value: number }

/** The counts of a flow as parts of a bar. */
export function segments(counts: FlowCounts): Segment[] {
  const all: Segment[] = [
    { state: 'completed', name: 'succeeded', value: counts.succeeded },
    { state: 'failed', name: 'failed', value: counts.failed },
    { state: 'expired', name: 'expired', value: counts.expired },
    { state: 'cancelled', name: 'cancelled', value: counts.cancelled },
    { state: 'skipped', name: 'skipped', value: counts.skipped },
    { state: 'open', name: 'not ended', value: counts.pending },
  ];
  return all.filter((segment) => segment.value > 0);
}

/** In whole percent; 100 only if all nodes have ended. */
export function progress(counts: FlowCounts): number {
  return counts.total === 0 ? 100 : Math.floor(((counts.total - counts.pending) * 100) / counts.total);
}

const flowStateAfter: Partial<Record<Event['type'], FlowState>> = {
  flow_sealed: 'running', flow_cancelling: 'cancelling', flow_completed: 'completed', flow_failed: 'failed', flow_cancelled: 'cancelled', flow_reopened: 'running',
};
/** A submission tells of a new flow. It is no change of state: the flow may be open. */
export const flowEventTypes = ['flow_submitted', ...Object.keys(flowStateAfter)].join(',');

/** A flow that was just submitted belongs into the list. Tags are not in events, so a tag never matches. */
export function submittedInto(filter: FlowFilter, event: Event): boolean {
  if (event.type !== 'flow_submitted' || filter.tag || filter.finished_from || filter.finished_before) return false;
  const at = event.at ?? 0;
  return (filter.state.length === 0 || filter.state.includes('running'))
    && (!filter.namespace || filter.namespace === event.namespace)
    && (!filter.kind || filter.kind === event.kind)
    && (filter.created_from === undefined || at >= filter.created_from)
    && (filter.created_before === undefined || at < filter.created_before);
}

/** The row after the event; the same object if it changes nothing. */
export function applyFlowEvent(row: FlowSummary, event: Event): FlowSummary {
  const state = flowStateAfter[event.type];
  if (event.flow_id !== row.flow_id || !state || state === row.state) return row;
  const next: FlowSummary = { ...row, state };
  if (endedFlow(state)) next.finished_at = event.at;
  else delete next.finished_at;
  return next;
}

/** The graph with the states that the events tell. Gates are not in events: they come with the next reading. */
export function applyToGraph(graph: FlowGraph, events: readonly Event[]): FlowGraph {
  const states = new Map<string, FlowNodeInfo['public_state']>();
  for (const event of events)
    if (event.flow_id === graph.summary.flow_id && event.execution_id && event.state_after) states.set(event.execution_id, event.state_after);
  let changed = false;
  const nodes = graph.nodes.map((node) => {
    const state = states.get(node.execution_id);
    if (state === undefined || state === node.public_state) return node;
    changed = true;
    return { ...node, public_state: state };
  });
  const summary = events.reduce(applyFlowEvent, graph.summary);
  return changed || summary !== graph.summary ? { ...graph, nodes, summary } : graph;
}

/** Whether both have the same nodes and edges, so that a drawing of one can be kept for the other. */
export function sameShape(a: FlowGraph, b: FlowGraph): boolean {
  return a.nodes.length === b.nodes.length && a.edges.length === b.edges.length
    && a.nodes.every((node, index) => node.name === b.nodes[index]?.name)
    && a.edges.every((edge, index) => edge.from === b.edges[index]?.from && edge.to === b.edges[index]?.to);
}

export interface Ends { from: Int32Array; to: Int32Array; kept: FlowEdgeInfo[] }

/** All edges but those that follow from others: every node in a flow waits for its begin, and the node that is the flow waits for every node in it. */
export function drawnEdges(edges: readonly FlowEdgeInfo[]): FlowEdgeInfo[] {
  const inner = new Set<FlowEdgeInfo['kind']>(['within', 'part', 'output']);
  const others = new Set(edges.filter((edge) => !inner.has(edge.kind)).map((edge) => edge.to));
  return edges.filter((edge) => edge.kind !== 'part' && (edge.kind !== 'within' || !others.has(edge.to)));
}

/** Edges by the numbers of their nodes. Edges of unknown nodes, which a server does not send, are left out. */
export function endsOf(graph: FlowGraph, numbers: ReadonlyMap<string, number>): Ends {
  const kept = drawnEdges(graph.edges).filter((edge) => numbers.has(edge.from) && numbers.has(edge.to));
  return { kept, from: Int32Array.from(kept, (edge) => numbers.get(edge.from) ?? 0), to: Int32Array.from(kept, (edge) => numbers.get(edge.to) ?? 0) };
}

export function countStates(nodes: readonly FlowNodeInfo[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(node.public_state, (counts.get(node.public_state) ?? 0) + 1);
  return [...counts];
}

/** Nodes whose name, kind, lane or state contains every word. */
export function findNodes(nodes: readonly FlowNodeInfo[], text: string): readonly FlowNodeInfo[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return nodes;
  return nodes.filter((node) => {
    const about = `${node.name}\n${node.kind}\n${node.lane}\n${node.public_state.replaceAll('_', ' ')}`.toLowerCase();
    return wanted.every((word) => about.includes(word));
  });
}

/** given: it comes with a claim. open: it may still come. none: it will not come. */
export type InputState = 'given' | 'open' | 'none';

export interface GateEdge {
  from: string;
  kind: FlowEdgeInfo['kind'];
  state: FlowEdgeInfo['state'];
  winner: boolean;
  input: InputState;
}

export interface Gate {
  name: string;
  group: FlowGroupInfo;
  sentence: string;
  edges: GateEdge[]; // open ones first
}

const wants = (group: FlowGroupInfo): string =>
  group.policy === 'all' ? `all of ${group.edges}` : group.policy === 'any' ? `any of ${group.edges}` : `${group.needed} of ${group.edges}`;

function sentenceOf(group: FlowGroupInfo): string {
  const open = group.edges - group.satisfied - group.unsatisfiable;
  if (group.policy === 'gather') return `It is a flow and ends with the nodes in it: ${group.edges - open} of ${group.edges} have ended${group.unsatisfiable > 0 ? `, ${group.unsatisfiable} with a failure` : ''}.`;
  if (group.state === 'fired') return `Wants ${wants(group)} and has fired: ${group.satisfied} satisfied.`;
  if (group.state === 'impossible') return `Wants ${wants(group)} and cannot fire any more: ${group.unsatisfiable} unsatisfiable. The node is skipped.`;
  return `Wants ${wants(group)}: ${group.satisfied} satisfied, ${open} open${group.unsatisfiable > 0 ? `, ${group.unsatisfiable} unsatisfiable` : ''}. ${Math.max(0, group.needed - group.satisfied)} more needed.`;
}

/** docs/flows.md, Inputs: an optional edge gives one only after a success; of any and quorum only winners do. */
function inputOf(edge: FlowEdgeInfo, group: FlowGroupInfo, upstream: string | undefined): InputState {
  if (edge.state === 'unsatisfiable' || edge.kind === 'within' || edge.kind === 'part' || edge.kind === 'output') return 'none';
  const choosy = group.policy !== 'all';
  if (edge.state === 'waiting') return group.state === 'waiting' || !choosy ? 'open' : 'none';
  if (edge.kind === 'optional' && upstream !== undefined && upstream !== 'completed') return 'none';
  if (!choosy || group.winners.includes(edge.from)) return 'given';
  return group.state === 'waiting' ? 'open' : 'none';
}

const edgeRank: Record<FlowEdgeInfo['state'], number> = { waiting: 0, unsatisfiable: 1, satisfied: 2 };

/** The gates of a node: its groups with their edges. `incoming` are the edges to it, `stateOf` tells the state of a node. */
export function gatesOf(node: FlowNodeInfo, incoming: readonly FlowEdgeInfo[], stateOf: (name: string) => string | undefined): Gate[] {
  return node.groups.map((group) => {
    const winners = new Set(group.winners);
    const edges = incoming.filter((edge) => (edge.group ?? '') === (group.name ?? '')).map((edge): GateEdge => ({
      from: edge.from, kind: edge.kind, state: edge.state, winner: winners.has(edge.from), input: inputOf(edge, group, stateOf(edge.from)),
    }));
    return { name: group.name ?? '', group, sentence: sentenceOf(group), edges: edges.sort((a, b) => edgeRank[a.state] - edgeRank[b.state]) };
  });
}

/** What a node still waits for, in a few words, for a row of a table. */
export function waitText(node: FlowNodeInfo): string {
  if (node.waits_for.length === 0) return '';
  const [first, second, ...more] = node.waits_for;
  return [first, second].filter((name) => name !== undefined).join(', ') + (more.length > 0 ? ` and ${more.length}${node.waits_for.length >= 20 ? ' or more' : ''} others` : '');
}
