// An approval, as the inbox and the run page show it: the decisions, the document, and deciding.
import { executionPath, call, get, session } from '../api/client';
import { allows } from '../api/contract';
import type { ApprovalInfo, ExecutionWaits, SignalReply, WaitpointInfo } from '../api/types';
import { bytesOf, visibleLine } from '../core/bytes';
import { asCli } from '../core/commands';
import { decisionsWords, reasonAgainst } from '../core/waits';
import { useResource } from '../live/hooks';
import { Problem, Text, Time } from './basic';
import { confirm } from './dialog';
import { BytesView } from './viewer';

/** With API keys decisions are those of the key; without, people say who they are. */
export const decider = (): string | undefined => (session.value?.authentication ? session.value.name : undefined);

let lastName = '';

const effects: Record<SignalReply['effect'], string> = {
  kept: 'Recorded', accepted: 'Recorded; more decisions are needed', resumed: 'Recorded; the wait is over', ignored: 'The decision makes no difference any more and was not recorded',
};

export function decide(id: string, waitpoint: WaitpointInfo, approval: ApprovalInfo, decision: 'approve' | 'reject', done: () => void): void {
  const named = decider();
  const words = decision === 'approve' ? 'Approve' : 'Reject';
  const actor = (values: Record<string, string>): string => (values['actor'] ?? '').trim();
  const comment = (values: Record<string, string>): string => values['comment'] ?? '';
  confirm({
    title: `${words}: ${visibleLine(approval.title)}`,
    text: <>{named === undefined ? null : <p>You decide as <b><Text>{named}</Text></b>.</p>}<p class="muted">{decisionsWords(approval)}. Nobody decides twice.</p></>,
    action: words, danger: decision === 'reject', initial: { actor: lastName, comment: '' },
    fields: (values, set) => (
      <>
        {named === undefined ? <label class="field"><span>Your name</span><input name="actor" required value={values['actor'] ?? ''} onInput={(event) => set('actor', event.currentTarget.value)} autoComplete="name" /></label> : null}
        <label class="field"><span>Comment <span class="hint">optional</span></span><textarea name="comment" rows={4} maxLength={4096} value={comment(values)} onInput={(event) => set('comment', event.currentTarget.value)} /></label>
      </>
    ),
    command: (values) => asCli(['approvals', 'decide', id, waitpoint.name, decision, ...(comment(values) ? ['--comment', comment(values)] : []), ...(named === undefined && actor(values) ? ['--actor', actor(values)] : [])], window.location.origin),
    run: async (values) => {
      const reply = await call<SignalReply>('POST', `${executionPath(id)}/approvals/${encodeURIComponent(waitpoint.name)}/decide`, { decision, comment: comment(values), ...(named === undefined ? { actor: actor(values) } : {}) });
      if (named === undefined) lastName = actor(values);
      done();
      return effects[reply.effect];
    },
  });
}

export function Decisions({ approval }: { approval: ApprovalInfo }) {
  return (
    <div class="ap-decisions">
      <div>{decisionsWords(approval)}</div>
      {approval.decisions.map((decision) => (
        <div class="ap-decision" key={decision.actor}>
          <span class="badge" data-state={decision.decision === 'approve' ? 'completed' : 'failed'}>{decision.decision === 'approve' ? 'approved' : 'rejected'}</span> <b><Text>{decision.actor}</Text></b> <Time at={decision.decided_at} />
          {decision.comment ? <div class="ap-comment"><Text>{decision.comment}</Text></div> : null}
        </div>
      ))}
    </div>
  );
}

export function DecideButtons({ id, waitpoint, approval, done }: { id: string; waitpoint: WaitpointInfo; approval: ApprovalInfo; done: () => void }) {
  if (!allows(session.value, 'worker')) return null;
  const against = reasonAgainst(approval, decider());
  if (against !== undefined) return <span class="muted">{against}</span>;
  return (
    <div class="row">
      <button type="button" class="button primary" onClick={() => decide(id, waitpoint, approval, 'approve', done)}>Approve …</button>
      <button type="button" class="button danger" onClick={() => decide(id, waitpoint, approval, 'reject', done)}>Reject …</button>
    </div>
  );
}

/** Lists have approvals without their documents, which may be large. */
export function ApprovalDocument({ id, waitpoint }: { id: string; waitpoint: WaitpointInfo }) {
  const waits = useResource(`document ${id} ${waitpoint.number}`, (abort) => get<ExecutionWaits>(`${executionPath(id)}/waits`, undefined, abort));
  if (waits.error) return <Problem error={waits.error} retry={waits.reload} />;
  if (!waits.data) return null;
  const info = waits.data.waitpoints.find((one) => one.number === waitpoint.number)?.approval;
  if (!info) return <p class="muted">The approval is closed.</p>;
  return <DocumentView approval={info} name={`${id}-${waitpoint.number}`} />;
}

export const DocumentView = ({ approval, name }: { approval: ApprovalInfo; name: string }) => (
  <BytesView data={bytesOf(approval.context, approval.context_base64)} encoding={approval.context_encoding ?? ''} name={name} label="document" />
);
