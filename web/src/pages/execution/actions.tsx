// What can be done to one execution. Each asks first; each can be copied as a command.
import { call, executionPath, session } from '../../api/client';
import { allows, endedStates, hasRoute, type Step } from '../../api/contract';
import type { CancelReply, ExecutionDescription, ReplayReply, RevokeReply } from '../../api/types';
import { asCli, asCurl, quote } from '../../core/commands';
import { plural } from '../../core/format';
import { parseTags } from '../../core/tags';
import { visibleLine } from '../../core/bytes';
import { copyText, Icon, words } from '../../ui/basic';
import { confirm, withReason } from '../../ui/dialog';
import { Menu } from '../../ui/menu';

interface Props { about: ExecutionDescription; steps: Step[]; done: () => void; showRaw: () => void }

const origin = (): string => window.location.origin;
const reasonWords = (values: Record<string, string>): string[] => (values['reason'] ? ['--reason', values['reason']] : []);

export function replay({ about, done }: Pick<Props, 'about' | 'done'>, step?: Step): void {
  const id = about.summary.execution_id;
  confirm({
    title: step ? `Run again from step ${visibleLine(step.name)}` : 'Run this execution again',
    text: step
      ? <>Steps before <b>{visibleLine(step.name)}</b> keep their recorded results; it and those after it run again.</>
      : <>It starts over with the same payload and goes to the end of the queue of lane <b>{visibleLine(about.summary.lane)}</b>. Its history is kept. It was run again {plural(about.replay_count, 'time')} so far, of {about.policy.max_replays} allowed.</>,
    action: 'Run again',
    reason: true,
    command: (values) => asCli(['executions', 'replay', id, ...(step ? ['--from-step', step.name] : []), ...reasonWords(values)], origin()),
    run: async (values) => {
      const reply = await call<ReplayReply>('POST', `${executionPath(id)}/replay`, withReason(values, step ? { from_step: step.name } : {}));
      done();
      return `Started again; it is ${words(reply.public_state)}`;
    },
  });
}

function cancel({ about, done }: Props): void {
  const id = about.summary.execution_id;
  confirm({
    title: 'Cancel this execution',
    text: about.lease ? <>It is running on <b>{visibleLine(about.lease.worker_instance_id)}</b>, which loses its lease. What the worker has done so far is not undone.</> : 'It ends as cancelled and is not run.',
    action: 'Cancel execution', danger: true, reason: true,
    command: (values) => asCli(['executions', 'cancel', id, ...reasonWords(values), '--yes'], origin()),
    run: async (values) => {
      const reply = await call<CancelReply>('POST', `${executionPath(id)}/cancel`, withReason(values));
      done();
      return reply.already_cancelled ? 'It was cancelled before' : 'Cancelled';
    },
  });
}

function revoke({ about, done }: Props): void {
  const id = about.summary.execution_id;
  const lease = about.lease;
  if (!lease) return;
  confirm({
    title: 'Revoke the lease',
    text: <>The worker <b>{visibleLine(lease.worker_instance_id)}</b> can no longer complete this execution. {about.policy.on_lease_lost === 'manual' ? 'It then waits for a reclaim.' : 'It goes back to its queue.'}</>,
    action: 'Revoke lease', danger: true, reason: true,
    command: (values) => asCli(['executions', 'revoke-lease', id, '--lease-id', lease.lease_id, ...reasonWords(values)], origin()),
    run: async (values) => {
      // Only the lease that is shown: if another worker has it by now, the server refuses.
      const reply = await call<RevokeReply>('POST', `${executionPath(id)}/revoke-lease`, withReason(values, { expected_lease_id: lease.lease_id }));
      done();
      return `Lease revoked; it is ${words(reply.public_state)}`;
    },
  });
}

function priority({ about, done }: Props): void {
  const id = about.summary.execution_id;
  confirm({
    title: 'Set the priority', text: <span class="muted">Higher goes first. The execution keeps its place among equals.</span>, action: 'Set priority', reason: true,
    initial: { priority: String(about.summary.priority) },
    fields: (values, set) => (
      <label class="field"><span>Priority <span class="hint">−32768 to 32767</span></span><input type="number" name="priority" min={-32768} max={32767} required value={values['priority'] ?? ''} onInput={(event) => set('priority', event.currentTarget.value)} /></label>
    ),
    command: (values) => asCli(['executions', 'priority', id, '--to', values['priority'] ?? '0', ...reasonWords(values)], origin()),
    run: async (values) => {
      await call('PUT', `${executionPath(id)}/priority`, withReason(values, { priority: Number(values['priority']) }));
      done();
      return 'Priority set';
    },
  });
}

export function editTags({ about, done }: Pick<Props, 'about' | 'done'>): void {
  const id = about.summary.execution_id;
  const before = about.summary.tags;
  const change = (values: Record<string, string>): { set: Record<string, string>; remove: string[] } => {
    const after = parseTags(values['tags'] ?? '');
    return {
      set: Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key] !== value)),
      remove: Object.keys(before).filter((key) => !(key in after)),
    };
  };
  confirm({
    title: 'Edit the tags', text: <span class="muted">One per line, as key=value. Keys look like team.name.</span>, action: 'Save', reason: true,
    initial: { tags: Object.entries(before).map(([key, value]) => `${key}=${value}`).join('\n') },
    fields: (values, set) => <label class="field"><span>Tags</span><textarea name="tags" rows={5} value={values['tags'] ?? ''} onInput={(event) => set('tags', event.currentTarget.value)} spellcheck={false} /></label>,
    command: (values) => {
      const { set, remove } = change(values);
      return asCli(['executions', 'tags', id, ...Object.entries(set).flatMap(([key, value]) => ['--set', `${key}=${value}`]), ...remove.flatMap((key) => ['--remove', key])], origin());
    },
    run: async (values) => {
      await call('PATCH', `${executionPath(id)}/tags`, withReason(values, change(values)));
      done();
      return 'Tags saved';
    },
  });
}

export function Actions(props: Props) {
  const { about, steps } = props;
  const id = about.summary.execution_id;
  const operator = allows(session.value, 'operator');
  const ended = endedStates.has(about.summary.public_state);
  const withKey = session.value?.authentication ?? false;
  return (
    <div class="run-actions">
      {operator && ended ? <button type="button" class="button primary" onClick={() => replay(props)}>Run again …</button> : null}
      {operator && ended && steps.length > 0 && hasRoute('GET /v1/executions/{execution_id}/steps')
        ? <Menu label={<>From step<Icon name="down" /></>}>{steps.map((step) => <button type="button" key={step.position} onClick={() => replay(props, step)}>{step.position}. {visibleLine(step.name)}</button>)}</Menu> : null}
      {operator && !ended ? <button type="button" class="button danger" onClick={() => cancel(props)}>Cancel …</button> : null}
      {operator && about.lease ? <button type="button" class="button" onClick={() => revoke(props)}>Revoke lease …</button> : null}
      {operator && !ended ? <button type="button" class="button" onClick={() => priority(props)}>Priority …</button> : null}
      <Menu label={<Icon name="more" />} name="More">
        <button type="button" onClick={props.showRaw}>Raw JSON</button>
        <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
        <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: executionPath(id) }, origin(), withKey), 'curl command')}>Copy as curl</button>
        <button type="button" onClick={() => void copyText(`flowfabric executions show ${quote(id)} --payload --result --store ${origin()}`, 'Command')}>Copy as CLI</button>
      </Menu>
    </div>
  );
}
