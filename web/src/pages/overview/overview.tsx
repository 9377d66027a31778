// The first page: how much there is, how fast it goes, what is wrong.
import { useState } from 'preact/hooks';
import './overview.css';
import { get } from '../../api/client';
import { loadOverview } from '../../live/overview';
import { grouped, lastRate } from '../../core/overview';
import { endedStates, publicStates, type Attention, type Overview as Figures, type OverviewLane } from '../../api/contract';
import type { Event, ExecutionPage, ExecutionSummary } from '../../api/types';
import { count, duration, rate, roughly } from '../../core/format';
import { lettersLink } from '../../core/dead-letters';
import { filterLink } from '../../core/filters';
import { useEvents, useResource } from '../../live/hooks';
import { now } from '../../live/visibility';
import { Ago, Count, Empty, Panel, Problem, StateBadge, Text, words } from '../../ui/basic';
import { Chart, Spark } from '../../ui/chart';

const alwaysShown = new Set(['waiting', 'delayed', 'active', 'completed', 'failed', 'cancelled', 'expired']);
const mostRecent = 8;

const laneCount = (lane: OverviewLane, state: string): number => lane.counts[state] ?? 0;

export function Overview() {
  const figures = useResource('overview', loadOverview, { every: 2500, live: true });
  const data = figures.data;
  return (
    <div class="page">
      <div class="page-head">
        <h1 class="grow">Overview</h1>
        {data ? <Health data={data} /> : null}
      </div>
      {figures.error ? <Problem error={figures.error} retry={figures.reload} /> : null}
      {data ? <Body data={data} /> : null}
    </div>
  );
}

function Body({ data }: { data: Figures }) {
  const total = data.lanes.reduce((sum, lane) => sum + publicStates.reduce((all, state) => all + laneCount(lane, state), 0), 0);
  return (
    <>
      {data.needs_attention.length > 0 ? <div class="ov-attention">{data.needs_attention.map((entry) => <Warning entry={entry} key={entry.code + entry.message} />)}</div> : null}
      <Counts lanes={data.lanes} />
      {total === 0 ? <Start /> : null}
      <div class="ov-two">
        <Panel title="Throughput, per second"><Throughput data={data} /></Panel>
        <Panel title="Latency"><Latency data={data} /></Panel>
      </div>
      <div class="ov-two">
        <Panel title="Recent failures" flush actions={<><a href={lettersLink({})}>by cause</a> <a href={filterLink({ state: ['failed', 'expired'] })}>all failures</a></>}><RecentFailures /></Panel>
        <Panel title="Failures by kind, last hour" flush><FailuresByKind data={data} /></Panel>
      </div>
      <Panel title="Lanes" flush actions={<a href="/ui/lanes">manage lanes</a>}><LaneTable lanes={data.lanes} intervalMs={data.interval_ms} />{data.lanes_left_out ? <div class="vtable-foot">{count(data.lanes_left_out)} more lanes are not shown.</div> : null}</Panel>
    </>
  );
}

function Warning({ entry }: { entry: Attention }) {
  return (
    <div class={`note ${entry.severity}`} role={entry.severity === 'error' ? 'alert' : undefined}>
      <span class="badge" data-state={entry.severity === 'error' ? 'bad' : 'warn'}>{entry.severity}</span>
      <span class="grow"><Text>{entry.message}</Text></span>
      {entry.link?.startsWith('/') ? <a href={entry.link} class="nowrap">show</a> : null}
    </div>
  );
}

function Counts({ lanes }: { lanes: OverviewLane[] }) {
  const sums = publicStates.map((state) => ({ state, sum: lanes.reduce((all, lane) => all + laneCount(lane, state), 0) }));
  return (
    <div class="ov-counts">
      {sums.filter(({ state, sum }) => sum > 0 || alwaysShown.has(state)).map(({ state, sum }) => (
        <a class="ov-count" data-state={state} key={state} href={filterLink({ state: [state] })}><b>{count(sum)}</b><span>{words(state)}</span></a>
      ))}
    </div>
  );
}

