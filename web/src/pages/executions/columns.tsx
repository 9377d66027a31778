// The columns that the list of executions can have.
import type { ExecutionSummary } from '../../api/types';
import { endedStates } from '../../api/contract';
import { duration, shortId } from '../../core/format';
import { filterLink } from '../../core/filters';
import { flowLink } from '../../core/flows';
import { remembered } from '../../live/preferences';
import { now } from '../../live/visibility';
import { StateBadge, Tags, Text, Time } from '../../ui/basic';
import type { Column } from '../../ui/vtable';

export type Row = ExecutionSummary;
const open = (row: Row): string => `/ui/executions/${encodeURIComponent(row.execution_id)}`;

function Ran({ row }: { row: Row }) {
  if (row.started_at === undefined) return <span class="muted">–</span>;
  if (row.finished_at !== undefined) return <>{duration(Math.max(0, row.finished_at - row.started_at))}</>;
  return endedStates.has(row.public_state) ? <span class="muted">–</span> : <>{duration(Math.max(0, Math.floor((now.value - row.started_at) / 1000) * 1000))}</>;
}

export const allColumns: Column<Row>[] = [
  { name: 'state', title: 'state', width: '112px', cell: (row) => <StateBadge state={row.public_state} /> },
  { name: 'kind', title: 'kind', width: 'minmax(110px, 1.3fr)', cell: (row) => <a class="cover" href={open(row)}><Text>{row.kind}</Text></a> },
  { name: 'id', title: 'id', width: '146px', cell: (row) => <a class="mono" href={open(row)} title={row.execution_id}>{shortId(row.execution_id)}</a> },
  { name: 'lane', title: 'lane', width: 'minmax(80px, 0.8fr)', cell: (row) => <a class="muted" href={filterLink({ lane: row.lane })}><Text>{row.lane}</Text></a> },
  { name: 'namespace', title: 'namespace', width: 'minmax(80px, 140px)', cell: (row) => <Text>{row.namespace}</Text> },
  { name: 'node', title: 'node of a flow', width: 'minmax(90px, 0.8fr)', cell: (row) => (row.flow_id ? <a href={flowLink(row.flow_id, row.node)}><Text>{row.node}</Text></a> : <span class="muted">–</span>) },
  { name: 'priority', title: 'priority', width: '56px', right: true, cell: (row) => row.priority },
  { name: 'attempts', title: 'attempts', width: '56px', right: true, cell: (row) => row.attempt_count },
  { name: 'created', title: 'created', width: '118px', cell: (row) => <Time at={row.created_at} /> },
  { name: 'started', title: 'started', width: '118px', cell: (row) => <Time at={row.started_at} /> },
  { name: 'finished', title: 'finished', width: '118px', cell: (row) => <Time at={row.finished_at} /> },
  { name: 'ran', title: 'ran for', width: '84px', right: true, cell: (row) => <Ran row={row} /> },
  { name: 'tags', title: 'tags', width: 'minmax(100px, 1.2fr)', cell: (row) => <Tags tags={row.tags} link={(tag) => filterLink({ tag })} /> },
];

export const usualColumns = ['state', 'kind', 'id', 'lane', 'attempts', 'created', 'finished', 'ran', 'tags'];
export const chosenColumns = remembered<string[]>('columns', usualColumns);
export const narrowColumns = ['state', 'kind', 'created'];
