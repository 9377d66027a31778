// A map of the worker instances: who lives, what each serves and offers, what it holds.
import { useMemo, useState } from 'preact/hooks';
import './workers.css';
import { call, get, session } from '../../api/client';
import { allows, hasRoute } from '../../api/contract';
import type { DrainReply, ExpiredLeasePage, MarkDeadReply, Worker } from '../../api/types';
import { asCli } from '../../core/commands';
import { plural, shortId } from '../../core/format';
import { follow, heldBy, type Held, type Holdings } from '../../core/holdings';
import { visibleLine } from '../../core/bytes';
import { useEvents, useResource } from '../../live/hooks';
import { now } from '../../live/visibility';
import { Ago, Condition, Empty, Panel, Problem, Text, Time } from '../../ui/basic';
import { confirm, withReason } from '../../ui/dialog';

/** Older servers do not list the leases of a worker; then what the event stream tells is shown. */
const listsLeases = hasRoute('GET /v1/workers/{worker_instance_id}/leases');
const workerEvents = 'worker_registered,worker_marked_dead,worker_ttl_swept,worker_draining';
/** Of more workers than this the leases are read when they are asked for. */
const mostEager = 24;

async function loadWorkers(all: boolean, abort: AbortSignal): Promise<Worker[]> {
  const workers: Worker[] = [];
  let cursor = '';
  do {
    const page: { workers: Worker[]; next_cursor: string } = await get('/v1/workers', { include_expired: all || undefined, limit: 1000, cursor }, abort);
    workers.push(...page.workers);
    cursor = page.next_cursor;
  } while (cursor !== '' && workers.length < 5000);
  return workers;
}

export function Workers() {
  const [all, setAll] = useState(false);
  const [find, setFind] = useState('');
  const [holdings, setHoldings] = useState<Holdings>(new Map());
  const list = useResource(`workers ${all}`, (abort) => loadWorkers(all, abort), { every: 5000, live: true });
  useEvents(listsLeases ? { type: workerEvents } : {}, (events) => {
    if (!listsLeases) setHoldings((old) => follow(old, events));
    if (events.some((event) => workerEvents.includes(event.type))) list.reload();
  });
  const held = useMemo(() => heldBy(holdings), [holdings]);
  const wanted = find.trim();
  const shown = (list.data ?? []).filter((worker) => wanted === '' || [worker.worker_instance_id, worker.worker_id, ...worker.lanes, ...worker.capabilities].some((text) => text.includes(wanted)));
  const live = (list.data ?? []).filter((worker) => worker.state === 'live').length;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Workers</h1><span class="muted grow">{list.data ? `${live} live${all ? `, ${list.data.length - live} ended` : ''}` : ''}</span>
        <input aria-label="Find a worker" placeholder="Instance, lane, capability" value={find} onInput={(event) => setFind(event.currentTarget.value)} />
        <button type="button" class="button" aria-pressed={all} onClick={() => setAll(!all)}>Show ended</button>
      </div>
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      {list.data && shown.length === 0 ? (
        <Empty title={list.data.length === 0 ? 'No worker is registered' : 'No worker matches'}>
          <p>Workers appear here when they register. Workers that only claim work are not registered; what they hold is shown by <a href="/ui/executions?state=active">the running executions</a>.</p>
        </Empty>
      ) : null}
      <div class="wk-map">{shown.map((worker) => <Card key={`${worker.namespace} ${worker.worker_instance_id} ${worker.registered_at ?? 0}`} worker={worker} seen={held.get(worker.worker_instance_id) ?? []} eager={shown.length <= mostEager} reload={list.reload} />)}</div>
      <LostLeases />
    </div>
  );
}

function Card({ worker, seen, eager, reload }: { worker: Worker; seen: Held[]; eager: boolean; reload: () => void }) {
  const left = worker.expires_at === undefined ? 0 : Math.max(0, Math.min(1, (worker.expires_at - now.value) / Math.max(1, worker.liveness_ttl_ms)));
  const live = worker.state === 'live';
  const operator = allows(session.value, 'operator');
  return (
    <article class={live ? 'wk' : 'wk gone'} aria-label={`Worker ${visibleLine(worker.worker_instance_id)}`}>
      <header><b title={visibleLine(worker.worker_instance_id)}><Text>{worker.worker_instance_id}</Text></b>{worker.draining && live ? <Condition state="draining" /> : <Condition state={worker.state} />}</header>
      {live ? <div class="wk-life" data-state={left > 0.34 ? 'good' : 'warn'} title="Time left until it counts as dead without another heartbeat"><i style={{ width: `${left * 100}%` }} /></div> : null}
      <dl>
        <dt>pool</dt><dd><Text>{worker.worker_id}</Text>{worker.namespace === 'default' ? null : <span class="muted"> in <Text>{worker.namespace}</Text></span>}</dd>
        <dt>lanes</dt><dd><Text>{worker.lanes.join(', ')}</Text></dd>
        <dt>offers</dt><dd>{worker.capabilities.length > 0 ? <Text>{worker.capabilities.join(', ')}</Text> : <span class="muted">nothing special</span>}</dd>
        <dt>heartbeat</dt><dd><Ago at={worker.last_heartbeat_at} /></dd>
        {worker.ended_at ? <><dt>ended</dt><dd><Time at={worker.ended_at} />{worker.ended_by ? <> by <Text>{worker.ended_by}</Text></> : null}{worker.reason ? <>: <Text>{worker.reason}</Text></> : null}</dd></> : null}
      </dl>
      {live ? <Leases worker={worker} seen={seen} eager={eager} /> : null}
      {operator && live ? (
        <footer>
          {worker.draining ? null : <button type="button" class="button small" onClick={() => drain(worker, reload)}>Drain …</button>}
          <button type="button" class="button small danger" onClick={() => markDead(worker, reload)}>Mark dead …</button>
        </footer>
      ) : null}
    </article>
  );
}

