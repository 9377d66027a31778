// Which limits and budgets an execution that is held back is under, who has their slots, and when the next one may start.
import { useEffect } from 'preact/hooks';
import { call, get } from '../../api/client';
import type { ExecutionDescription, LimitCheck, LimitInfo, LimitsReply } from '../../api/types';
import { budgetLink } from '../../core/budgets';
import { isNamedIn, limitLink } from '../../core/limits';
import { useResource } from '../../live/hooks';
import { Panel, Problem, Text } from '../../ui/basic';
import { CheckedTable } from '../../ui/limit-bar';

const codes = new Set(['waiting_for_limit', 'waiting_for_budget']);

interface Found { check: LimitCheck; elsewhere: LimitInfo | undefined }

/** A check knows no flow and no execution, so limits that count these apart are not in it: `elsewhere` is the one that the reason names then. */
async function load({ summary, creator }: ExecutionDescription, sentence: string, abort: AbortSignal): Promise<Found> {
  const check = await call<LimitCheck>('POST', '/v1/limits/check', { namespace: summary.namespace, lane: summary.lane, kind: summary.kind, creator, tags: summary.tags }, abort);
  if (check.limits.some((one) => isNamedIn(sentence, one.info))) return { check, elsewhere: undefined };
  const { limits } = await get<LimitsReply>('/v1/limits', { namespace: summary.namespace }, abort);
  return { check, elsewhere: limits.find((one) => isNamedIn(sentence, one)) };
}

export function HeldBy({ about }: { about: ExecutionDescription }) {
  const { summary } = about;
  const reason = about.explain.find((one) => codes.has(one.code));
  const found = useResource(reason ? `limits ${summary.execution_id}` : undefined, (abort) => load(about, reason?.sentence ?? '', abort), { live: true });
  useEffect(() => { if (reason) found.reload(); }, [about]);
  if (!reason) return null;
  if (found.error && !found.data) return <Problem error={found.error} retry={found.reload} />;
  const byBudget = reason.code === 'waiting_for_budget';
  const { elsewhere, check } = found.data ?? {};
  return (
    <Panel title={byBudget ? 'Limits and budgets that it is under' : 'Limits that it is under'} flush>
      {elsewhere ? <div class="panel-body row wrap"><a href={(byBudget ? budgetLink : limitLink)(elsewhere.namespace, elsewhere.name)}><Text>{elsewhere.name}</Text></a> <span class="badge" data-state="warn">holds it back</span></div> : null}
      {check && check.limits.length > 0 ? <CheckedTable checked={check.limits} verdict={(one) => (isNamedIn(reason.sentence, one.info) ? 'holds it back' : one.use.free === 0 ? 'full' : undefined)} /> : null}
    </Panel>
  );
}
