// What can be done to a schedule. Each asks first; each can be copied as a command.
import { call, get, session, withQuery } from '../../api/client';
import { allows } from '../../api/contract';
import type { BackfillReply, NextRuns, ScheduleDescription, ScheduleSaved, TriggerReply } from '../../api/types';
import { visibleLine } from '../../core/bytes';
import { asCli, asCurl } from '../../core/commands';
import { fromLocalInput, plural, toLocalInput } from '../../core/format';
import { mostBackfilled, previewRange, rangeWords, schedulePath, schedulesLink } from '../../core/schedules';
import { useResource } from '../../live/hooks';
import { navigate } from '../../live/router';
import { copyText, Icon, Problem, Time } from '../../ui/basic';
import { confirm, withReason } from '../../ui/dialog';
import { Menu } from '../../ui/menu';
import { editSchedule, type LoadedSchedule } from './form';

interface Props { about: ScheduleDescription; done: () => void }

const origin = (): string => window.location.origin;
const nameWords = ({ summary }: ScheduleDescription): string[] => [summary.name, ...(summary.namespace === 'default' ? [] : ['--namespace', summary.namespace])];
const reasonWords = (values: Record<string, string>): string[] => (values['reason'] ? ['--reason', values['reason']] : []);
const pathOf = ({ summary }: ScheduleDescription, verb = ''): string => `${schedulePath(summary.name)}${verb}`;
const bodyOf = (about: ScheduleDescription, values: Record<string, string>, more: Record<string, unknown> = {}): Record<string, unknown> =>
  withReason(values, { namespace: about.summary.namespace, ...more });

function pauseOrResume({ about, done }: Props): void {
  const paused = about.summary.state === 'paused';
  const verb = paused ? 'resume' : 'pause';
  confirm({
    title: `${paused ? 'Resume' : 'Pause'} schedule ${visibleLine(about.summary.name)}`,
    text: paused ? 'It goes on with the next time. What has passed meanwhile was not missed, and can be backfilled.' : 'No time comes until it is resumed. Executions that run go on. It can still be fired by hand.',
    action: paused ? 'Resume' : 'Pause', reason: true,
    command: (values) => asCli(['schedules', verb, ...nameWords(about), ...reasonWords(values)], origin()),
    run: async (values) => {
      const saved = await call<ScheduleSaved>('POST', pathOf(about, `/${verb}`), bodyOf(about, values));
      done();
      return `The schedule is ${saved.state}`;
    },
  });
}

const triggered: Record<TriggerReply['outcome'], string> = {
  fired: 'An execution was started', skipped: 'Skipped: an execution of an earlier firing has not ended', buffered: 'It starts when the execution that runs has ended', missed: 'It was missed', refused: 'The execution was refused; the history says why',
};

function trigger({ about, done }: Props): void {
  const beside = (values: Record<string, string>): boolean => values['ignore_overlap'] === 'yes';
  confirm({
    title: `Fire ${visibleLine(about.summary.name)} now`,
    text: <>{about.spec.execution
      ? <>An execution of kind <b>{visibleLine(about.spec.execution.kind)}</b> starts in lane <b>{visibleLine(about.spec.execution.lane ?? 'default')}</b>.</>
      : <>A flow of kind <b>{visibleLine(about.summary.kind ?? '')}</b> starts.</>} The next time stays as it is.</>,
    action: 'Fire now', reason: true,
    fields: (values, set) => (about.spec.overlap === 'allow' ? null : (
      <label class="fl-check"><input type="checkbox" name="ignore_overlap" checked={beside(values)} onChange={(event) => set('ignore_overlap', event.currentTarget.checked ? 'yes' : '')} /><span>Also beside an execution that runs <span class="muted">whatever the overlap policy says</span></span></label>
    )),
    command: (values) => asCli(['schedules', 'trigger', ...nameWords(about), ...(beside(values) ? ['--ignore-overlap'] : []), ...reasonWords(values)], origin()),
    run: async (values) => {
      const reply = await call<TriggerReply>('POST', pathOf(about, '/trigger'), bodyOf(about, values, { ignore_overlap: beside(values) }));
      done();
      return triggered[reply.outcome];
    },
  });
}

