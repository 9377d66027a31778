// The page of one schedule: when it fires, what it creates, what became of its firings, and what can be done to it.
import type { ComponentChildren } from 'preact';
import './schedule.css';
import { getWithText, type ApiError, get } from '../../api/client';
import type { Event, EventPage, ScheduleDescription, ScheduleFiring } from '../../api/types';
import { filterLink } from '../../core/filters';
import { flowLink, flowsLink } from '../../core/flows';
import { rawAt } from '../../core/raw-json';
import { compactDuration, count, duration, plural, relative, shortId } from '../../core/format';
import { catchUpWords, causeWords, exceptionWords, firingState, overlapWords, scheduleEvents, schedulePath, timesWords } from '../../core/schedules';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { place } from '../../live/router';
import { utc } from '../../live/preferences';
import { now } from '../../live/visibility';
import type { PageProps } from '../../page';
import { Condition, Empty, ExecutionLink, Panel, Problem, Sentence, Tags, Text, Time, words } from '../../ui/basic';
import { useShortcuts } from '../../ui/keyboard';
import { showRaw } from '../../ui/raw';
import { JsonText } from '../../ui/viewer';
import { ScheduleActions } from './actions';
import type { LoadedSchedule } from './form';

const mostEvents = 2000;

interface Changes { events: Event[]; more: boolean }

const firings = new Set(['schedule_fired', 'schedule_skipped', 'schedule_buffered']);

/** What people did to it. Its firings have a table of their own. */
async function loadChanges(namespace: string, name: string, abort: AbortSignal): Promise<Changes> {
  const events: Event[] = [];
  let cursor = '';
  let read = 0;
  do {
    const page: EventPage = await get<EventPage>(`${schedulePath(name)}/history`, { namespace, limit: 1000, cursor }, abort);
    events.push(...page.events.filter((event) => !firings.has(event.type)));
    read += page.events.length;
    cursor = page.next_cursor;
  } while (cursor !== '' && read < mostEvents);
  return { events, more: cursor !== '' };
}

async function load(namespace: string, name: string, abort: AbortSignal): Promise<LoadedSchedule> {
  const { value, text } = await getWithText<ScheduleDescription>(schedulePath(name), { namespace }, abort);
  return { about: value, payload: rawAt(text, ['spec', 'execution', 'payload']) };
}

export function Schedule({ params }: PageProps) {
  const name = params['id'] ?? '';
  const namespace = new URLSearchParams(place.value.search).get('namespace') ?? 'default';
  const key = `${namespace}\n${name}`;
  const about = useResource(`schedule ${key}`, (abort) => load(namespace, name, abort), { live: true, every: 5000 });
  const changes = useResource(`changes ${key}`, (abort) => loadChanges(namespace, name, abort), { live: true });
  const soon = useSoon(about.reload, 150);
  const changedSoon = useSoon(changes.reload, 150);
  useEvents({ namespace, type: scheduleEvents }, (events, received) => {
    const own = events.filter((event) => event.schedule === name);
    if (own.length > 0 || received > events.length) soon();
    if (own.some((event) => !firings.has(event.type))) changedSoon();
  });
  useShortcuts([
    { keys: 'r', text: 'load the schedule again', run: () => { about.reload(); changes.reload(); } },
    { keys: 'u', text: 'back', run: () => history.back() },
  ]);
  const gone = about.error?.code === 'not_found';
  if (about.error && (gone || !about.data)) return <Missing name={name} namespace={namespace} error={about.error} retry={about.reload} changes={changes.data} />;
  if (!about.data) return <div class="page" aria-busy="true" />;
  return <View loaded={about.data} changes={changes.data} reload={() => { about.reload(); changes.reload(); }} problem={about.error ?? changes.error} />;
}

