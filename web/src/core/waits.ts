// What executions wait for, in words.
import type { ApprovalInfo, SignalMatch, WaitCondition, WaitInfo, WaitOutcome, WaitingExecution, WaitpointInfo } from '../api/types';
import { duration, plural } from './format';

/** The events after which a list of waits is no longer right. */
export const waitEvents = 'suspended,signal_delivered,wait_ended,wait_escalated,waitpoint_opened,waitpoint_closed,waitpoint_reissued,failed,cancelled,expired';

const quoted = (text: string): string => `“${text}”`;
const joined = (parts: readonly string[], word: string): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${word} ${parts[parts.length - 1] as string}`;

function matchWords(match: SignalMatch): string {
  const parts: string[] = [];
  if (match.name) parts.push(quoted(match.name));
  if (match.waitpoint) parts.push(`at ${quoted(match.waitpoint)}`);
  if (match.sources && match.sources.length > 0) parts.push(`from ${joined(match.sources.map(quoted), 'or')}`);
  for (const field of match.fields ?? []) parts.push(`where ${field.pointer === '' ? 'the payload' : field.pointer} is ${JSON.stringify(field.equals)}`);
  return parts.join(' ');
}

const signalWords = (match: SignalMatch): string => ['a signal', matchWords(match)].filter(Boolean).join(' ');

const countNouns = { signals: 'signal', waitpoints: 'waitpoint', sources: 'sender' } as const;

/** “3 senders of "approve" at "board"”, “a signal at "a" and a signal at "b"”. */
export function conditionWords(condition: WaitCondition, inside = false): string {
  if (condition.signal) return signalWords(condition.signal);
  if (condition.count) {
    const { n, by, of } = condition.count;
    const noun = countNouns[by ?? 'signals'];
    const kinds = of.map(matchWords).filter(Boolean);
    const what = kinds.length === of.length ? ` ${by === undefined || by === 'signals' ? '' : 'with '}${joined(kinds, 'or')}` : '';
    return `${plural(n, by === undefined || by === 'signals' ? noun : `different ${noun}`)}${what}`;
  }
  const members = condition.all_of ?? condition.any_of ?? [];
  const text = joined(members.map((member) => conditionWords(member, true)), condition.all_of ? 'and' : 'or');
  return inside && members.length > 1 ? `(${text})` : text;
}

const timeoutEffects: Record<WaitInfo['on_timeout'], string> = {
  fail: 'the execution fails', cancel: 'the execution is cancelled', expire: 'the execution expires',
  resume: 'the execution goes on without it', escalate: 'the wait is escalated and goes on',
};
export const timeoutWords = (wait: WaitInfo): string => timeoutEffects[wait.on_timeout];

const causes: Record<WaitOutcome['cause'], string> = { signals: 'signals were enough', veto: 'it was vetoed', timeout: 'it timed out', operator: 'an operator ended it' };
export const causeWords = (outcome: WaitOutcome): string => causes[outcome.cause] ?? outcome.cause;

export const approvals = (info: ApprovalInfo): number => info.decisions.filter((decision) => decision.decision === 'approve').length;

/** “1 of 2 approved, 1 rejected”. */
export function decisionsWords(info: ApprovalInfo): string {
  const rejected = info.decisions.length - approvals(info);
  return `${approvals(info)} of ${info.needed} approved${rejected > 0 ? `, ${rejected} of ${info.rejections} rejected` : ''}`;
}

export interface InboxItem { key: string; execution: WaitingExecution; waitpoint: WaitpointInfo; approval: ApprovalInfo }

/** One entry for each approval that takes decisions, in the order of the list. */
export function inboxOf(waits: readonly WaitingExecution[]): InboxItem[] {
  return waits.flatMap((execution) => execution.waitpoints.flatMap((waitpoint) =>
    (waitpoint.approval ? [{ key: `${execution.execution_id} ${waitpoint.number}`, execution, waitpoint, approval: waitpoint.approval }] : [])));
}

/** Undefined if this person may decide, else why not. */
export function reasonAgainst(info: ApprovalInfo, person: string | undefined): string | undefined {
  if (person === undefined) return undefined;
  const own = info.decisions.find((decision) => decision.actor === person);
  if (own) return own.decision === 'approve' ? 'You have approved.' : 'You have rejected.';
  return info.approvers.length > 0 && !info.approvers.includes(person) ? 'You are not one of those who may decide.' : undefined;
}

/** How long the wait still lasts, “2 h 5 min left”. */
export const leftWords = (until: number, now: number): string => (until > now ? `${duration(Math.ceil((until - now) / 1000) * 1000)} left` : 'overdue');
