// What an execution waits for: the condition in words, its waitpoints, what has arrived, and the means of the operator.
import { useEffect } from 'preact/hooks';
import { call, executionPath, get, session } from '../../api/client';
import { allows, endedStates } from '../../api/contract';
import type { Event, ExecutionDescription, ExecutionWaits, SignalReply, WaitInfo, WaitOutcome, WaitpointInfo, WaitpointToken } from '../../api/types';
import { visibleLine } from '../../core/bytes';
import { asCli } from '../../core/commands';
import { causeWords, conditionWords, leftWords, timeoutWords } from '../../core/waits';
import { useResource } from '../../live/hooks';
import { now } from '../../live/visibility';
import { DecideButtons, Decisions, DocumentView } from '../../ui/approval';
import { Ago, copyText, Icon, Panel, Problem, Text, Time } from '../../ui/basic';
import { confirm, show, Dialog, withReason } from '../../ui/dialog';
import { Menu } from '../../ui/menu';

export const stepWaitWords = (outcome: WaitOutcome): string =>
  `${causeWords(outcome)}${outcome.signals.length > 0 ? `: ${outcome.signals.map((signal) => `${signal.name}${signal.source ? ` from ${signal.source}` : ''}`).join(', ')}` : ''}`;

const origin = (): string => window.location.origin;
const reasonWords = (values: Record<string, string>): string[] => (values['reason'] ? ['--reason', values['reason']] : []);

export function Waits({ about, events }: { about: ExecutionDescription; events: Event[] }) {
  const id = about.summary.execution_id;
  // Most executions never wait, and are not asked about it.
  const concerned = about.summary.public_state === 'suspended' || events.some((event) => event.type === 'suspended' || event.type === 'waitpoint_opened' || event.type === 'signal_delivered');
  const waits = useResource(concerned ? `waits ${id}` : undefined, (abort) => get<ExecutionWaits>(`${executionPath(id)}/waits`, undefined, abort), { live: true });
  const newest = events[events.length - 1]?.cursor;
  useEffect(waits.reload, [newest]);
  if (!concerned) return null;
  if (waits.error) return <Problem error={waits.error} retry={waits.reload} />;
  const data = waits.data;
  if (!data || (!data.wait && data.waitpoints.length === 0 && data.signals.length === 0 && !data.last_wait)) return null;
  return (
    <Panel title={data.wait ? 'What it waits for' : 'Waits'} actions={<WaitActions about={about} waits={data} done={waits.reload} />}>
      <div class="stack">
        {data.wait ? <Condition wait={data.wait} /> : null}
        {data.waitpoints.map((waitpoint) => <Waitpoint key={waitpoint.number} id={id} waitpoint={waitpoint} done={waits.reload} />)}
        {data.signals.length > 0 ? <Signals waits={data} /> : null}
        {data.last_wait ? <LastWait outcome={data.last_wait} /> : null}
      </div>
    </Panel>
  );
}

const Condition = ({ wait }: { wait: WaitInfo }) => (
  <dl class="run-facts">
    {wait.reason ? <><dt>reason</dt><dd><Text>{wait.reason}</Text></dd></> : null}
    <dt>until there is</dt><dd><Text>{conditionWords(wait.condition)}</Text></dd>
    {wait.veto ? <><dt>ends at once with</dt><dd><Text>{conditionWords(wait.veto)}</Text></dd></> : null}
    <dt>waits since</dt><dd><Time at={wait.since} /> <span class="muted"><Ago at={wait.since} /></span></dd>
    <dt>time limit</dt>
    <dd>{wait.timeout_at ? <><Time at={wait.timeout_at} />, <b>{leftWords(wait.timeout_at, now.value)}</b>; then {timeoutWords(wait)}</> : 'none'}{wait.escalated ? <> <span class="badge" data-state="warn">escalated</span></> : null}</dd>
  </dl>
);

