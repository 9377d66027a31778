import { describe, expect, it } from 'vitest';
import type { Event, FlowEdgeInfo, FlowGraph, FlowGroupInfo, FlowNodeInfo, FlowSummary } from '../src/api/types';
import { applyFlowEvent, applyToGraph, drawnEdges, endsOf, findNodes, flowLink, flowOptions, flowsLink, flowUuid, gatesOf, noFlowFilter, parseFlowFilter, progress, sameShape, segments, submittedInto, waitText } from '../src/core/flows';

const id = 'fp7-019b76da-a800-7000-8000-000000000008';
const counts = { total: 4, pending: 1, succeeded: 2, failed: 1, cancelled: 0, expired: 0, skipped: 0 };
const summary: FlowSummary = { flow_id: id, namespace: 'default', kind: 'media', state: 'running', counts, tags: {}, created_at: 10 };
const node = (name: string, more: Partial<FlowNodeInfo> = {}): FlowNodeInfo => ({ name, ordinal: 0, execution_id: `x-${name}`, kind: 'work', lane: 'media', public_state: 'waiting', attempt_count: 0, groups: [], waits_for: [], ...more });
const edge = (from: string, to: string, more: Partial<FlowEdgeInfo> = {}): FlowEdgeInfo => ({ from, to, kind: 'on_success', state: 'waiting', ...more });
const group = (more: Partial<FlowGroupInfo>): FlowGroupInfo => ({ policy: 'all', needed: 2, edges: 2, satisfied: 0, unsatisfiable: 0, state: 'waiting', rest: 'let_run', winners: [], ...more });
const graph: FlowGraph = { summary, nodes: [node('a'), node('b')], edges: [edge('a', 'b')], critical_path: [] };
const event = (more: Partial<Event>): Event => ({ type: 'claimed', cursor: 'c', flow_id: id, at: 50, ...more });

describe('the filter of flows', () => {
  it('is in the address and comes back the same', () => {
    const filter = parseFlowFilter('?state=failed,running&kind=a%26b&namespace=n&tag=a.b=c=d&created_from=5&created_before=6&finished_from=7&finished_before=8');
    expect(filter).toEqual({ state: ['running', 'failed'], kind: 'a&b', namespace: 'n', tag: 'a.b=c=d', created_from: 5, created_before: 6, finished_from: 7, finished_before: 8 });
    expect(parseFlowFilter(flowsLink(filter).split('?')[1] ?? '')).toEqual(filter);
    expect(flowsLink({ state: ['running', 'failed'] })).toBe('/ui/flows?state=running,failed');
  });
  it('ignores what is no filter, also the state that is only shown for a single flow', () => {
    expect(parseFlowFilter('?state=blocked&created_from=soon&kind=')).toEqual(noFlowFilter);
    expect(flowsLink({})).toBe('/ui/flows');
  });
  it('becomes options of the command line', () => {
    expect(flowOptions({ state: ['failed'], kind: 'media', created_from: 5 })).toEqual(['--state', 'failed', '--kind', 'media', '--created-from', '5']);
  });
  it('selects flows that are submitted', () => {
    const submitted = event({ type: 'flow_submitted', namespace: 'default', kind: 'media' });
    expect(submittedInto(noFlowFilter, submitted)).toBe(true);
    expect(submittedInto(noFlowFilter, event({ type: 'flow_completed' }))).toBe(false);
    expect(submittedInto({ state: ['failed'] }, submitted)).toBe(false);
    expect(submittedInto({ state: [], tag: 'a=b' }, submitted)).toBe(false);
    expect(submittedInto({ state: [], kind: 'other' }, submitted)).toBe(false);
    expect(submittedInto({ state: ['running'], created_from: 40, created_before: 51 }, submitted)).toBe(true);
  });
  it('links to nodes with any name', () => {
    expect(flowLink(id)).toBe(`/ui/flows/${id}`);
    expect(flowLink(id, 'a&b/<c>', 'nodes')).toBe(`/ui/flows/${id}?view=nodes&node=a%26b%2F%3Cc%3E`);
    expect(flowUuid(id)).toBe('019b76da-a800-7000-8000-000000000008');
  });
});