const Missing = ({ name, namespace, error, retry, changes }: { name: string; namespace: string; error: ApiError; retry: () => void; changes: Changes | undefined }) => (
  <div class="page">
    <Empty title="This schedule cannot be shown"><p class="mono"><Text>{`${namespace}/${name}`}</Text></p><p>It may have been deleted, or its name is wrong. <a href="/ui/schedules">Show all schedules</a>.</p></Empty>
    {error.code === 'not_found' ? null : <Problem error={error} retry={retry} />}
    {changes && changes.events.length > 0 ? <Panel title="What happened to it" flush><ChangeTable changes={changes} /></Panel> : null}
  </div>
);

function View({ loaded, changes, reload, problem }: { loaded: LoadedSchedule; changes: Changes | undefined; reload: () => void; problem: ApiError | undefined }) {
  const { about } = loaded;
  const { summary } = about;
  return (
    <div class="page">
      <header class="run-head">
        <div class="run-title">
          <h1><Text>{summary.name}</Text></h1>
          <Condition state={summary.state} />
          <span class="muted"><Text>{timesWords(about.spec)}</Text></span>
          <ScheduleActions loaded={loaded} done={reload} showRaw={() => showRaw(about, summary.name)} />
        </div>
      </header>
      {problem ? <Problem error={problem} retry={reload} /> : null}
      <Waiting about={about} />
      <div class="run-cols">
        <div class="stack">
          <Panel title="Definition"><Definition about={about} /></Panel>
          {about.running.length > 0 ? <Panel title={`Not ended (${count(about.running.length)})`} flush><Running about={about} /></Panel> : null}
          <Panel title={`Firings (${about.history.length}${about.history.length >= 100 ? ', the last' : ''})`} flush
            actions={<AllLink about={about} />}><Firings history={about.history} /></Panel>
          {changes && changes.events.length > 0 ? <Panel title={`Changes (${changes.events.length}${changes.more ? ', the first' : ''})`} flush><ChangeTable changes={changes} /></Panel> : null}
        </div>
        <div class="stack">
          <Panel title="Next times"><NextTimes about={about} /></Panel>
          <Panel title="Facts"><Facts about={about} /></Panel>
          <Panel title={about.spec.flow ? 'Flows' : 'Executions'}><Creates loaded={loaded} /></Panel>
        </div>
      </div>
    </div>
  );
}

/** What it has created is tagged with its name. */
function AllLink({ about: { summary, spec } }: { about: ScheduleDescription }) {
  const filter = { namespace: summary.namespace, tag: `schedule.name=${summary.name}` };
  return spec.flow ? <a href={flowsLink(filter)}>All flows</a> : <a href={filterLink(filter)}>All executions</a>;
}

/** What it waits for; that it waits for its next time is said by the list of times. */
function Waiting({ about }: { about: ScheduleDescription }) {
  const reasons = about.explain.filter((reason) => reason.code !== 'waiting_for_time');
  if (reasons.length === 0) return null;
  return (
    <section class="note warning" aria-label="What holds it back">
      <ul class="run-reasons grow">{reasons.map((reason) => <li key={reason.code}><span class="tag"><span>{words(reason.code)}</span></span><span><Text>{reason.sentence}</Text></span></li>)}</ul>
    </section>
  );
}

