// The run page: what happened to one execution, why, and what can be done about it.
import { useEffect, useState } from 'preact/hooks';
import './execution.css';
import { executionPath, get, getBytes, session } from '../../api/client';
import { allows, endedStates, hasRoute, type Step } from '../../api/contract';
import type { Attempt, Event, EventPage, ExecutionDescription, Failure } from '../../api/types';
import { duration, plural, shortId } from '../../core/format';
import { groupLink, redriveLink } from '../../core/dead-letters';
import { filterLink } from '../../core/filters';
import { flowLink } from '../../core/flows';
import { scheduleLink } from '../../core/schedules';
import { visible } from '../../core/bytes';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { now } from '../../live/visibility';
import type { PageProps } from '../../page';
import { Copy, Empty, Panel, Problem, Sentence, StateBadge, Tags, Text, Time, words } from '../../ui/basic';
import { useShortcuts } from '../../ui/keyboard';
import { showRaw } from '../../ui/raw';
import { BytesView, JsonText } from '../../ui/viewer';
import { Actions, editTags, replay } from './actions';
import { HeldBy } from './limits';
import { Timeline } from './timeline';
import { stepWaitWords, Waits } from './waits';

interface Loaded {
  about: ExecutionDescription;
  events: Event[];
  moreEvents: boolean;
  steps: Step[];
}

const mostEvents = 2000;

async function loadHistory(id: string, abort: AbortSignal): Promise<{ events: Event[]; more: boolean }> {
  const events: Event[] = [];
  let cursor = '';
  do {
    const page: EventPage = await get<EventPage>(`${executionPath(id)}/history`, { limit: 1000, cursor }, abort);
    events.push(...page.events);
    cursor = page.next_cursor;
  } while (cursor !== '' && events.length < mostEvents);
  return { events, more: cursor !== '' };
}

const stepsRoute = 'GET /v1/executions/{execution_id}/steps';

async function loadSteps(id: string, abort: AbortSignal): Promise<Step[]> {
  const steps: Step[] = [];
  let cursor = '';
  if (!hasRoute(stepsRoute)) return steps;
  do {
    const page: { steps: Step[]; next_cursor: string } = await get(`${executionPath(id)}/steps`, { limit: 1000, cursor }, abort);
    steps.push(...page.steps);
    cursor = page.next_cursor;
  } while (cursor !== '' && steps.length < mostEvents);
  return steps;
}

async function load(id: string, abort: AbortSignal): Promise<Loaded> {
  const [about, history, steps] = await Promise.all([get<ExecutionDescription>(executionPath(id), undefined, abort), loadHistory(id, abort), loadSteps(id, abort)]);
  return { about, events: history.events, moreEvents: history.more, steps };
}

export function Execution({ params }: PageProps) {
  const id = params['id'] ?? '';
  // Progress is reported without an event, so a page of something that has not ended looks by itself, too.
  const [moving, setMoving] = useState(true);
  const run = useResource(id, (abort) => load(id, abort), { live: true, every: moving ? 2500 : undefined });
  const state = run.data?.about.summary.public_state;
  useEffect(() => setMoving(state === undefined || !endedStates.has(state)), [state]);
  const soon = useSoon(run.reload, 100);
  useEvents({ execution_id: id }, soon);
  useShortcuts([
    { keys: 'r', text: 'load the execution again', run: run.reload },
    { keys: 'u', text: 'back to the list', run: () => history.back() },
  ]);
  if (run.error && !run.data) return <div class="page"><Missing id={id} /><Problem error={run.error} retry={run.reload} /></div>;
  if (!run.data) return <div class="page" aria-busy="true" />;
  return <Run loaded={run.data} reload={run.reload} problem={run.error ? <Problem error={run.error} retry={run.reload} /> : null} />;
}

const Missing = ({ id }: { id: string }) => (
  <Empty title="This execution cannot be shown"><p class="mono"><Text>{id}</Text></p><p>It may have been removed by retention, or the id is wrong. <a href="/ui/executions">Show all executions</a>. If it is the id of a flow, <a href={flowLink(id)}>open the flow</a>.</p></Empty>
);

