// The form that makes or changes a limit. What the server refuses is said at its field.
import { useState } from 'preact/hooks';
import { call, session, type ApiError } from '../../api/client';
import type { LimitInfo, LimitSaved } from '../../api/types';
import { budgetLink } from '../../core/budgets';
import { visibleLine } from '../../core/bytes';
import { asCurl } from '../../core/commands';
import type { FormValues } from '../../core/form';
import { emptyLimitForm, limitBody, limitFormOf, limitLink, limitPath } from '../../core/limits';
import { navigate } from '../../live/router';
import { Copy, Problem } from '../../ui/basic';
import { Dialog, show } from '../../ui/dialog';
import { formError, Input, type FormState } from '../../ui/form';
import { toast } from '../../ui/toast';

/** Without `limit` a new one is made. */
export function editLimit(limit: LimitInfo | undefined, done: () => void): void {
  show((close) => <LimitForm limit={limit} done={done} close={close} />);
}

const perChoices = ['tags.app.customer', 'namespace', 'lane', 'kind', 'creator', 'flow', 'execution'];

function LimitForm({ limit, done, close }: { limit: LimitInfo | undefined; done: () => void; close: () => void }) {
  const [values, setValues] = useState<FormValues>(() => (limit ? limitFormOf(limit) : { ...emptyLimitForm, namespace: session.value?.namespace ?? '' }));
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const set = (name: string, value: string): void => {
    setError(undefined);
    setValues((old) => ({ ...old, [name]: value }));
  };
  const request = () => ({ method: 'PUT' as const, path: limitPath((values['name'] ?? '').trim()), body: { ...limitBody(values, limit?.revision ?? 0, limit?.budget), ...(limit?.share ? { share: limit.share } : {}) } });
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const { method, path, body } = request();
      const saved = await call<LimitSaved>(method, path, body);
      close();
      toast(saved.outcome === 'unchanged' ? 'Nothing was changed: it is like this already' : `Limit ${visibleLine(saved.info.name)} ${saved.outcome}`);
      done();
      if (!limit) navigate(limitLink(saved.info.namespace, saved.info.name));
    } catch (problem) {
      setError(formError(problem));
      setBusy(false);
    }
  };
  const command = (): string => {
    try {
      return asCurl(request(), window.location.origin, session.value?.authentication ?? false);
    } catch {
      return '';
    }
  };
  const form: FormState = { values, set, error };
  const title = limit ? `Change limit ${visibleLine(limit.name)}` : 'Create a limit';
  return (
    <Dialog title={title} wide onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        {limit ? <p class="muted">It holds at once. Lowering it lets what runs finish. For whom it is cannot be changed: remove it and create another one.</p> : <Scope form={form} />}
        <fieldset class="form-group">
          <legend>How much it allows</legend>
          {limit?.budget ? <p class="muted">Its budget stays as it is; it is changed on <a href={budgetLink(limit.namespace, limit.name)}>the page of the budget</a>.</p> : null}
          <div class="form-two"><Input form={form} name="concurrency" label="At the same time" hint="executions; empty: any number" type="number" min={1} /></div>
          <div class="form-three">
            <Input form={form} name="rate" label="Starts" hint="empty: no rate" server={['rate.count', 'rate']} type="number" min={1} />
            <Input form={form} name="period" label="In a period of" hint="1s, 1m, 1h" server={['rate.period_ms']} />
            <Input form={form} name="burst" label="At once" hint="empty: spread over any period" server={['rate.burst']} type="number" min={1} />
          </div>
        </fieldset>
        <Input form={form} name="reason" label="Reason" hint="optional; kept in the event log" max={256} />
        {error ? <Problem error={error} /> : null}
        <div class="dialog-actions">
          <span class="grow"><Copy text={command()} what="curl command" label="Copy as curl" /></span>
          <button type="button" class="button" onClick={close}>Close</button>
          <button type="submit" class="button primary" disabled={busy}>{limit ? 'Save' : 'Create limit'}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** For whom a limit or a budget is. */
export const Scope = ({ form }: { form: FormState }) => (
  <fieldset class="form-group">
    <legend>What it is for</legend>
    <div class="form-two">
      <Input form={form} name="name" label="Name" hint="unique in the namespace" required max={128} />
      <Input form={form} name="namespace" label="Namespace" hint="empty: for all namespaces" max={128} disabled={session.value?.namespace !== undefined} />
      <Input form={form} name="lane" label="Lane" hint="empty: all lanes" max={64} />
      <Input form={form} name="kind" label="Kind" hint="empty: all kinds" max={128} />
    </div>
    <Input form={form} name="per" label="Counted apart for each" hint="tags.NAME, namespace, lane, kind, creator, flow, execution; empty: all together" list="per-choices" />
    <datalist id="per-choices">{perChoices.map((choice) => <option value={choice} key={choice} />)}</datalist>
  </fieldset>
);