describe('progress', () => {
  it('has a part for each count that is not zero', () => {
    expect(segments(counts).map((part) => `${part.value} ${part.name}`)).toEqual(['2 succeeded', '1 failed', '1 not ended']);
    expect(progress(counts)).toBe(75);
    expect(progress({ ...counts, total: 1000, pending: 1 })).toBe(99);
    expect(progress({ ...counts, pending: 0 })).toBe(100);
  });
});

describe('events', () => {
  it('change rows of the list', () => {
    expect(applyFlowEvent(summary, event({ type: 'flow_completed' }))).toMatchObject({ state: 'completed', finished_at: 50 });
    expect(applyFlowEvent(summary, event({ type: 'flow_completed', flow_id: 'other' }))).toBe(summary);
    expect(applyFlowEvent(summary, event({ type: 'claimed' }))).toBe(summary);
    const open: FlowSummary = { ...summary, state: 'building' };
    expect(applyFlowEvent(open, event({ type: 'flow_submitted' }))).toBe(open);
    expect(applyFlowEvent(open, event({ type: 'flow_sealed' }))).toMatchObject({ state: 'running' });
    expect(applyFlowEvent({ ...summary, state: 'failed', finished_at: 3 }, event({ type: 'flow_reopened' }))).not.toHaveProperty('finished_at');
  });
  it('change the states of nodes, and nothing else is made anew', () => {
    const after = applyToGraph(graph, [event({ execution_id: 'x-a', state_after: 'active' }), event({ execution_id: 'x-a', state_after: 'completed', type: 'completed' })]);
    expect(after.nodes.map((entry) => entry.public_state)).toEqual(['completed', 'waiting']);
    expect(after.nodes[1]).toBe(graph.nodes[1]);
    expect(after.edges).toBe(graph.edges);
    expect(applyToGraph(graph, [event({ execution_id: 'x-a', state_after: 'waiting' }), event({ flow_id: 'other', execution_id: 'x-a', state_after: 'failed' })])).toBe(graph);
    expect(applyToGraph(graph, [event({ type: 'flow_cancelling' })]).summary.state).toBe('cancelling');
  });
  it('keep the shape', () => {
    expect(sameShape(graph, applyToGraph(graph, [event({ execution_id: 'x-a', state_after: 'active' })]))).toBe(true);
    expect(sameShape(graph, { ...graph, nodes: [...graph.nodes, node('c')] })).toBe(false);
    expect(sameShape(graph, { ...graph, edges: [edge('b', 'a')] })).toBe(false);
    const ends = endsOf({ ...graph, edges: [edge('gone', 'b'), edge('a', 'b')] }, new Map([['a', 0], ['b', 1]]));
    expect([[...ends.from], [...ends.to], ends.kept.length]).toEqual([[0], [1], 1]);
  });
});

describe('nodes', () => {
  it('are found by name, kind, lane and state', () => {
    const nodes = [node('resize-1', { public_state: 'waiting_children' }), node('Fetch', { kind: 'http', lane: 'net' })];
    expect(findNodes(nodes, ' ').length).toBe(2);
    expect(findNodes(nodes, 'fetch').map((entry) => entry.name)).toEqual(['Fetch']);
    expect(findNodes(nodes, 'RESIZE waiting children').map((entry) => entry.name)).toEqual(['resize-1']);
    expect(findNodes(nodes, 'net http x')).toEqual([]);
  });
  it('say in short what they wait for', () => {
    expect(waitText(node('a'))).toBe('');
    expect(waitText(node('a', { waits_for: ['b'] }))).toBe('b');
    expect(waitText(node('a', { waits_for: ['b', 'c', 'd', 'e'] }))).toBe('b, c and 2 others');
  });
});

