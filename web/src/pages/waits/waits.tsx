// What executions wait for, by age.
import type { WaitingExecution, WaitpointInfo } from '../../api/types';
import { plural, shortId } from '../../core/format';
import { decisionsWords, leftWords } from '../../core/waits';
import { useWaits } from '../../live/waits';
import { now } from '../../live/visibility';
import { Ago, Empty, Panel, Problem, Text, Time } from '../../ui/basic';

export function WaitsPage() {
  const { list, more } = useWaits(false);
  const waits = list.data?.waits ?? [];
  const count = waits.reduce((sum, one) => sum + one.waitpoints.length, 0);
  return (
    <div class="page">
      <div class="page-head"><h1 class="grow">Waits</h1><a href="/ui/approvals">Approvals</a></div>
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      {list.data ? (
        <Panel title={`${plural(count, 'waitpoint')} of ${plural(waits.length, 'execution')}${more ? ', the oldest' : ''}`} flush>
          {waits.length === 0 ? <Empty title="Nothing waits for a signal"><p>An execution that waits holds no worker and no lease. Those that wait longest come first.</p></Empty> : <Table waits={waits} />}
        </Panel>
      ) : null}
    </div>
  );
}

const Table = ({ waits }: { waits: WaitingExecution[] }) => (
  <div class="scroll-x" tabIndex={0}>
    <table class="grid">
      <thead><tr><th>waitpoint</th><th>waits since</th><th>until</th><th class="right">signals</th><th>decisions</th><th>execution</th><th>kind</th><th>lane</th><th>reason</th></tr></thead>
      <tbody>{waits.flatMap((wait) => wait.waitpoints.map((waitpoint) => <Row key={`${wait.execution_id} ${waitpoint.number}`} wait={wait} waitpoint={waitpoint} />))}</tbody>
    </table>
  </div>
);

const Row = ({ wait, waitpoint }: { wait: WaitingExecution; waitpoint: WaitpointInfo }) => (
  <tr>
    <td><b><Text>{waitpoint.name}</Text></b></td>
    <td><Ago at={wait.since} /></td>
    <td class="nowrap">{wait.timeout_at ? <><Time at={wait.timeout_at} /> <span class="muted">{leftWords(wait.timeout_at, now.value)}</span></> : <span class="muted">–</span>}{wait.escalated ? <> <span class="badge" data-state="warn">escalated</span></> : null}</td>
    <td class="right">{waitpoint.signals}</td>
    <td>{waitpoint.approval ? decisionsWords(waitpoint.approval) : <span class="muted">–</span>}</td>
    <td class="nowrap"><a class="mono" href={`/ui/executions/${encodeURIComponent(wait.execution_id)}`} title={wait.execution_id}>{shortId(wait.execution_id)}</a></td>
    <td><Text>{wait.kind}</Text></td><td><Text>{wait.lane}</Text></td><td><Text>{wait.reason}</Text></td>
  </tr>
);
