// The list of flows: filtered by the address, extended while it is scrolled, kept current by events.
import { useMemo } from 'preact/hooks';
import { flowPath, get, session, withQuery } from '../../api/client';
import type { FlowDescription, FlowSummary, ListFlowsReply } from '../../api/types';
import { asCli, asCurl } from '../../core/commands';
import { timeFields } from '../../core/filters';
import { applyFlowEvent, endedFlow, flowEventTypes, flowLink, flowOptions, flowQuery, flowsLink, flowStates, noFlowFilter, parseFlowFilter, submittedInto, type FlowFilter } from '../../core/flows';
import { count, duration, plural, shortId } from '../../core/format';
import { useEvents, useRepeat } from '../../live/hooks';
import { navigate, place } from '../../live/router';
import { applyAll, useRows } from '../../live/rows';
import { narrow } from '../../live/preferences';
import { now } from '../../live/visibility';
import { copyText, Empty, Icon, Problem, StateBadge, Tags, Text, Time, words } from '../../ui/basic';
import { Field, TimeFields } from '../../ui/filter-fields';
import { FlowBar } from '../../ui/flow-bar';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { VTable, type Column } from '../../ui/vtable';

const idOf = (row: FlowSummary): string => row.flow_id;
const refreshMs = 3000;
/** Of more flows that end at once, the counts come with the next refresh. */
const mostSingle = 20;

function useFlows(filter: FlowFilter) {
  const list = useRows<FlowSummary>(flowQuery(filter).toString(), idOf, async (limit, cursor, abort) => {
    const query = flowQuery(filter);
    query.set('limit', String(limit));
    if (cursor) query.set('cursor', cursor);
    const page = await get<ListFlowsReply>('/v1/flows', query, abort);
    return { rows: page.flows, next: page.next_cursor ?? '' };
  });
  const readAgain = (id: string): void => {
    get<FlowDescription>(flowPath(id)).then(({ summary }) => list.change((rows) => rows.map((row) => (row.flow_id === id ? summary : row))), () => undefined);
  };
  useEvents({ namespace: filter.namespace, type: flowEventTypes }, (events, received) => {
    list.change((rows) => applyAll(rows, events, idOf, (event) => event.flow_id, applyFlowEvent));
    // A flow that has ended may no longer match the filter, but its row stays, so its counts are read once more.
    const listed = new Set(list.rows.map(idOf));
    const ended = [...new Set(events.filter((event) => event.type !== 'flow_submitted').map((event) => event.flow_id ?? ''))].filter((id) => listed.has(id));
    for (const id of ended.slice(0, mostSingle)) readAgain(id);
    if (received > events.length || ended.length > mostSingle) list.refreshSoon();
    list.addFresh(Math.round((events.filter((event) => submittedInto(filter, event)).length * received) / Math.max(1, events.length)));
  });
  // Counts change without an event of the flow.
  useRepeat(list.rows.some((row) => !endedFlow(row.state)) ? refreshMs : undefined, list.refresh);
  return list;
}

function Took({ row }: { row: FlowSummary }) {
  if (row.created_at === undefined) return <span class="muted">–</span>;
  if (row.finished_at !== undefined) return <>{duration(Math.max(0, row.finished_at - row.created_at))}</>;
  return endedFlow(row.state) ? <span class="muted">–</span> : <>{duration(Math.max(0, Math.floor((now.value - row.created_at) / 1000) * 1000))}</>;
}

const columns: Column<FlowSummary>[] = [
  { name: 'state', title: 'state', width: '104px', cell: (row) => <StateBadge state={row.state} /> },
  { name: 'kind', title: 'kind', width: 'minmax(110px, 1.2fr)', cell: (row) => <a class="cover" href={flowLink(row.flow_id)}>{row.damage ? <span title={row.damage}>damaged</span> : <Text>{row.kind}</Text>}</a> },
  { name: 'id', title: 'id', width: '146px', cell: (row) => <a class="mono" href={flowLink(row.flow_id)} title={row.flow_id}>{shortId(row.flow_id)}</a> },
  { name: 'nodes', title: 'nodes', width: 'minmax(120px, 1fr)', cell: (row) => <FlowBar counts={row.counts} /> },
  { name: 'ended', title: 'ended', width: '84px', right: true, cell: (row) => `${count(row.counts.total - row.counts.pending)} of ${count(row.counts.total)}` },
  { name: 'failed', title: 'failed', width: '52px', right: true, cell: (row) => (row.counts.failed + row.counts.expired > 0 ? <b>{count(row.counts.failed + row.counts.expired)}</b> : <span class="muted">0</span>) },
  { name: 'namespace', title: 'namespace', width: 'minmax(80px, 0.6fr)', cell: (row) => <Text>{row.namespace}</Text> },
  { name: 'created', title: 'submitted', width: '118px', cell: (row) => <Time at={row.created_at} /> },
  { name: 'took', title: 'took', width: '84px', right: true, cell: (row) => <Took row={row} /> },
  { name: 'tags', title: 'tags', width: 'minmax(90px, 1fr)', cell: (row) => <Tags tags={row.tags} link={(tag) => flowsLink({ tag })} /> },
];
const narrowColumns = new Set(['state', 'kind', 'ended']);