function Run({ loaded, reload, problem }: { loaded: Loaded; reload: () => void; problem: preact.ComponentChildren }) {
  const { about, events, steps } = loaded;
  const { summary } = about;
  const raw = (): void => showRaw(about, summary.execution_id);
  return (
    <div class="page">
      <header class="run-head">
        <div class="run-title">
          <h1><Text>{summary.kind}</Text></h1>
          <StateBadge state={summary.public_state} />
          <span class="run-id">{summary.execution_id}<Copy text={summary.execution_id} what="id" /></span>
          <Actions about={about} steps={steps} done={reload} showRaw={raw} />
        </div>
      </header>
      {problem}
      <Why about={about} />
      <div class="run-cols">
        <div class="stack">
          <HeldBy about={about} />
          <Waits about={about} events={events} />
          <Panel title="Timeline"><Timeline events={events} attempts={about.attempts} steps={steps} state={summary.public_state} /></Panel>
          <Payload about={about} />
          <Results about={about} />
          <Panel title={`Attempts (${summary.attempt_count})`} flush><Attempts attempts={about.attempts} /></Panel>
          {steps.length > 0 ? <Panel title={`Steps (${steps.length})`} flush><Steps steps={steps} about={about} reload={reload} /></Panel> : null}
          <Panel title={`History (${events.length}${loaded.moreEvents ? ', the first' : ''})`} flush><History events={events} /></Panel>
        </div>
        <div class="stack">
          <Panel title="Facts"><Facts about={about} /></Panel>
          <Panel title="Tags" actions={allows(session.value, 'operator') ? <button type="button" class="button plain small" onClick={() => editTags({ about, done: reload })}>Edit</button> : null}>
            {Object.keys(summary.tags).length > 0 ? <div class="run-tags"><Tags tags={summary.tags} link={(tag) => filterLink({ tag })} /></div> : <p class="muted">No tags.</p>}
          </Panel>
          <Panel title="Policy"><Policy about={about} /></Panel>
        </div>
      </div>
    </div>
  );
}

/** Why it failed, or why it is not running: the first thing to read. */
function Why({ about }: { about: ExecutionDescription }) {
  const state = about.summary.public_state;
  if ((state === 'failed' || state === 'expired') && about.failure)
    return (
      <section class="panel run-failure" aria-label="Why it failed">
        <div class="panel-body stack">
          <div class="row wrap"><b>Why it failed</b><span class="tag"><span><Text>{about.failure.category}</Text></span></span><span class="muted">attempt {(about.attempt?.attempt_index ?? 0) + 1} of {about.summary.attempt_count}, <Time at={about.summary.finished_at} /></span></div>
          <FailureView failure={about.failure} />
          {about.fingerprint ? <div><a href={groupLink(about.summary.namespace, about.fingerprint)}>Executions that failed in the same way</a></div> : null}
          <Reasons about={about} />
        </div>
      </section>
    );
  if (state === 'active' || state === 'completed') return about.progress ? <Progress about={about} /> : null;
  return (
    <section class="note" aria-label="Why it is not running">
      <div class="grow stack"><b>{endedStates.has(state) ? 'How it ended' : 'Why it is not running'}</b><Reasons about={about} />{about.failure ? <FailureView failure={about.failure} title="The last failure" /> : null}</div>
    </section>
  );
}

const Reasons = ({ about }: { about: ExecutionDescription }) => (
  <ul class="run-reasons">
    {about.explain.map((reason) => <li key={reason.code}><span class="tag"><span>{words(reason.code)}</span></span><span><Sentence>{reason.sentence}</Sentence>{reason.until ? <Left until={reason.until} /> : null}</span></li>)}
    {about.cancellation_reason ? <li><span class="tag"><span>reason</span></span><span><Text>{about.cancellation_reason}</Text></span></li> : null}
    {about.cancelled_by ? <li><span class="tag"><span>by</span></span><span><Text>{about.cancelled_by}</Text></span></li> : null}
  </ul>
);

const Left = ({ until }: { until: number }) => (until > now.value ? <b class="nowrap"> {duration(Math.ceil((until - now.value) / 1000) * 1000)} left</b> : null);

function FailureView({ failure, title }: { failure: Failure; title?: string }) {
  const detail = failure.detail !== undefined ? JSON.stringify(failure.detail) : failure.detail_base64;
  return (
    <div class="stack">
      {title ? <h3>{title}: <Text>{failure.category}</Text></h3> : null}
      {failure.message ? <div class="message">{visible(failure.message)}</div> : title ? null : <div class="muted">The worker gave no message.</div>}
      {detail ? <pre class="code" tabIndex={0} aria-label="Details of the failure"><JsonText text={detail} /></pre> : null}
    </div>
  );
}

const Progress = ({ about }: { about: ExecutionDescription }) => (
  <div class="note"><span class="grow">{about.progress?.percent !== undefined ? <b>{about.progress.percent} % </b> : null}<Text>{about.progress?.message}</Text></span><Time at={about.progress?.updated_at} /></div>
);

function Payload({ about }: { about: ExecutionDescription }) {
  const id = about.summary.execution_id;
  const payload = useResource(`payload ${id}`, (abort) => getBytes(`${executionPath(id)}/payload`, abort));
  return (
    <Panel title="Payload">
      {payload.error ? <Problem error={payload.error} retry={payload.reload} /> : null}
      {payload.data ? <BytesView data={payload.data.data} encoding={payload.data.encoding} name={`${id}-payload`} label="payload" /> : null}
    </Panel>
  );
}