const fact = (name: string, value: ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;

function Definition({ about: { spec } }: { about: ScheduleDescription }) {
  return (
    <dl class="run-facts">
      {fact('fires', <><Text>{timesWords(spec)}</Text>{spec.cron ? <> <code class="nowrap"><Text>{spec.cron}</Text></code></> : null}</>)}
      {spec.cron || spec.exceptions.length > 0 ? fact('time zone', <Text>{spec.time_zone}</Text>) : null}
      {spec.cron ? null : fact('counted from', spec.anchor_at ? <Time at={spec.anchor_at} /> : 'the beginning of 1970, UTC')}
      {spec.start_at ? fact('not before', <Time at={spec.start_at} />) : null}
      {spec.end_at ? fact('until', <Time at={spec.end_at} />) : null}
      {spec.exceptions.length > 0 ? fact('not on', <Text>{exceptionWords(spec.exceptions)}</Text>) : null}
      {spec.jitter_ms > 0 ? fact('jitter', `each firing is late by a part of ${duration(spec.jitter_ms)}`) : null}
      {fact('overlap', <><b>{words(spec.overlap)}</b> <span class="muted">{overlapWords[spec.overlap]}</span></>)}
      {fact('missed firings', <><b>{words(spec.catch_up)}</b> <span class="muted">{catchUpWords(spec)}</span></>)}
    </dl>
  );
}

function Creates({ loaded: { about: { spec, summary }, payload } }: { loaded: LoadedSchedule }) {
  const { execution, flow } = spec;
  if (!execution) {
    return (
      <dl class="run-facts">
        {fact('kind', <a href={flowsLink({ kind: flow?.kind, namespace: summary.namespace })}><Text>{flow?.kind}</Text></a>)}
        {fact('nodes', count(flow?.nodes?.length ?? 0))}
        {fact('edges', count(flow?.edges?.length ?? 0))}
      </dl>
    );
  }
  const retry = execution.policy?.retry;
  return (
    <div class="stack">
      <dl class="run-facts">
        {fact('kind', <a href={filterLink({ kind: execution.kind, namespace: summary.namespace })}><Text>{execution.kind}</Text></a>)}
        {fact('lane', <a href={filterLink({ lane: execution.lane ?? 'default' })}><Text>{execution.lane}</Text></a>)}
        {execution.priority ? fact('priority', execution.priority) : null}
        {execution.required_capabilities && execution.required_capabilities.length > 0 ? fact('needs', <Text>{execution.required_capabilities.join(', ')}</Text>) : null}
        {execution.deadline_ms ? fact('deadline', `${duration(execution.deadline_ms)} after it was created`) : null}
        {execution.delay_ms ? fact('delay', duration(execution.delay_ms)) : null}
        {retry ? fact('retries', `${retry.max_retries}`) : null}
        {execution.policy?.attempt_timeout_ms ? fact('attempt timeout', compactDuration(execution.policy.attempt_timeout_ms)) : null}
        {execution.creator ? fact('creator', <Text>{execution.creator}</Text>) : null}
        {Object.keys(execution.tags ?? {}).length > 0 ? fact('tags', <span class="run-tags"><Tags tags={execution.tags ?? {}} link={(tag) => filterLink({ tag })} /></span>) : null}
        {payload === undefined ? fact('payload', execution.payload_base64 ? <>{plural(Math.floor((execution.payload_base64.replace(/=+$/, '').length * 3) / 4), 'byte')} <Text>{execution.payload_encoding}</Text></> : 'none') : null}
      </dl>
      {payload !== undefined ? <pre class="code" tabIndex={0} aria-label="Payload"><JsonText text={payload} /></pre> : null}
    </div>
  );
}

function NextTimes({ about }: { about: ScheduleDescription }) {
  if (about.next.length === 0) return <p class="muted">{about.summary.state === 'paused' ? 'None while it is paused.' : 'There is no further time.'}</p>;
  const here = utc.value ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <div class="stack">
      <ol class="sc-next">{about.next.map((at) => <li key={at}><Time at={at} /><span class="muted">{at <= now.value ? 'due' : relative(at, now.value)}</span></li>)}</ol>
      {about.spec.cron && about.spec.time_zone !== here ? <p class="muted">Shown in {utc.value ? 'UTC' : 'your time zone'}; the schedule follows <Text>{about.spec.time_zone}</Text>.</p> : null}
    </div>
  );
}

