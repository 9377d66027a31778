// One node of a flow: its state, and for each group of its incoming edges what it waits for.
import type { ComponentChildren, Ref } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { FlowEdgeInfo, FlowGraph, FlowNodeInfo } from '../../api/types';
import { gatesOf, type Gate, type GateEdge } from '../../core/flows';
import { duration, plural } from '../../core/format';
import { visible, visibleLine } from '../../core/bytes';
import { sign } from '../../core/graph-view';
import { now } from '../../live/visibility';
import { Icon, StateBadge, Text, Time, words } from '../../ui/basic';

interface Props { graph: FlowGraph; node: FlowNodeInfo; select: (name: string) => void; close: () => void; replay: (() => void) | undefined; heading: Ref<HTMLHeadingElement> }

const executionLink = (id: string): string => `/ui/executions/${encodeURIComponent(id)}`;

export function NodePanel({ graph, node, select, close, replay, heading }: Props) {
  const states = useMemo(() => new Map(graph.nodes.map((other) => [other.name, other.public_state])), [graph]);
  const incoming = useMemo(() => graph.edges.filter((edge) => edge.to === node.name), [graph, node.name]);
  const outgoing = useMemo(() => graph.edges.filter((edge) => edge.from === node.name), [graph, node.name]);
  const gates = useMemo(() => gatesOf(node, incoming, (name) => states.get(name)), [node, incoming, states]);
  const fact = (name: string, value: ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;
  const took = node.started_at === undefined ? undefined : (node.finished_at ?? Math.max(now.value, node.started_at)) - node.started_at;
  return (
    <aside class="panel fl-panel" aria-label="Node">
      <div class="panel-head"><h2 ref={heading} tabIndex={-1}><Text>{node.name}</Text></h2><StateBadge state={node.public_state} /><button type="button" class="button plain small" aria-label="Close the node" onClick={close}><Icon name="close" /></button></div>
      <div class="panel-body stack" tabIndex={0} role="group" aria-label="About the node">
        <div class="row">
          <a class="button" href={executionLink(node.execution_id)}>Open the execution</a>
          {replay ? <button type="button" class="button" onClick={replay}>Replay from here …</button> : null}
        </div>
        <dl class="run-facts">
          {fact('kind', <Text>{node.kind}</Text>)}
          {fact('lane', <Text>{node.lane}</Text>)}
          {fact('attempts', node.attempt_count)}
          {node.started_at !== undefined ? fact('started', <Time at={node.started_at} ms />) : null}
          {node.finished_at !== undefined ? fact('finished', <Time at={node.finished_at} ms />) : null}
          {took !== undefined ? fact(node.finished_at === undefined ? 'runs for' : 'took', duration(Math.max(0, took))) : null}
          {graph.critical_path.includes(node.name) ? fact('time', 'on the critical path') : null}
        </dl>
        {node.failure ? <div class="note error fl-failure"><div class="grow"><b><Text>{node.failure.category}</Text></b>{node.failure.message ? <div>{visible(node.failure.message)}</div> : null}</div></div> : null}
        <h3>Waits for</h3>
        {gates.length === 0 ? <p class="muted">Nothing: it has no incoming edges.</p> : gates.map((gate) => <GateView key={gate.name} gate={gate} select={select} />)}
        {gates.length > 0 ? <Inputs gates={gates} /> : null}
        <h3>Leads to</h3>
        {outgoing.length === 0 ? <p class="muted">Nothing: it has no outgoing edges. Its result is part of the result of the flow.</p> : <Outgoing edges={outgoing} states={states} select={select} />}
      </div>
    </aside>
  );
}

const gateTones: Record<string, string> = { waiting: 'waiting', fired: 'completed', impossible: 'failed' };
const edgeTones: Record<string, string> = { waiting: 'waiting', satisfied: 'completed', unsatisfiable: 'failed' };
const edgeSigns: Record<string, string> = { waiting: 'waiting', satisfied: 'completed', unsatisfiable: 'failed' };
const mostShown = 30;

function useShort<T>(all: readonly T[], what: string): { shown: readonly T[]; rest: ComponentChildren } {
  const [open, setOpen] = useState(false);
  const shown = open ? all.slice(0, 1000) : all.slice(0, mostShown);
  return { shown, rest: shown.length < all.length && !open ? <button type="button" class="button small" onClick={() => setOpen(true)}>Show all {plural(all.length, what)}</button> : null };
}

function GateView({ gate, select }: { gate: Gate; select: (name: string) => void }) {
  const { shown, rest } = useShort(gate.edges, 'edge');
  return (
    <section class="fl-gate" data-state={gateTones[gate.group.state]} aria-label={gate.name ? `Group ${visibleLine(gate.name)}` : 'Default group'}>
      <div class="row"><b class="grow clip">{gate.name ? <>Group <Text>{gate.name}</Text></> : 'Default group'}</b><span class="badge" data-state={gateTones[gate.group.state]}>{gate.group.state}</span></div>
      <p>{gate.sentence}{gate.group.rest === 'cancel_remaining' ? ' The rest is then cancelled.' : ''}</p>
      <ul>{shown.map((edge) => <EdgeLine key={edge.from} edge={edge} select={select} />)}</ul>
      {rest}
    </section>
  );
}

const EdgeSign = ({ state }: { state: FlowEdgeInfo['state'] }) => <svg class="fl-sign" data-state={edgeTones[state]} width="14" height="14" aria-hidden="true"><path class="sign" d={sign(edgeSigns[state] ?? '')} /></svg>;

const EdgeLine = ({ edge, select }: { edge: GateEdge; select: (name: string) => void }) => (
  <li data-edge={edge.state}>
    <EdgeSign state={edge.state} />
    <button type="button" class="fl-name" onClick={() => select(edge.from)}><Text>{edge.from}</Text></button>
    <span class="muted nowrap">{words(edge.kind)}: {edge.state === 'waiting' ? 'open' : edge.state}{edge.winner ? ', winner' : ''}</span>
  </li>
);

/** Inputs that are there, that may still come, and that will not come. */
function Inputs({ gates }: { gates: Gate[] }) {
  const names = (state: GateEdge['input']): string[] => [...new Set(gates.flatMap((gate) => gate.edges).filter((edge) => edge.input === state).map((edge) => edge.from))];
  const line = (title: string, list: string[]) => (list.length === 0 ? null : <><dt>{title}</dt><dd><Text>{list.slice(0, mostShown).join(', ')}</Text>{list.length > mostShown ? ` and ${list.length - mostShown} more` : ''}</dd></>);
  return (
    <>
      <h3>Inputs</h3>
      <dl class="run-facts" aria-label="Inputs">
        {line('given', names('given'))}
        {line('missing', names('open'))}
        {line('will not come', names('none'))}
      </dl>
    </>
  );
}

function Outgoing({ edges, states, select }: { edges: FlowEdgeInfo[]; states: ReadonlyMap<string, string>; select: (name: string) => void }) {
  const { shown, rest } = useShort(edges, 'edge');
  return (
    <div class="fl-gate">
      <ul>{shown.map((edge) => (
        <li key={`${edge.to} ${edge.group ?? ''}`}>
          <EdgeSign state={edge.state} />
          <button type="button" class="fl-name" onClick={() => select(edge.to)}><Text>{edge.to}</Text></button>
          <span class="muted nowrap">{words(edge.kind)}, {words(states.get(edge.to) ?? '')}</span>
        </li>
      ))}</ul>
      {rest}
    </div>
  );
}
