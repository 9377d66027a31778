// The form that makes or changes a budget. What the server refuses is said at its field.
import { useState } from 'preact/hooks';
import './budget.css';
import { call, session, type ApiError } from '../../api/client';
import type { LimitInfo, LimitSaved } from '../../api/types';
import { breachWords, budgetBody, budgetFormOf, budgetLink, budgetWordsOf, dimensionCount, dimensionField, emptyBudgetForm, mostDimensions, withoutDimension } from '../../core/budgets';
import { visibleLine } from '../../core/bytes';
import { asCli, asCurl } from '../../core/commands';
import type { FormValues } from '../../core/form';
import { limitPath } from '../../core/limits';
import { navigate } from '../../live/router';
import { Copy, Problem, words } from '../../ui/basic';
import { Dialog, show } from '../../ui/dialog';
import { formError, Input, Select, type FormState } from '../../ui/form';
import { toast } from '../../ui/toast';
import { Scope } from '../limit/form';

/** Without `limit` a new one is made. */
export function editBudget(limit: LimitInfo | undefined, done: () => void): void {
  show((close) => <BudgetForm limit={limit} done={done} close={close} />);
}

const breachOptions = Object.entries(breachWords).map(([name, text]) => [name, `${words(name)}: ${text}`] as const);
const periodChoices = ['lifetime', '1h', '1d', '1w', '1mo'];

function BudgetForm({ limit, done, close }: { limit: LimitInfo | undefined; done: () => void; close: () => void }) {
  const [values, setValues] = useState<FormValues>(() => (limit ? budgetFormOf(limit) : { ...emptyBudgetForm, namespace: session.value?.namespace ?? '' }));
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const change = (next: (old: FormValues) => FormValues): void => {
    setError(undefined);
    setValues(next);
  };
  const name = (values['name'] ?? '').trim();
  const body = budgetBody(values, limit);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const saved = await call<LimitSaved>('PUT', limitPath(name), body);
      close();
      toast(saved.outcome === 'unchanged' ? 'Nothing was changed: it is like this already' : `Budget ${visibleLine(saved.info.name)} ${saved.outcome}`);
      done();
      if (!limit) navigate(budgetLink(saved.info.namespace, saved.info.name));
    } catch (problem) {
      setError(formError(problem));
      setBusy(false);
    }
  };
  const form: FormState = { values, set: (field, value) => change((old) => ({ ...old, [field]: value })), error };
  const title = limit ? `Change budget ${visibleLine(limit.name)}` : 'Create a budget';
  const origin = window.location.origin;
  return (
    <Dialog title={title} wide onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        {limit ? <p class="muted">It holds at once; what is spent stays, and accounts that are paused go on. For whom it is cannot be changed: remove it and create another one.</p> : <Scope form={form} />}
        <Dimensions form={form} change={change} />
        <fieldset class="form-group">
          <legend>When it begins anew, and when it is used up</legend>
          <div class="form-two">
            <Input form={form} name="period" label="Period" hint="lifetime, 15m, 1h, 1d, 1w, 1mo" server={['budget.period']} list="period-choices" />
            <Input form={form} name="time_zone" label="Time zone" hint="of days, weeks and months" server={['budget.time_zone']} placeholder="UTC" max={64} />
          </div>
          <datalist id="period-choices">{periodChoices.map((choice) => <option value={choice} key={choice} />)}</datalist>
          <Select form={form} name="on_hard_limit" label="When a hard limit would be exceeded" server={['budget.on_hard_limit']} options={breachOptions} />
        </fieldset>
        <Input form={form} name="reason" label="Reason" hint="optional; kept in the event log" max={256} />
        {error ? <Problem error={error} /> : null}
        <div class="dialog-actions">
          <span class="grow row">
            <Copy text={asCli(budgetWordsOf(name, body), origin)} what="command" label="CLI" />
            <Copy text={asCurl({ method: 'PUT', path: limitPath(name), body }, origin, session.value?.authentication ?? false)} what="curl command" label="curl" />
          </span>
          <button type="button" class="button" onClick={close}>Close</button>
          <button type="submit" class="button primary" disabled={busy}>{limit ? 'Save' : 'Create budget'}</button>
        </div>
      </form>
    </Dialog>
  );
}

function Dimensions({ form, change }: { form: FormState; change: (next: (old: FormValues) => FormValues) => void }) {
  const total = dimensionCount(form.values);
  return (
    <fieldset class="form-group">
      <legend>What is counted, in whole units</legend>
      {Array.from({ length: total }, (_, index) => <Dimension key={index} form={form} index={index} remove={total > 1 ? () => change((old) => withoutDimension(old, index)) : undefined} />)}
      {total < mostDimensions ? <div><button type="button" class="button small" onClick={() => change((old) => ({ ...old, dimensions: String(total + 1) }))}>Count something else, too</button></div> : null}
    </fieldset>
  );
}

function Dimension({ form, index, remove }: { form: FormState; index: number; remove: (() => void) | undefined }) {
  const server = (field: string): string[] => [`budget.dimensions[${index}].${field}`];
  return (
    <div class="bu-dimension" role="group" aria-label={`Unit ${index + 1}`}>
      <Input form={form} name={dimensionField(index, 'name')} label="Unit" hint="like tokens" server={[...server('name'), ...(index === 0 ? ['budget.dimensions'] : [])]} required max={64} />
      <Input form={form} name={dimensionField(index, 'hard')} label="Hard limit" hint="empty: none" server={server('hard')} type="number" />
      <Input form={form} name={dimensionField(index, 'soft')} label="Soft limit" hint="warns" server={server('soft')} type="number" />
      <Input form={form} name={dimensionField(index, 'reserve')} label="Reserve" hint="of a lease" server={server('reserve')} type="number" />
      {remove ? <button type="button" class="button plain small" aria-label={`Do not count unit ${index + 1}`} title="Do not count this" onClick={remove}>×</button> : <span />}
    </div>
  );
}