function BackfillPreview({ about, from, to }: { about: ScheduleDescription; from: number | undefined; to: number | undefined }) {
  const valid = from !== undefined && to !== undefined && from < to;
  const next = useResource(valid ? `next ${from} ${to}` : undefined, async (abort) => {
    const query = { namespace: about.summary.namespace, count: mostBackfilled };
    // The server gives the times after a moment, and a thousand of them at most; one more tells whether there are too many.
    const first = await get<NextRuns>(pathOf(about, '/next'), { ...query, from: (from ?? 1) - 1 }, abort);
    const last = first.next[first.next.length - 1];
    const more = first.next.length < mostBackfilled ? [] : (await get<NextRuns>(pathOf(about, '/next'), { ...query, from: last, count: 1 }, abort)).next;
    return previewRange([...first.next, ...more], to ?? 0, Date.now());
  });
  if (!valid) return <p class="muted">Choose where the range begins, and a later time at which it ends.</p>;
  if (next.error) return <Problem error={next.error} />;
  if (!next.data) return <p class="muted">Counting …</p>;
  const { times, tooMany } = next.data;
  return (
    <div class={tooMany ? 'note warning' : 'note'} role="status">
      <div class="grow">
        <div>{rangeWords(next.data)}</div>
        {times.length > 0 && !tooMany ? <div class="muted">{times.length === 1 ? <Time at={times[0]} /> : <>The first at <Time at={times[0]} />, the last at <Time at={times[times.length - 1]} />.</>}</div> : null}
      </div>
    </div>
  );
}

const dayMs = 86_400_000;

function backfill({ about, done }: Props): void {
  const range = (values: Record<string, string>) => ({ from: fromLocalInput(values['from'] ?? ''), to: fromLocalInput(values['to'] ?? '') });
  confirm({
    title: `Backfill ${visibleLine(about.summary.name)}`,
    text: 'Creates the executions of past times that have none. They all start at once, whatever the overlap policy says; lanes and workers pace them.',
    action: 'Create executions', reason: true,
    initial: { from: toLocalInput(Date.now() - dayMs), to: toLocalInput(Date.now()) },
    fields: (values, set) => (
      <>
        <div class="form-two">
          <label class="field"><span>From <span class="hint">your local time</span></span><input type="datetime-local" step="1" name="from" required value={values['from']} onInput={(event) => set('from', event.currentTarget.value)} /></label>
          <label class="field"><span>To <span class="hint">does not belong to it</span></span><input type="datetime-local" step="1" name="to" required value={values['to']} onInput={(event) => set('to', event.currentTarget.value)} /></label>
        </div>
        <BackfillPreview about={about} {...range(values)} />
      </>
    ),
    command: (values) => {
      const { from, to } = range(values);
      const text = (at: number | undefined): string => (at === undefined ? '' : new Date(at).toISOString());
      return asCli(['schedules', 'backfill', ...nameWords(about), '--from', text(from), '--to', text(to), ...reasonWords(values)], origin());
    },
    run: async (values) => {
      const reply = await call<BackfillReply>('POST', pathOf(about, '/backfill'), bodyOf(about, values, range(values)));
      done();
      return `${plural(reply.created, 'execution')} created; ${plural(reply.existing, 'time')} had one already`;
    },
  });
}

function remove({ about }: Props): void {
  confirm({
    title: `Delete schedule ${visibleLine(about.summary.name)}`,
    text: 'It never fires again. Executions that it has created go on. Its events can be read for another day.', action: 'Delete schedule', danger: true, reason: true,
    command: (values) => asCli(['schedules', 'delete', ...nameWords(about), ...reasonWords(values), '--yes'], origin()),
    run: async (values) => {
      await call<ScheduleSaved>('DELETE', withQuery(pathOf(about), { namespace: about.summary.namespace, reason: values['reason'] }));
      navigate(schedulesLink({}));
      return `Schedule ${visibleLine(about.summary.name)} deleted`;
    },
  });
}

export function ScheduleActions({ loaded, done, showRaw }: { loaded: LoadedSchedule; done: () => void; showRaw: () => void }) {
  const { about } = loaded;
  const props: Props = { about, done };
  const operator = allows(session.value, 'operator');
  // The form has no fields for flows: `flowfabric schedules update --file` changes their schedules.
  const worker = allows(session.value, 'worker');
  const curl = { method: 'GET', path: withQuery(pathOf(about), { namespace: about.summary.namespace }) };
  return (
    <div class="run-actions">
      {worker ? <button type="button" class="button primary" onClick={() => trigger(props)}>Fire now …</button> : null}
      {operator ? <button type="button" class="button" onClick={() => pauseOrResume(props)}>{about.summary.state === 'paused' ? 'Resume …' : 'Pause …'}</button> : null}
      {operator ? <button type="button" class="button" onClick={() => backfill(props)}>Backfill …</button> : null}
      {worker && about.spec.execution ? <button type="button" class="button" onClick={() => editSchedule(loaded, undefined, done)}>Edit …</button> : null}
      {operator ? <button type="button" class="button danger" onClick={() => remove(props)}>Delete …</button> : null}
      <Menu label={<Icon name="more" />} name="More">
        <button type="button" onClick={showRaw}>Raw JSON</button>
        <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
        <button type="button" onClick={() => void copyText(asCurl(curl, origin(), session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
        <button type="button" onClick={() => void copyText(asCli(['schedules', 'show', ...nameWords(about)], origin()), 'Command')}>Copy as CLI</button>
      </Menu>
    </div>
  );
}
