// Lanes: what each holds, how fast it goes, and the switches that stop and start it.
import { useState } from 'preact/hooks';
import { call, get, session } from '../../api/client';
import { allows, endedStates, publicStates, type LaneState, type Overview, type OverviewLane } from '../../api/contract';
import type { CountsReply, Lane, LanesReply } from '../../api/types';
import { asCli } from '../../core/commands';
import { duration, plural, rate, roughly } from '../../core/format';
import { filterLink } from '../../core/filters';
import { visibleLine } from '../../core/bytes';
import { useEvents, useResource } from '../../live/hooks';
import { loadOverview } from '../../live/overview';
import { grouped, lastRate } from '../../core/overview';
import { now } from '../../live/visibility';
import { Condition, Count, Empty, Icon, Panel, Problem, Text, Time } from '../../ui/basic';
import { Spark } from '../../ui/chart';
import { confirm, withReason } from '../../ui/dialog';
import { Menu } from '../../ui/menu';

interface Loaded { lanes: Lane[]; counts: Map<string, Record<string, number>>; overview: Overview }

async function load(abort: AbortSignal): Promise<Loaded> {
  const [lanes, counts, overview] = await Promise.all([
    get<LanesReply>('/v1/lanes', undefined, abort), get<CountsReply>('/v1/counts', undefined, abort), loadOverview(abort),
  ]);
  return { lanes: lanes.lanes, counts: new Map(counts.lanes.map((lane) => [lane.lane, lane.counts])), overview };
}

const verbs: Record<LaneState, { title: string; cli: string; text: string; danger?: boolean }> = {
  active: { title: 'Resume', cli: 'resume', text: 'The lane accepts executions and hands them out again.' },
  paused: { title: 'Pause', cli: 'pause', text: 'The lane accepts executions but hands none out. What is running goes on.' },
  draining: { title: 'Drain', cli: 'drain', text: 'The lane hands out what it has, but refuses new executions.' },
  disabled: { title: 'Disable', cli: 'disable', text: 'The lane refuses new executions and hands none out.', danger: true },
};

function change(lane: string, to: LaneState, done: () => void): void {
  const verb = verbs[to];
  confirm({
    title: `${verb.title} lane ${visibleLine(lane)}`, text: verb.text, action: verb.title, danger: verb.danger, reason: true,
    command: (values) => asCli(['lanes', verb.cli, lane, ...(values['reason'] ? ['--reason', values['reason']] : [])], window.location.origin),
    run: async (values) => {
      const reply = await call<Lane>('PUT', `/v1/lanes/${encodeURIComponent(lane)}`, withReason(values, { state: to }));
      done();
      return `Lane ${visibleLine(lane)} is ${reply.state}`;
    },
  });
}

export function Lanes() {
  const data = useResource('lanes', load, { every: 2500, live: true });
  const [find, setFind] = useState('');
  useEvents({ type: 'lane_changed' }, data.reload);
  const lanes = (data.data?.lanes ?? []).filter((lane) => lane.lane.includes(find.trim()));
  const samples = new Map<string, OverviewLane>((data.data?.overview.lanes ?? []).map((lane) => [lane.lane, lane]));
  return (
    <div class="page">
      <div class="page-head">
        <h1 class="grow">Lanes</h1>
        <input aria-label="Find a lane" placeholder="Find a lane" value={find} onInput={(event) => setFind(event.currentTarget.value)} />
      </div>
      {data.error ? <Problem error={data.error} retry={data.reload} /> : null}
      {data.data ? (
        <Panel title={lanes.length === data.data.lanes.length ? plural(lanes.length, 'lane') : `${lanes.length} of ${plural(data.data.lanes.length, 'lane')}`} flush>
          {lanes.length === 0 ? <Empty title={data.data.lanes.length === 0 ? 'There are no lanes yet' : 'No lane has this name'}><p>A lane is created by its first execution.</p></Empty>
            : <Table lanes={lanes} counts={data.data.counts} samples={samples} intervalMs={data.data.overview.interval_ms} reload={data.reload} />}
        </Panel>
      ) : null}
    </div>
  );
}

