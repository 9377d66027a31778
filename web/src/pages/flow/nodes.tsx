// The nodes of a flow as a table: the same as the graph, as text.
import { useMemo, useState } from 'preact/hooks';
import type { FlowGraph, FlowNodeInfo } from '../../api/types';
import { findNodes, flowLink, waitText } from '../../core/flows';
import { count, duration, plural } from '../../core/format';
import { narrow } from '../../live/preferences';
import { Empty, StateBadge, Text, Time } from '../../ui/basic';
import { VTable, type Column } from '../../ui/vtable';

const narrowColumns = new Set(['name', 'state']);

function columnsOf(graph: FlowGraph): Column<FlowNodeInfo>[] {
  const path = new Set(graph.critical_path);
  const id = graph.summary.flow_id;
  return [
    { name: 'number', title: 'no.', width: '44px', right: true, cell: (node) => node.ordinal + 1 },
    { name: 'name', title: 'node', width: 'minmax(110px, 1.4fr)', cell: (node) => <a class="cover" href={flowLink(id, node.name, 'nodes')}><Text>{node.name}</Text></a> },
    { name: 'state', title: 'state', width: '124px', cell: (node) => <StateBadge state={node.public_state} /> },
    { name: 'waits', title: 'waits for', width: 'minmax(80px, 1.2fr)', cell: (node) => <Text>{waitText(node)}</Text> },
    { name: 'kind', title: 'kind', width: 'minmax(70px, 1fr)', cell: (node) => <Text>{node.kind}</Text> },
    { name: 'lane', title: 'lane', width: 'minmax(60px, 0.8fr)', cell: (node) => <Text>{node.lane}</Text> },
    { name: 'attempts', title: 'attempts', width: '56px', right: true, cell: (node) => node.attempt_count },
    { name: 'started', title: 'started', width: '118px', cell: (node) => <Time at={node.started_at} /> },
    { name: 'took', title: 'took', width: '76px', right: true, cell: (node) => (node.started_at !== undefined && node.finished_at !== undefined ? duration(Math.max(0, node.finished_at - node.started_at)) : <span class="muted">–</span>) },
    { name: 'critical', title: 'critical', width: '52px', cell: (node) => (path.has(node.name) ? 'yes' : <span class="muted">no</span>) },
    { name: 'execution', title: 'execution', width: '64px', cell: (node) => <a href={`/ui/executions/${encodeURIComponent(node.execution_id)}`} title={node.execution_id} aria-label={`Execution of node ${node.ordinal + 1}`}>open</a> },
  ];
}

export function NodeTable({ graph, select }: { graph: FlowGraph; select: (name: string) => void }) {
  const [text, setText] = useState('');
  const rows = useMemo(() => findNodes(graph.nodes, text), [graph, text]);
  const columns = useMemo(() => columnsOf(graph), [graph.critical_path, graph.summary.flow_id]);
  return (
    <div class="fl-nodes">
      <div class="row wrap">
        <input class="fg-find" aria-label="Find a node" placeholder="Find a node: name, kind, lane, state" value={text} onInput={(event) => setText(event.currentTarget.value)} autoComplete="off" spellcheck={false} />
        <span class="muted">{text.trim() === '' ? plural(rows.length, 'node') : `${count(rows.length)} of ${plural(graph.nodes.length, 'node')}`}</span>
      </div>
      <VTable label="Nodes" columns={narrow.value ? columns.filter((column) => narrowColumns.has(column.name)) : columns} rows={rows} keyOf={(node) => node.name} onOpen={(node) => select(node.name)}
        empty={<Empty title="No node matches" />} />
    </div>
  );
}