export function Flows() {
  const filter = useMemo(() => parseFlowFilter(place.value.search), [place.value.search]);
  const list = useFlows(filter);
  useShortcuts([{ keys: 'r', text: 'load the list again', run: list.reload }]);
  return (
    <div class="page full">
      <div class="page-head">
        <h1 class="grow">Flows</h1>
        <button type="button" class="button list-new" onClick={list.reload} title="Load the list again (r)">{list.fresh > 0 ? `${count(list.fresh)} new, show` : 'Refresh'}</button>
        <Copies filter={filter} />
      </div>
      <Filters filter={filter} onChange={(next) => navigate(flowsLink(next))} />
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      <VTable label="Flows" columns={narrow.value ? columns.filter((column) => narrowColumns.has(column.name)) : columns} rows={list.rows} keyOf={idOf} onEnd={list.more}
        onOpen={(row) => navigate(flowLink(row.flow_id))}
        empty={list.loaded ? <Nothing filtered={flowQuery(filter).toString() !== ''} /> : undefined}
        foot={list.loaded ? `${plural(list.rows.length, 'flow')} loaded${list.done ? ', all there are' : '; scroll for more'}` : 'Loading'} />
    </div>
  );
}

function Filters({ filter, onChange }: { filter: FlowFilter; onChange: (filter: FlowFilter) => void }) {
  const toggle = (state: (typeof flowStates)[number]): void => {
    const chosen = filter.state.includes(state) ? filter.state.filter((other) => other !== state) : [...filter.state, state];
    onChange({ ...filter, state: flowStates.filter((other) => chosen.includes(other)) });
  };
  const set = (field: 'kind' | 'namespace' | 'tag') => (value: string): void => {
    const next = { ...filter };
    if (value) next[field] = value;
    else delete next[field];
    onChange(next);
  };
  const times = timeFields.filter((field) => filter[field] !== undefined).length;
  return (
    <div class="stack">
      <div class="filter-states" role="group" aria-label="States">
        {flowStates.map((state) => <button type="button" class="chip" data-state={state} key={state} aria-pressed={filter.state.includes(state)} onClick={() => toggle(state)}>{words(state)}</button>)}
      </div>
      <div class="filter-fields">
        <Field name="kind" value={filter.kind} onChange={set('kind')} />
        {session.value?.namespace ? null : <Field name="namespace" value={filter.namespace} onChange={set('namespace')} />}
        <Field name="tag" hint="tag=value" value={filter.tag} onChange={set('tag')} />
        <Menu left stay label={<>Time{times > 0 ? ` (${times})` : ''}<Icon name="down" /></>} class={times > 0 ? 'chosen' : ''}><TimeFields filter={filter} onChange={onChange} /></Menu>
        {flowQuery(filter).toString() === '' ? null : <button type="button" class="button plain" onClick={() => onChange(noFlowFilter)}>Clear filters</button>}
      </div>
    </div>
  );
}

function Copies({ filter }: { filter: FlowFilter }) {
  const origin = window.location.origin;
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCli(['flows', 'list', ...flowOptions(filter)], origin), 'Command')}>Copy as CLI</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery('/v1/flows', flowQuery(filter)) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
    </Menu>
  );
}

const example = { kind: 'media', nodes: [{ name: 'fetch', kind: 'fetch' }, { name: 'resize', kind: 'resize' }], edges: [{ from: 'fetch', to: 'resize' }] };

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No flow matches these filters"><p>Remove a filter, or <a href="/ui/flows">show all flows</a>. Flows that ended long ago have been removed by retention.</p></Empty>;
  return (
    <Empty title="There are no flows yet">
      <p>A flow is a graph of executions: a node runs when the nodes that it depends on have ended. Submit one with</p>
      <code>{asCurl({ method: 'POST', path: '/v1/flows', body: example }, window.location.origin, session.value?.authentication ?? false)}</code>
    </Empty>
  );
}