function Waitpoint({ id, waitpoint, done }: { id: string; waitpoint: WaitpointInfo; done: () => void }) {
  const { approval } = waitpoint;
  const operator = allows(session.value, 'operator');
  return (
    <section class="wt-point" aria-label={`Waitpoint ${visibleLine(waitpoint.name)}`}>
      <div class="row wrap">
        <b><Text>{waitpoint.name}</Text></b>
        <span class="muted">opened <Ago at={waitpoint.opened_at} />{waitpoint.waited_for ? '' : ', not waited for yet'}{approval ? '' : `, ${waitpoint.signals === 1 ? '1 signal' : `${waitpoint.signals} signals`}`}</span>
        <span class="grow" />
        {operator ? (
          <Menu label={<Icon name="more" />} name={`More for waitpoint ${visibleLine(waitpoint.name)}`} class="small plain">
            <button type="button" onClick={() => reissue(id, waitpoint, done)}>{approval ? 'New link …' : 'New token …'}</button>
            <button type="button" onClick={() => close(id, waitpoint, done)}>Close …</button>
          </Menu>
        ) : null}
      </div>
      {approval ? (
        <div class="stack">
          <div><Text>{approval.title}</Text></div>
          <Decisions approval={approval} />
          {approval.approvers.length > 0 ? <p class="muted">May decide: <Text>{approval.approvers.join(', ')}</Text></p> : null}
          <DocumentView approval={approval} name={`${id}-${waitpoint.number}`} />
          <DecideButtons id={id} waitpoint={waitpoint} approval={approval} done={done} />
        </div>
      ) : null}
    </section>
  );
}

const Signals = ({ waits }: { waits: ExecutionWaits }) => (
  <div class="scroll-x" tabIndex={0}>
    <table class="grid" aria-label="Signals that have arrived">
      <thead><tr><th class="right">no.</th><th>signal</th><th>waitpoint</th><th>from</th><th>arrived</th></tr></thead>
      <tbody>{waits.signals.map((signal) => (
        <tr key={signal.number}><td class="right">{signal.number}</td><td><Text>{signal.name}</Text></td><td><Text>{signal.waitpoint}</Text></td><td><Text>{signal.source ?? '–'}</Text></td><td class="nowrap"><Time at={signal.delivered_at} ms /></td></tr>
      ))}</tbody>
    </table>
  </div>
);

const LastWait = ({ outcome }: { outcome: WaitOutcome }) => (
  <p class="muted">The last wait ended <Ago at={outcome.ended_at} />: <Text>{causeWords(outcome)}</Text>{outcome.by ? <>, <Text>{outcome.by}</Text></> : null}{outcome.reason ? <>, <Text>{outcome.reason}</Text></> : null}{outcome.signals.length > 0 ? <>. Signals: {outcome.signals.map((signal, index) => <span key={signal.number}>{index > 0 ? ', ' : ''}<b><Text>{signal.name}</Text></b>{signal.source ? <> from <Text>{signal.source}</Text></> : null}</span>)}</> : null}</p>
);

function WaitActions({ about, waits, done }: { about: ExecutionDescription; waits: ExecutionWaits; done: () => void }) {
  const id = about.summary.execution_id;
  if (endedStates.has(about.summary.public_state)) return null;
  return (
    <div class="row">
      {allows(session.value, 'worker') ? <button type="button" class="button small" onClick={() => send(id, waits, done)}>Send a signal …</button> : null}
      {allows(session.value, 'operator') && waits.wait ? <button type="button" class="button small" onClick={() => resume(id, done)}>Resume …</button> : null}
    </div>
  );
}

function resume(id: string, done: () => void): void {
  confirm({
    title: 'Resume by force', text: 'The wait ends now, and the worker is told that an operator ended it. Its waitpoints are closed.', action: 'Resume', reason: true,
    command: (values) => asCli(['executions', 'resume', id, ...reasonWords(values)], origin()),
    run: async (values) => {
      await call('POST', `${executionPath(id)}/resume`, withReason(values));
      done();
      return 'The wait is over';
    },
  });
}

function close(id: string, waitpoint: WaitpointInfo, done: () => void): void {
  confirm({
    title: `Close waitpoint ${visibleLine(waitpoint.name)}`, text: 'It takes no more signals. The wait goes on with its other waitpoints, or until its time limit.', action: 'Close waitpoint', danger: true, reason: true,
    command: (values) => asCli(['waitpoints', 'close', id, waitpoint.name, ...reasonWords(values)], origin()),
    run: async (values) => {
      await call('POST', `${executionPath(id)}/waitpoints/${encodeURIComponent(waitpoint.name)}/close`, withReason(values));
      done();
      return 'The waitpoint is closed';
    },
  });
}