function Facts({ about }: { about: ScheduleDescription }) {
  const { summary, counts } = about;
  return (
    <dl class="run-facts">
      {fact('namespace', <a href={filterLink({ namespace: summary.namespace })}><Text>{summary.namespace}</Text></a>)}
      {fact('executions', `${count(counts.fired)}: ${count(counts.succeeded)} succeeded, ${count(counts.unsuccessful)} ended otherwise`)}
      {fact('firings', `${count(counts.skipped)} skipped, ${count(counts.missed)} missed, ${count(counts.refused)} refused`)}
      {fact('last fired', <Time at={summary.last_fired_at} />)}
      {about.buffered_at ? fact('waits to start', <>the firing of <Time at={about.buffered_at} /></>) : null}
      {fact('created', <><Time at={summary.created_at} />{about.creator ? <> by <Text>{about.creator}</Text></> : null}</>)}
      {fact('changed', <><Time at={about.changed_at} />{about.changed_by ? <> by <Text>{about.changed_by}</Text></> : null}</>)}
      {about.reason ? fact('reason', <Text>{about.reason}</Text>) : null}
      {fact('revision', about.revision)}
    </dl>
  );
}

/** The execution or the flow of a firing. */
function Created({ execution, flow }: { execution: string | undefined; flow: string | undefined }) {
  if (execution) return <ExecutionLink id={execution} />;
  return flow ? <a class="mono" href={flowLink(flow)} title={flow}>{shortId(flow)}</a> : <span class="muted">–</span>;
}

const Running = ({ about }: { about: ScheduleDescription }) => (
  <div class="scroll-x sc-running" tabIndex={0}>
    <table class="grid">
      <thead><tr><th>{about.spec.flow ? 'flow' : 'execution'}</th><th>scheduled for</th></tr></thead>
      <tbody>{about.running.map((one) => <tr key={one.execution_id ?? one.flow_id}><td class="nowrap"><Created execution={one.execution_id} flow={one.flow_id} /></td><td class="nowrap"><Time at={one.scheduled_at} /></td></tr>)}</tbody>
    </table>
  </div>
);

function Firings({ history }: { history: ScheduleFiring[] }) {
  if (history.length === 0) return <Empty title="It has not fired yet"><p>Each firing is listed here, with what became of it.</p></Empty>;
  return (
    <div class="scroll-x" tabIndex={0}>
      <table class="grid">
        <thead><tr><th>scheduled for</th><th>outcome</th><th>execution or flow</th><th class="right">late by</th><th>cause</th><th>reason</th></tr></thead>
        <tbody>{history.map((firing, index) => <FiringRow key={`${firing.scheduled_at} ${index}`} firing={firing} />)}</tbody>
      </table>
    </div>
  );
}

function FiringRow({ firing }: { firing: ScheduleFiring }) {
  const state = firingState(firing);
  const late = firing.cause === 'timer' && firing.at !== undefined && firing.scheduled_at !== undefined ? firing.at - firing.scheduled_at : undefined;
  return (
    <tr>
      <td class="nowrap"><Time at={firing.scheduled_at} /></td>
      <td><span class="badge" data-state={state.tone}>{state.text}</span></td>
      <td class="nowrap"><Created execution={firing.execution_id} flow={firing.flow_id} /></td>
      <td class="right nowrap">{late === undefined ? <span class="muted">–</span> : duration(Math.max(0, late))}</td>
      <td class="nowrap">{causeWords[firing.cause]}</td>
      <td><Sentence>{firing.detail}</Sentence></td>
    </tr>
  );
}

const ChangeTable = ({ changes }: { changes: Changes }) => (
  <div class="scroll-x" tabIndex={0}>
    <table class="grid">
      <thead><tr><th>at</th><th>change</th><th>actor</th><th>reason</th></tr></thead>
      <tbody>{[...changes.events].reverse().map((event) => (
        <tr key={event.cursor}><td class="nowrap"><Time at={event.at} /></td><td class="nowrap">{words(event.type.replace('schedule_', ''))}</td><td><Text>{event.actor ?? '–'}</Text></td><td><Text>{event.reason ?? '–'}</Text></td></tr>
      ))}</tbody>
    </table>
  </div>
);