function Table({ lanes, counts, samples, intervalMs, reload }: { lanes: Lane[]; counts: Loaded['counts']; samples: Map<string, OverviewLane>; intervalMs: number; reload: () => void }) {
  const operator = allows(session.value, 'operator') && session.value?.namespace === undefined;
  return (
    <div class="scroll-x" tabIndex={0}>
      <table class="grid">
        <thead><tr>
          <th>lane</th><th>state</th><th>completed</th><th class="right">per s</th><th class="right">oldest waiting</th><th class="right">waiting</th><th class="right">active</th><th class="right">delayed</th><th class="right">other</th>
          <th class="right">completed</th><th class="right">failed</th><th class="right" title="cancelled, expired or skipped">gone</th>{operator ? <th><span class="hidden-text">actions</span></th> : null}
        </tr></thead>
        <tbody>{lanes.map((lane) => <Row key={lane.lane} lane={lane} counts={counts.get(lane.lane) ?? {}} figures={samples.get(lane.lane)} intervalMs={intervalMs} operator={operator} reload={reload} />)}</tbody>
      </table>
    </div>
  );
}

const named = new Set(['waiting', 'delayed', 'active', 'completed', 'failed']);

function Row({ lane, counts, figures, intervalMs, operator, reload }: { lane: Lane; counts: Record<string, number>; figures: OverviewLane | undefined; intervalMs: number; operator: boolean; reload: () => void }) {
  const series = figures?.samples ?? [];
  const sum = (ended: boolean): number => publicStates.filter((state) => !named.has(state) && endedStates.has(state) === ended).reduce((all, state) => all + (counts[state] ?? 0), 0);
  const cell = (state: 'waiting' | 'delayed' | 'active' | 'completed' | 'failed') =>
    <td class="right">{counts[state] ? <a href={filterLink({ lane: lane.lane, state: [state] })}><Count value={counts[state]} /></a> : <Count value={0} />}</td>;
  const oldest = figures?.oldest_waiting_at;
  return (
    <tr>
      <td class="lane-name"><a href={filterLink({ lane: lane.lane })}><Text>{lane.lane}</Text></a></td>
      <td><Condition state={lane.state} />{lane.state !== 'active' && lane.changed_by ? <div class="lane-note">by <Text>{lane.changed_by}</Text>{lane.reason ? <>: <Text>{lane.reason}</Text></> : null}, <Time at={lane.changed_at} /></div> : null}</td>
      <td><Spark values={grouped(series, 120)} label={`Completed per ${duration(intervalMs)} in ${lane.lane}`} /></td>
      <td class="right">{rate(lastRate(series, intervalMs))}</td>
      <td class="right nowrap">{oldest ? roughly(Math.max(0, now.value - oldest)) : <span class="muted">–</span>}</td>
      {cell('waiting')}{cell('active')}{cell('delayed')}<td class="right"><Count value={sum(false)} /></td>{cell('completed')}{cell('failed')}<td class="right"><Count value={sum(true)} /></td>
      {operator ? <td><Switches lane={lane} reload={reload} /></td> : null}
    </tr>
  );
}

/** The usual switch as a button, the others in a menu. */
function Switches({ lane, reload }: { lane: Lane; reload: () => void }) {
  const first: LaneState = lane.state === 'active' ? 'paused' : 'active';
  const others = (['paused', 'draining', 'disabled'] as const).filter((state) => state !== lane.state && state !== first);
  return (
    <div class="row">
      <button type="button" class="button small" onClick={() => change(lane.lane, first, reload)}>{verbs[first].title}</button>
      <Menu label={<Icon name="more" />} name={`More for lane ${visibleLine(lane.lane)}`} class="small plain">
        {others.map((to) => <button type="button" key={to} onClick={() => change(lane.lane, to, reload)}>{verbs[to].title} …</button>)}
      </Menu>
    </div>
  );
}