function reissue(id: string, waitpoint: WaitpointInfo, done: () => void): void {
  const source = (values: Record<string, string>): string => (values['source'] ?? '').trim();
  const revokes = (values: Record<string, string>): boolean => values['revoke'] === 'yes';
  confirm({
    title: waitpoint.approval ? 'New link for this approval' : 'New token of this waitpoint',
    text: 'Whoever has it can send signals to this waitpoint, without an API key. It is shown once.', action: waitpoint.approval ? 'Make a link' : 'Issue a token', reason: true, initial: { source: '', revoke: '' },
    fields: (values, set) => (
      <>
        <label class="field"><span>For <span class="hint">optional; it then speaks for this person or program only</span></span><input name="source" value={values['source'] ?? ''} maxLength={256} onInput={(event) => set('source', event.currentTarget.value)} autoComplete="off" /></label>
        <label class="row"><input type="checkbox" name="revoke" checked={revokes(values)} onChange={(event) => set('revoke', event.currentTarget.checked ? 'yes' : '')} /><span>Refuse those issued before</span></label>
      </>
    ),
    command: (values) => asCli(['waitpoints', 'reissue', id, waitpoint.name, ...(source(values) ? ['--source', source(values)] : []), ...(revokes(values) ? ['--revoke-earlier'] : []), ...reasonWords(values)], origin()),
    run: async (values) => {
      const token = await call<WaitpointToken>('POST', `${executionPath(id)}/waitpoints/${encodeURIComponent(waitpoint.name)}/reissue`, withReason(values, { revoke_earlier: revokes(values), ...(source(values) ? { source: source(values) } : {}) }));
      done();
      // After this dialog has closed itself.
      setTimeout(() => showToken(waitpoint, token), 0);
    },
  });
}

function showToken(waitpoint: WaitpointInfo, token: WaitpointToken): void {
  const text = waitpoint.approval ? `${origin()}/approve/${token.token}` : token.token;
  show((dismiss) => (
    <Dialog title={waitpoint.approval ? 'The link' : 'The token'} onClose={dismiss}>
      <div class="dialog-body">
        <h2>{waitpoint.approval ? 'The link' : 'The token'}</h2>
        <p>{waitpoint.approval ? 'It opens a page to approve or reject. ' : ''}It is not stored and is shown only now{token.expires_at ? <>; it is valid until <Time at={token.expires_at} /></> : null}.</p>
        <pre class="code" tabIndex={0} aria-label={waitpoint.approval ? 'Link' : 'Token'}>{text}</pre>
        <div class="dialog-actions"><button type="button" class="button" onClick={() => void copyText(text, waitpoint.approval ? 'Link' : 'Token')}>Copy</button><button type="button" class="button primary" onClick={dismiss}>Close</button></div>
      </div>
    </Dialog>
  ));
}

function send(id: string, waits: ExecutionWaits, done: () => void): void {
  const withKey = session.value?.authentication ?? false;
  const optional = (values: Record<string, string>, names: readonly string[]): Record<string, string> => Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name] as string]] : [])));
  const names = withKey ? ['name'] : ['name', 'source'];
  confirm({
    title: 'Send a signal', text: 'It goes to the open waitpoint of that name, or is kept for the next wait there.', action: 'Send', initial: { waitpoint: waits.waitpoints.find((one) => !one.approval)?.name ?? waits.waitpoints[0]?.name ?? '', name: '', payload: '', source: '' },
    fields: (values, set) => (
      <>
        <label class="field"><span>Waitpoint</span><input name="waitpoint" required value={values['waitpoint'] ?? ''} onInput={(event) => set('waitpoint', event.currentTarget.value)} autoComplete="off" /></label>
        <label class="field"><span>Name <span class="hint">optional; else that of the waitpoint</span></span><input name="name" value={values['name'] ?? ''} onInput={(event) => set('name', event.currentTarget.value)} autoComplete="off" /></label>
        {withKey ? null : <label class="field"><span>Sender <span class="hint">optional</span></span><input name="source" value={values['source'] ?? ''} onInput={(event) => set('source', event.currentTarget.value)} autoComplete="off" /></label>}
        <label class="field"><span>Payload <span class="hint">JSON, optional</span></span><textarea name="payload" rows={3} value={values['payload'] ?? ''} onInput={(event) => set('payload', event.currentTarget.value)} spellcheck={false} /></label>
      </>
    ),
    command: (values) => asCli(['signals', 'send', id, values['waitpoint'] ?? '', ...(['name', 'source', 'payload'] as const).flatMap((name) => (values[name] ? [`--${name}`, values[name] as string] : []))], origin()),
    run: async (values) => {
      const payload = values['payload']?.trim() ? { payload: JSON.parse(values['payload']) as unknown } : {};
      const reply = await call<SignalReply>('POST', `${executionPath(id)}/signals`, { waitpoint: values['waitpoint'], ...optional(values, names), ...payload });
      done();
      return { kept: 'The signal is kept for the next wait there', accepted: 'The signal counts; more are needed', resumed: 'The signal has ended the wait', ignored: 'The signal makes no difference and was not kept' }[reply.effect];
    },
  });
}