function Results({ about }: { about: ExecutionDescription }) {
  const withResult = about.attempts.filter((attempt) => attempt.has_result);
  const [chosen, setChosen] = useState<number>();
  const index = chosen ?? withResult[withResult.length - 1]?.attempt_index;
  const id = about.summary.execution_id;
  const result = useResource(index === undefined ? undefined : `result ${id} ${index}`, (abort) => getBytes(`${executionPath(id)}/attempts/${index}/result`, abort));
  if (index === undefined) return null;
  return (
    <Panel title="Result" actions={withResult.length > 1
      ? <select aria-label="Attempt" value={index} onChange={(event) => setChosen(Number(event.currentTarget.value))}>{withResult.map((attempt) => <option key={attempt.attempt_index} value={attempt.attempt_index}>attempt {attempt.attempt_index + 1}</option>)}</select> : null}>
      {result.error ? <Problem error={result.error} retry={result.reload} /> : null}
      {result.data ? <BytesView data={result.data.data} encoding={result.data.encoding} name={`${id}-result-${index + 1}`} label="result" /> : null}
    </Panel>
  );
}

const attemptTones: Record<string, string> = { started: 'active', suspended: 'resumable', ended_success: 'completed', ended_failure: 'failed', ended_cancelled: 'cancelled', interrupted: 'lost', interrupted_reclaimed: 'lost' };