describe('gates', () => {
  const stateOf = (name: string): string => ({ good: 'completed', bad: 'failed', skipped: 'skipped' })[name] ?? 'waiting';
  it('show groups with their edges, open ones first', () => {
    const target = node('t', { groups: [group({ satisfied: 1 }), group({ name: 'votes', policy: 'quorum', needed: 2, edges: 3, satisfied: 2, unsatisfiable: 0, state: 'fired', winners: ['v2', 'v1'] })] });
    const gates = gatesOf(target, [edge('good', 't', { state: 'satisfied' }), edge('later', 't'), edge('v1', 't', { group: 'votes', state: 'satisfied' }), edge('v2', 't', { group: 'votes', state: 'satisfied' }), edge('v3', 't', { group: 'votes' })], stateOf);
    expect(gates.map((gate) => [gate.name, gate.edges.map((entry) => entry.from)])).toEqual([['', ['later', 'good']], ['votes', ['v3', 'v1', 'v2']]]);
    expect(gates[0]?.sentence).toBe('Wants all of 2: 1 satisfied, 1 open. 1 more needed.');
    expect(gates[1]?.sentence).toBe('Wants 2 of 3 and has fired: 2 satisfied.');
    expect(gates[1]?.edges.map((entry) => [entry.winner, entry.input])).toEqual([[false, 'none'], [true, 'given'], [true, 'given']]);
  });
  it('say when a group cannot fire any more', () => {
    const target = node('t', { groups: [group({ policy: 'any', needed: 1, unsatisfiable: 2, state: 'impossible' })] });
    const [gate] = gatesOf(target, [edge('bad', 't', { state: 'unsatisfiable' }), edge('skipped', 't', { state: 'unsatisfiable' })], stateOf);
    expect(gate?.sentence).toBe('Wants any of 2 and cannot fire any more: 2 unsatisfiable. The node is skipped.');
    expect(gate?.edges.map((entry) => entry.input)).toEqual(['none', 'none']);
  });
  it('tell of a node that is a flow how many nodes in it have ended', () => {
    const target = node('t', { groups: [group({ name: '(flow)', policy: 'gather', edges: 4, needed: 4, satisfied: 1, unsatisfiable: 1 })] });
    const [gate] = gatesOf(target, [edge('t/(begin)', 't', { kind: 'part', group: '(flow)', state: 'satisfied' })], stateOf);
    expect(gate?.sentence).toBe('It is a flow and ends with the nodes in it: 2 of 4 have ended, 1 with a failure.');
    expect(gate?.edges.map((entry) => entry.input)).toEqual(['none']);
  });
  it('leave edges out of the drawing that follow from others', () => {
    const edges = [edge('a', 't/(begin)'), edge('t/(begin)', 't', { kind: 'part' }), edge('t/(begin)', 't/x', { kind: 'within' }), edge('t/(begin)', 't/y', { kind: 'within' }), edge('t/x', 't/y'), edge('t/x', 't', { kind: 'part' }), edge('t/y', 't', { kind: 'output' }), edge('t', 'z')];
    expect(drawnEdges(edges).map((one) => `${one.from} ${one.to}`)).toEqual(['a t/(begin)', 't/(begin) t/x', 't/x t/y', 't/y t', 't z']);
  });
  it('tell inputs as the table in docs/flows.md', () => {
    const target = node('t', { groups: [group({ edges: 5, needed: 5 })] });
    const edges = [edge('good', 't', { kind: 'optional', state: 'satisfied' }), edge('bad', 't', { kind: 'optional', state: 'satisfied' }), edge('bad', 't', { kind: 'on_finish', state: 'satisfied' }), edge('x', 't'), edge('y', 't', { state: 'unsatisfiable' })];
    const inputs = gatesOf(target, edges, stateOf)[0]?.edges.map((entry) => `${entry.from} ${entry.kind} ${entry.input}`);
    expect(inputs).toEqual(['x on_success open', 'y on_success none', 'good optional given', 'bad optional none', 'bad on_finish given']);
  });
});
