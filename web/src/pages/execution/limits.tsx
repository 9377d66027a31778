// Which limits an execution that is held back is under, who has their slots, and when the next one may start.
import { useEffect } from 'preact/hooks';
import { call } from '../../api/client';
import type { ExecutionDescription, LimitCheck } from '../../api/types';
import { isNamedIn } from '../../core/limits';
import { useResource } from '../../live/hooks';
import { Panel, Problem } from '../../ui/basic';
import { CheckedTable } from '../../ui/limit-bar';

export function HeldBy({ about }: { about: ExecutionDescription }) {
  const { summary } = about;
  const reason = about.explain.find((one) => one.code === 'waiting_for_limit');
  const request = { namespace: summary.namespace, lane: summary.lane, kind: summary.kind, creator: about.creator, tags: summary.tags };
  const check = useResource(reason ? `limits ${summary.execution_id}` : undefined, (abort) => call<LimitCheck>('POST', '/v1/limits/check', request, abort), { live: true });
  useEffect(() => { if (reason) check.reload(); }, [about]);
  if (!reason) return null;
  if (check.error && !check.data) return <Problem error={check.error} retry={check.reload} />;
  return (
    <Panel title="Limits that it is under" flush>
      {check.data ? <CheckedTable checked={check.data.limits} verdict={(one) => (isNamedIn(reason.sentence, one.info) ? 'holds it back' : one.use.free === 0 ? 'full' : undefined)} /> : null}
    </Panel>
  );
}