function Attempts({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return <Empty title="Not attempted yet"><p>The first attempt begins when a worker claims the execution.</p></Empty>;
  return (
    <div class="scroll-x" tabIndex={0}>
      <table class="grid run-attempts">
        <thead><tr><th class="right">no.</th><th>state</th><th>type</th><th>worker</th><th>started</th><th class="right">took</th><th>failure</th></tr></thead>
        <tbody>{[...attempts].reverse().map((attempt) => (
          <tr key={attempt.attempt_index}>
            <td class="right">{attempt.attempt_index + 1}</td>
            <td><span class="badge" data-state={attemptTones[attempt.attempt_state] ?? 'quiet'}>{words(attempt.attempt_state)}</span></td>
            <td title={attempt.reason}>{attempt.attempt_type}</td>
            <td class="nowrap"><Text>{attempt.worker_instance_id}</Text></td>
            <td class="nowrap"><Time at={attempt.started_at} ms /></td>
            <td class="right nowrap">{attempt.started_at !== undefined && attempt.ended_at !== undefined ? duration(attempt.ended_at - attempt.started_at) : '–'}</td>
            <td>{attempt.failure ? <><b><Text>{attempt.failure.category}</Text></b>{attempt.failure.message ? <>: <Text>{attempt.failure.message}</Text></> : null}</> : <span class="muted">–</span>}</td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

const stepTones: Record<Step['state'], string> = { succeeded: 'step', failed: 'failed', sleep: 'delayed', wait: 'suspended' };

function Steps({ steps, about, reload }: { steps: Step[]; about: ExecutionDescription; reload: () => void }) {
  const canReplay = allows(session.value, 'operator') && endedStates.has(about.summary.public_state);
  return (
    <div class="scroll-x" tabIndex={0}>
      <table class="grid">
        <thead><tr><th class="right">no.</th><th>step</th><th>state</th><th>recorded</th><th class="right">took</th><th class="right">tries</th>{canReplay ? <th><span class="hidden-text">actions</span></th> : null}</tr></thead>
        <tbody>{steps.map((step) => (
          <tr key={step.position}>
            <td class="right">{step.position}</td><td><Text>{step.name}</Text></td>
            <td><span class="badge" data-state={stepTones[step.state]}>{step.state}</span> <Text>{step.failure ? `${step.failure.category}: ${step.failure.message ?? ''}` : step.wait ? stepWaitWords(step.wait) : undefined}</Text></td>
            <td class="nowrap"><Time at={step.recorded_at} ms /></td><td class="right">{duration(step.wake_at !== undefined && step.recorded_at !== undefined ? step.wake_at - step.recorded_at : step.duration_ms)}</td><td class="right">{step.tries}</td>
            {canReplay ? <td class="right"><button type="button" class="button small" onClick={() => replay({ about, done: reload }, step)}>Run again from here …</button></td> : null}
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function History({ events }: { events: Event[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? events : events.slice(-50);
  return (
    <div class="scroll-x" tabIndex={0}>
      <table class="grid">
        <thead><tr><th>at</th><th>event</th><th>state after</th><th class="right">attempt</th><th>actor</th><th>reason</th><th>next at</th></tr></thead>
        <tbody>{[...shown].reverse().map((event) => (
          <tr key={event.cursor}>
            <td class="nowrap"><Time at={event.at} ms /></td><td>{words(event.type)}</td>
            <td>{event.state_after ? <StateBadge state={event.state_after} /> : '–'}</td>
            <td class="right">{event.attempt_index === undefined ? '–' : event.attempt_index + 1}</td>
            <td><Text>{event.actor ?? '–'}</Text></td><td><Text>{event.reason ?? '–'}</Text></td><td><Time at={event.next_at} /></td>
          </tr>
        ))}</tbody>
      </table>
      {shown.length < events.length ? <div class="vtable-foot"><button type="button" class="button small" onClick={() => setAll(true)}>Show all {events.length} events</button></div> : null}
    </div>
  );
}

function Facts({ about }: { about: ExecutionDescription }) {
  const { summary, lease, state } = about;
  const fact = (name: string, value: preact.ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;
  // Executions of a schedule have its name, and the time at which it was to fire, as tags.
  const schedule = summary.tags['schedule.name'];
  const scheduledFor = schedule === undefined ? 0 : Date.parse(summary.tags['schedule.at'] ?? '');
  const waited = summary.started_at !== undefined && summary.created_at !== undefined ? duration(summary.started_at - summary.created_at) : '–';
  return (
    <dl class="run-facts">
      {fact('lane', <a href={filterLink({ lane: summary.lane })}><Text>{summary.lane}</Text></a>)}
      {fact('namespace', <a href={filterLink({ namespace: summary.namespace })}><Text>{summary.namespace}</Text></a>)}
      {fact('kind', <a href={filterLink({ kind: summary.kind })}><Text>{summary.kind}</Text></a>)}
      {summary.flow_id ? fact('flow', <a class="mono" href={flowLink(summary.flow_id)} title={summary.flow_id}>{shortId(summary.flow_id)}</a>) : null}
      {summary.flow_id && summary.node !== undefined ? fact('node', <a href={flowLink(summary.flow_id, summary.node)}><Text>{summary.node}</Text></a>) : null}
      {schedule !== undefined ? fact('schedule', <a href={scheduleLink(summary.namespace, schedule)}><Text>{schedule}</Text></a>) : null}
      {scheduledFor > 0 ? fact('scheduled for', <Time at={scheduledFor} />) : null}
      {fact('priority', summary.priority)}
      {fact('created', <Time at={summary.created_at} ms />)}
      {about.creator ? fact('creator', <Text>{about.creator}</Text>) : null}
      {about.submit_key ? fact(`${about.submit_key.kind} key`, <><Text>{about.submit_key.key}</Text>{about.submit_key.held ? <span class="muted"> held</span> : null}</>) : null}
      {fact('first started', <><Time at={summary.started_at} ms /> <span class="muted">waited {waited}</span></>)}
      {fact('finished', <Time at={summary.finished_at} ms />)}
      {about.delay_until ? fact('delayed until', <Time at={about.delay_until} ms />) : null}
      {about.deadline_at ? fact('deadline', <Time at={about.deadline_at} ms />) : null}
      {fact('attempts', `${summary.attempt_count}: ${plural(about.retry_count, 'retry', 'retries')}, ${plural(about.reclaim_count, 'reclaim')}, ${plural(about.replay_count, 'replay')}`)}
      {about.required_capabilities.length > 0 ? fact('needs', <Text>{about.required_capabilities.join(', ')}</Text>) : null}
      {lease ? fact('leased to', <><Text>{lease.worker_instance_id}</Text> <span class="muted">until <Time at={lease.expires_at} /></span></>) : null}
      {lease ? fact('lease renewed', <Time at={lease.renewed_at} />) : null}
      {about.redrive_id ? fact('redrive', <a class="mono" href={redriveLink(about.redrive_id)} title={about.redrive_id}>{shortId(about.redrive_id)}</a>) : null}
      {fact('lease epoch', about.lease_epoch)}
      {fact('phase', `${words(state.lifecycle_phase)}, ${words(state.ownership_state)}`)}
    </dl>
  );
}

function Policy({ about }: { about: ExecutionDescription }) {
  const { policy } = about;
  const fact = (name: string, value: preact.ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;
  const retry = policy.retry;
  return (
    <dl class="run-facts">
      {fact('retries', retry ? `${retry.max_retries}, ${retry.backoff} from ${duration(retry.initial_delay_ms ?? 0)} to ${duration(retry.max_delay_ms ?? 0)}` : 'none')}
      {retry?.retryable_categories && retry.retryable_categories.length > 0 ? fact('retried', <Text>{retry.retryable_categories.join(', ')}</Text>) : null}
      {fact('attempt timeout', policy.attempt_timeout_ms ? duration(policy.attempt_timeout_ms) : 'none')}
      {fact('lost lease', policy.on_lease_lost)}
      {fact('replays allowed', policy.max_replays)}
    </dl>
  );
}