/** The last interval is still open, and would look like a fall. */
const complete = (data: Figures) => data.samples.slice(0, -1);

function Throughput({ data }: { data: Figures }) {
  const samples = complete(data);
  const perSecond = (value: number): number => (value * 1000) / data.interval_ms;
  const line = (name: 'created' | 'completed' | 'failed') => samples.map((sample) => perSecond(sample[name]));
  return (
    <Chart label="Executions created, completed and failed per second" format={rate} whole times={samples.map((sample) => sample.at)} series={[
      { title: 'created', colour: '--s-waiting', values: line('created') },
      { title: 'completed', colour: '--s-completed', values: line('completed'), fill: true },
      { title: 'failed', colour: '--s-failed', values: line('failed') },
    ]} />
  );
}

function Latency({ data }: { data: Figures }) {
  const samples = complete(data);
  const line = (name: 'wait_p50_ms' | 'wait_p95_ms' | 'run_p50_ms' | 'run_p95_ms') => samples.map((sample) => sample[name] ?? null);
  return (
    <Chart label="Time from creation to claim, and from claim to end" format={duration} times={samples.map((sample) => sample.at)} series={[
      { title: 'wait p50', colour: '--s-waiting', values: line('wait_p50_ms') },
      { title: 'wait p95', colour: '--s-delayed', values: line('wait_p95_ms') },
      { title: 'run p50', colour: '--s-active', values: line('run_p50_ms') },
      { title: 'run p95', colour: '--s-resumable', values: line('run_p95_ms') },
    ]} />
  );
}

function Health({ data }: { data: Figures }) {
  const lag = data.due_lag_ms;
  return (
    <div class="ov-health">
      <span class="badge" data-state={data.store.ready ? 'good' : 'bad'}>{data.store.kind} {data.store.ready ? 'ready' : 'not ready'}</span>
      <span>due lag <b>{duration(lag)}</b></span>
      {data.batches ? <><span>commits/s <b>{rate(data.batches.commits_per_s)}</b></span><span>records per commit <b>{rate(data.batches.records_per_commit)}</b></span></> : null}
      {data.batches?.commit_p95_ms !== undefined ? <span>commit p95 <b>{duration(data.batches.commit_p95_ms)}</b></span> : null}
    </div>
  );
}

/** The newest failures first, as they come; a newcomer's shortest way to a failed execution. */
function RecentFailures() {
  const [fresh, setFresh] = useState<Event[]>([]);
  const stored = useResource('recent-failures', (abort) => get<ExecutionPage>('/v1/executions', { state: 'failed,expired', limit: mostRecent }, abort), { live: true });
  useEvents({ type: 'failed,expired,lane_changed' }, (events) => {
    const ended = events.filter((event) => event.type !== 'lane_changed' && event.execution_id);
    if (ended.length > 0) setFresh((old) => [...ended.reverse(), ...old].slice(0, mostRecent));
  });
  const known = new Set(fresh.map((event) => event.execution_id));
  const older = (stored.data?.executions ?? []).filter((row) => !known.has(row.execution_id)).slice(0, Math.max(0, mostRecent - known.size));
  if (stored.error) return <Problem error={stored.error} retry={stored.reload} />;
  if (stored.data && known.size + older.length === 0) return <Empty title="Nothing has failed"><p>Executions that fail or expire are listed here as it happens.</p></Empty>;
  return (
    <div>
      {fresh.map((event) => <Failure key={event.cursor} id={event.execution_id as string} state={event.state_after ?? event.type} kind={event.kind ?? ''} lane={event.lane ?? ''} at={event.at} why={event.reason} />)}
      {older.map((row: ExecutionSummary) => <Failure key={row.execution_id} id={row.execution_id} state={row.public_state} kind={row.kind} lane={row.lane} at={row.finished_at} />)}
    </div>
  );
}

