// The page of one flow: its state, its graph, its nodes, what it returned and what happened to it.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import './flow.css';
import { flowPath, get, type ApiError } from '../../api/client';
import type { FlowDescription, FlowGraph, FlowGraphReply } from '../../api/types';
import { filterLink } from '../../core/filters';
import { applyToGraph, endedFlow, flowEventTypes, flowLink, flowsLink, flowUuid, progress, segments, type FlowTab } from '../../core/flows';
import { count, duration, plural } from '../../core/format';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { navigate, place } from '../../live/router';
import { now } from '../../live/visibility';
import type { PageProps } from '../../page';
import { Copy, Empty, Problem, StateBadge, Tags, Text, Time, words } from '../../ui/basic';
import { FlowBar } from '../../ui/flow-bar';
import { useShortcuts } from '../../ui/keyboard';
import { showRaw } from '../../ui/raw';
import { canReplay, FlowActions, replayFlow } from './actions';
import { Graph } from './graph';
import { FlowEvents, FlowOutputs } from './more';
import { NodeTable } from './nodes';
import { NodePanel } from './panel';

interface Loaded { about: FlowDescription; graph: FlowGraph }

async function load(id: string, abort: AbortSignal): Promise<Loaded> {
  const [about, reply] = await Promise.all([get<FlowDescription>(flowPath(id), undefined, abort), get<FlowGraphReply>(`${flowPath(id)}/graph`, undefined, abort)]);
  if (!reply.graph) throw new Error('the server sent no graph');
  return { about, graph: reply.graph };
}

/** A graph of thousands of nodes is read less often; events change the states of its nodes meanwhile. */
const pauseFor = (nodes: number): number => Math.max(300, nodes);

function useFlow(id: string) {
  const [pace, setPace] = useState<number | undefined>(undefined);
  const flow = useResource(id, (abort) => load(id, abort), { live: true, every: pace });
  const summary = flow.data?.graph.summary;
  const nodes = flow.data?.graph.nodes.length ?? 0;
  const moving = summary !== undefined && (!endedFlow(summary.state) || summary.counts.pending > 0);
  // Gates and delays change without an event of the flow.
  useEffect(() => setPace(moving ? Math.max(3000, 2 * pauseFor(nodes)) : undefined), [moving, nodes]);
  const soon = useSoon(flow.reload, pauseFor(nodes));
  useEvents(summary ? { namespace: summary.namespace, type: moving ? undefined : flowEventTypes } : undefined, (events, received) => {
    const own = events.filter((event) => event.flow_id === id);
    if (own.length > 0) flow.set((old) => ({ ...old, graph: applyToGraph(old.graph, own) }));
    if (own.length > 0 || received > events.length) soon();
  });
  return flow;
}

const tabs: [FlowTab, string][] = [['graph', 'Graph'], ['nodes', 'Nodes'], ['result', 'Result'], ['events', 'Events']];

export function Flow({ params }: PageProps) {
  const id = params['id'] ?? '';
  const flow = useFlow(id);
  useShortcuts([
    { keys: 'r', text: 'load the flow again', run: flow.reload },
    { keys: 'u', text: 'back', run: () => history.back() },
  ]);
  if (flow.error && !flow.data) return <div class="page"><Missing id={id} /><Problem error={flow.error} retry={flow.reload} /></div>;
  if (!flow.data) return <div class="page" aria-busy="true" />;
  return <FlowView loaded={flow.data} reload={flow.reload} error={flow.error} />;
}

const Missing = ({ id }: { id: string }) => (
  <Empty title="This flow cannot be shown"><p class="mono"><Text>{id}</Text></p><p>It may have been removed by retention, or the id is wrong. <a href="/ui/flows">Show all flows</a>.</p></Empty>
);

function FlowView({ loaded, reload, error }: { loaded: Loaded; reload: () => void; error: ApiError | undefined }) {
  const { about, graph } = loaded;
  const id = graph.summary.flow_id;
  const query = new URLSearchParams(place.value.search);
  const view = tabs.find(([name]) => name === query.get('view'))?.[0] ?? 'graph';
  const selected = query.get('node') ?? undefined;
  const node = useMemo(() => graph.nodes.find((other) => other.name === selected), [graph, selected]);
  const select = (name: string | undefined): void => navigate(flowLink(id, name, view), { replace: true });
  const heading = useRef<HTMLHeadingElement>(null);
  useShortcuts(selected === undefined ? [] : [{ keys: 'Escape', text: 'close the node', run: () => select(undefined) }]);
  return (
    <div class="page fl-page">
      <Head loaded={loaded} reload={reload} />
      {error ? <Problem error={error} retry={reload} /> : null}
      <Why about={about} graph={graph} />
      <nav class="tabs" aria-label="Views of the flow">
        {tabs.map(([name, title]) => <a key={name} href={flowLink(id, selected, name)} aria-current={name === view ? 'page' : undefined}>{title}{name === 'nodes' ? ` (${count(graph.nodes.length)})` : ''}</a>)}
      </nav>
      <div class={node && (view === 'graph' || view === 'nodes') ? 'fl-body with-panel' : 'fl-body'}>
        {view === 'graph' ? <Graph graph={graph} selected={selected} onSelect={select} openPanel={() => heading.current?.focus()} /> : null}
        {view === 'nodes' ? <NodeTable graph={graph} select={select} /> : null}
        {view === 'result' ? <FlowOutputs id={id} state={graph.summary.state} /> : null}
        {view === 'events' ? <FlowEvents id={id} state={graph.summary.state} /> : null}
        {node && (view === 'graph' || view === 'nodes') ? <NodePanel key={node.name} graph={graph} node={node} select={select} close={() => select(undefined)} replay={canReplay(about) ? () => replayFlow(about, reload, node.name) : undefined} heading={heading} /> : null}
      </div>
    </div>
  );
}

