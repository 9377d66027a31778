// The inbox: what waits for the decision of people, longest first.
import { useState } from 'preact/hooks';
import './approvals.css';
import type { WaitingExecution } from '../../api/types';
import { plural } from '../../core/format';
import { inboxOf, leftWords, type InboxItem } from '../../core/waits';
import { useWaits } from '../../live/waits';
import { now } from '../../live/visibility';
import { ApprovalDocument, DecideButtons, Decisions } from '../../ui/approval';
import { Ago, Empty, Panel, Problem, Text, Time } from '../../ui/basic';

export function Approvals() {
  const { list, more } = useWaits(true);
  const items = inboxOf(list.data?.waits ?? []);
  return (
    <div class="page">
      <div class="page-head"><h1 class="grow">Approvals</h1><a href="/ui/waits">All waits</a></div>
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      {list.data && items.length === 0 ? (
        <Panel title="Nothing to decide" flush><Empty title="Nothing waits for a decision"><p>An execution that asks for an approval appears here, and leaves when it is decided.</p></Empty></Panel>
      ) : null}
      {items.length > 0 ? <p class="muted">{plural(items.length, 'approval')}{more ? ', the oldest' : ''}</p> : null}
      <div class="ap-list">{items.map((item) => <Item key={item.key} item={item} reload={list.reload} />)}</div>
    </div>
  );
}

function Item({ item, reload }: { item: InboxItem; reload: () => void }) {
  const { execution, waitpoint, approval } = item;
  const [open, setOpen] = useState(false);
  return (
    <section class="panel" aria-label={approval.title}>
      <div class="panel-body ap-item">
        <div class="stack">
          <h2><Text>{approval.title}</Text></h2>
          <Facts execution={execution} />
          {execution.reason ? <p><Text>{execution.reason}</Text></p> : null}
          <Decisions approval={approval} />
          {approval.approvers.length > 0 ? <p class="muted">May decide: <Text>{approval.approvers.join(', ')}</Text></p> : null}
        </div>
        <DecideButtons id={execution.execution_id} waitpoint={waitpoint} approval={approval} done={reload} />
        <details onToggle={(event) => setOpen(event.currentTarget.open)}><summary>What it is about</summary>{open ? <ApprovalDocument id={execution.execution_id} waitpoint={waitpoint} /> : null}</details>
      </div>
    </section>
  );
}

const Facts = ({ execution }: { execution: WaitingExecution }) => (
  <div class="ap-facts">
    <span><a href={`/ui/executions/${encodeURIComponent(execution.execution_id)}`}><Text>{execution.kind}</Text></a></span>
    <span>waits since <Ago at={execution.since} /></span>
    {execution.timeout_at ? <span>until <Time at={execution.timeout_at} />, {leftWords(execution.timeout_at, now.value)}</span> : <span>without a time limit</span>}
    {execution.escalated ? <span class="badge" data-state="warn">escalated</span> : null}
    <span>namespace <Text>{execution.namespace}</Text></span>
  </div>
);