function Failure(props: { id: string; state: string; kind: string; lane: string; at: number | undefined; why?: string }) {
  return (
    <a class="ov-failure" href={`/ui/executions/${encodeURIComponent(props.id)}`}>
      <span class="row"><StateBadge state={props.state} /><b class="clip"><Text>{props.kind}</Text></b><span class="muted clip">in <Text>{props.lane}</Text>{props.why ? <>: <Text>{props.why}</Text></> : null}</span></span>
      <Ago at={props.at} />
    </a>
  );
}

function FailuresByKind({ data }: { data: Figures }) {
  if (data.failures.length === 0) return <Empty title="No failures in the last hour" />;
  return (
    <div class="scroll-x" tabIndex={0}>
      <table class="grid">
        <thead><tr><th>kind</th><th>lane</th><th class="right">failed</th><th>last category</th><th>last</th></tr></thead>
        <tbody>{data.failures.slice(0, 10).map((entry) => (
          <tr key={`${entry.kind} ${entry.lane}`}>
            <td><a href={filterLink({ state: ['failed'], kind: entry.kind, lane: entry.lane })}><Text>{entry.kind}</Text></a></td>
            <td class="lane-name"><Text>{entry.lane}</Text></td>
            <td class="right">{count(entry.count)}</td>
            <td><Text>{entry.last_category || '–'}</Text></td>
            <td><Ago at={entry.last_at} /></td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function LaneTable({ lanes, intervalMs }: { lanes: OverviewLane[]; intervalMs: number }) {
  if (lanes.length === 0) return <Empty title="There are no lanes yet"><p>A lane is created by its first execution.</p></Empty>;
  return (
    <div class="scroll-x" tabIndex={0}>
      <table class="grid">
        <thead><tr><th>lane</th><th>completed, last hour</th><th class="right">per s</th><th>oldest waiting</th><th class="right">waiting</th><th class="right">active</th><th class="right">failed</th><th>mix</th></tr></thead>
        <tbody>{lanes.map((lane) => <LaneRow lane={lane} intervalMs={intervalMs} key={lane.lane} />)}</tbody>
      </table>
    </div>
  );
}

function LaneRow({ lane, intervalMs }: { lane: OverviewLane; intervalMs: number }) {
  const open = publicStates.filter((state) => !endedStates.has(state) && laneCount(lane, state) > 0);
  const shown = [...open, 'completed', 'failed', 'expired', 'cancelled'].filter((state) => laneCount(lane, state) > 0);
  return (
    <tr>
      <td class="lane-name"><a href={filterLink({ lane: lane.lane })}><Text>{lane.lane}</Text></a></td>
      <td><Spark values={grouped(lane.samples ?? [], 120)} width={140} label={`Completed per interval in ${lane.lane}`} /></td>
      <td class="right">{rate(lastRate(lane.samples, intervalMs))}</td>
      <td>{lane.oldest_waiting_at ? roughly(Math.max(0, now.value - lane.oldest_waiting_at)) : <span class="muted">–</span>}</td>
      <td class="right"><Count value={laneCount(lane, 'waiting')} /></td>
      <td class="right"><Count value={laneCount(lane, 'active')} /></td>
      <td class="right"><Count value={laneCount(lane, 'failed')} /></td>
      <td><div class="ov-bar" title={shown.map((state) => `${words(state)} ${laneCount(lane, state)}`).join(', ')}>{shown.map((state) => <i key={state} data-state={state} style={{ flexGrow: laneCount(lane, state) }} />)}</div></td>
    </tr>
  );
}

const Start = () => (
  <Empty title="There are no executions yet">
    <p>Create one, and it is shown here at once:</p>
    <code>flowfabric executions create --kind hello --payload '{'{"to": "world"}'}' --store {window.location.origin}</code>
    <p>Or see the demo: <code>flowfabric demo --serve</code></p>
  </Empty>
);