function Head({ loaded: { about, graph }, reload }: { loaded: Loaded; reload: () => void }) {
  const { summary } = graph;
  const { counts } = summary;
  // A blocked flow is told so only by its description.
  const state = about.summary.state === 'blocked' && summary.state === 'running' ? 'blocked' : summary.state;
  const fact = (name: string, value: ComponentChildren) => <div><dt>{name}</dt><dd>{value}</dd></div>;
  const took = summary.created_at === undefined ? undefined : (summary.finished_at ?? Math.max(now.value, summary.created_at)) - summary.created_at;
  return (
    <header class="run-head">
      <div class="run-title">
        <h1><Text>{summary.kind}</Text></h1>
        <StateBadge state={state} />
        <span class="run-id">{summary.flow_id}<Copy text={summary.flow_id} what="id" /></span>
        <FlowActions about={about} done={reload} showRaw={() => showRaw({ ...about, graph }, summary.flow_id)} />
      </div>
      <div class="fl-progress">
        <FlowBar counts={counts} />
        {counts.total === 0 ? <span>no nodes</span> : <span><b>{progress(counts)} %</b> · {segments(counts).map((part) => `${count(part.value)} ${part.name}`).join(', ')} of {plural(counts.total, 'node')}</span>}
      </div>
      <dl class="fl-facts">
        {fact('namespace', <a href={flowsLink({ namespace: summary.namespace })}><Text>{summary.namespace}</Text></a>)}
        {fact('submitted', <><Time at={summary.created_at} />{about.creator ? <> by <Text>{about.creator}</Text></> : null}</>)}
        {summary.finished_at !== undefined ? fact('finished', <Time at={summary.finished_at} />) : null}
        {took !== undefined ? fact(summary.finished_at === undefined ? 'for' : 'took', duration(Math.max(0, Math.floor(took / 1000) > 60 ? Math.floor(took / 1000) * 1000 : took))) : null}
        {about.deadline_at ? fact('deadline', <Time at={about.deadline_at} />) : null}
        {fact('edges', count(about.edge_count))}
        {fact('on failure', words(about.failure_policy))}
        {about.retain_until ? fact('kept until', <Time at={about.retain_until} />) : null}
        {fact('executions', <a href={filterLink({ flow: flowUuid(summary.flow_id) })}>show as list</a>)}
        {Object.keys(summary.tags).length > 0 ? fact('tags', <span class="run-tags"><Tags tags={summary.tags} link={(tag) => flowsLink({ tag })} /></span>) : null}
      </dl>
    </header>
  );
}

/** What went wrong, who cancelled it, what holds it back. */
function Why({ about, graph }: { about: FlowDescription; graph: FlowGraph }) {
  const { first_failure: failure, cancellation } = about;
  const reasons = about.explain;
  if (!failure && !cancellation && reasons.length === 0) return null;
  return (
    <section class={failure ? 'note error' : 'note'} aria-label="About its state">
      <ul class="run-reasons grow">
        {failure ? (
          <li><span class="tag"><span>first failure</span></span><span>
            Node <a href={flowLink(graph.summary.flow_id, failure.node)}><Text>{failure.node}</Text></a> {words(failure.outcome)}{failure.category ? <>: <Text>{failure.category}</Text></> : null}
            {about.unhandled_failures > 1 ? `; ${count(about.unhandled_failures)} failures in all` : ''} · <a href={`/ui/executions/${encodeURIComponent(failure.execution_id)}`}>open the execution</a>
          </span></li>
        ) : null}
        {cancellation ? (
          <li><span class="tag"><span>cancellation</span></span><span>
            {words(cancellation.policy)}{cancellation.run_cleanup ? ', cleanup nodes run' : ''}; cause: <Text>{cancellation.cause}</Text>{cancellation.by ? <>, by <Text>{cancellation.by}</Text></> : null}{cancellation.at ? <>, <Time at={cancellation.at} /></> : null}{cancellation.reason ? <>: <Text>{cancellation.reason}</Text></> : null}
          </span></li>
        ) : null}
        {reasons.map((reason) => <li key={reason.code + reason.sentence}><span class="tag"><span>{words(reason.code)}</span></span><span><Text>{reason.sentence}</Text>{reason.until && reason.until > now.value ? <b class="nowrap"> {duration(Math.ceil((reason.until - now.value) / 1000) * 1000)} left</b> : null}</span></li>)}
      </ul>
    </section>
  );
}