interface LeasePage { leases: { execution_id: string; kind?: string; acquired_at?: number }[]; next_cursor: string }

function Leases({ worker, seen, eager }: { worker: Worker; seen: Held[]; eager: boolean }) {
  const [wanted, setWanted] = useState(eager);
  const stored = useResource(listsLeases && wanted ? `leases ${worker.namespace} ${worker.worker_instance_id}` : undefined,
    (abort) => get<LeasePage>(`/v1/workers/${encodeURIComponent(worker.worker_instance_id)}/leases`, { namespace: worker.namespace, limit: 50 }, abort), { every: 2500, live: true });
  if (listsLeases && !wanted) return <button type="button" class="button small" onClick={() => setWanted(true)}>Show leases</button>;
  const held = stored.data ? stored.data.leases.map((lease) => ({ execution_id: lease.execution_id, kind: lease.kind ?? '', since: lease.acquired_at ?? 0 })) : seen;
  const more = stored.data?.next_cursor ? ' or more' : '';
  const none = listsLeases ? (stored.data ? 'Holds nothing' : '') : 'No claim seen since this page was opened';
  return (
    <div>
      <div class="muted">{held.length === 0 ? none : `Holds ${plural(held.length, 'lease')}${more}`}</div>
      {stored.error ? <Problem error={stored.error} retry={stored.reload} /> : null}
      <div class="wk-leases">{held.slice(0, 8).map((lease) => <a class="tag" key={lease.execution_id} href={`/ui/executions/${encodeURIComponent(lease.execution_id)}`} title={lease.execution_id}><span>{lease.kind ? <Text>{lease.kind}</Text> : shortId(lease.execution_id)}</span></a>)}{held.length > 8 ? <span class="muted">and {held.length - 8} more</span> : null}</div>
    </div>
  );
}

function drain(worker: Worker, done: () => void): void {
  confirm({
    title: `Drain ${visibleLine(worker.worker_instance_id)}`, text: 'With its next heartbeat the worker is told to finish what it holds and claim nothing more.', action: 'Drain', reason: true,
    command: (values) => asCli(['workers', 'drain', worker.worker_instance_id, '--namespace', worker.namespace, ...(values['reason'] ? ['--reason', values['reason']] : [])], window.location.origin),
    run: async (values) => {
      const reply = await call<DrainReply>('POST', `/v1/workers/${encodeURIComponent(worker.worker_instance_id)}/drain`, withReason(values, { namespace: worker.namespace }));
      done();
      return reply.outcome === 'draining' ? 'The worker will be told to drain' : 'The worker is no longer registered';
    },
  });
}

function markDead(worker: Worker, done: () => void): void {
  confirm({
    title: `Mark ${visibleLine(worker.worker_instance_id)} dead`, text: 'All its leases are taken back at once, and what it was running goes to other workers. Use this when the process is gone.', action: 'Mark dead', danger: true, reason: true,
    command: (values) => asCli(['workers', 'mark-dead', worker.worker_instance_id, '--namespace', worker.namespace, '--yes', ...(values['reason'] ? ['--reason', values['reason']] : [])], window.location.origin),
    run: async (values) => {
      const reply = await call<MarkDeadReply>('POST', `/v1/workers/${encodeURIComponent(worker.worker_instance_id)}/mark-dead`, withReason(values, { namespace: worker.namespace }));
      done();
      return reply.outcome === 'marked' ? 'The worker is marked dead' : 'The worker is no longer registered';
    },
  });
}

/** Leases that nobody has followed: executions that wait for a reclaim are found here. */
function LostLeases() {
  const lost = useResource('expired-leases', (abort) => get<ExpiredLeasePage>('/v1/leases/expired', { limit: 50 }, abort), { every: 10_000, live: true });
  if (!lost.data || lost.data.leases.length === 0) return null;
  return (
    <Panel title="Lost leases that nobody has followed" flush>
      <div class="scroll-x" tabIndex={0}>
        <table class="grid">
          <thead><tr><th>execution</th><th>last holder</th><th class="right">attempt</th><th>lost</th><th>cause</th></tr></thead>
          <tbody>{lost.data.leases.map((lease) => (
            <tr key={lease.lease_id}>
              <td><a class="mono" href={`/ui/executions/${encodeURIComponent(lease.execution_id)}`}>{shortId(lease.execution_id)}</a></td>
              <td><Text>{lease.worker_instance_id}</Text></td><td class="right">{lease.attempt_index + 1}</td><td><Time at={lease.expires_at} /></td><td>{lease.cause}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
    </Panel>
  );
}
