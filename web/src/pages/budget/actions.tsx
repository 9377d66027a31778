// What can be done to a budget and to its accounts. Each asks first; each can be copied as a command.
import { useState } from 'preact/hooks';
import { call, session, withQuery, type ApiError } from '../../api/client';
import { allows } from '../../api/contract';
import type { BudgetUse, ChangeBudgetBody, LimitInfo, LimitSaved, LimitUse, LimitUseReply } from '../../api/types';
import { amountsOf, bodyWithoutBudget, budgetLink, budgetPath, changeBody, changeWords } from '../../core/budgets';
import { visibleLine } from '../../core/bytes';
import { asCli, asCurl } from '../../core/commands';
import type { FormValues } from '../../core/form';
import { count } from '../../core/format';
import { keyWords, limitLink, limitPath, nameWords } from '../../core/limits';
import { navigate } from '../../live/router';
import { Copy, copyText, Icon, Problem } from '../../ui/basic';
import { confirm, Dialog, show } from '../../ui/dialog';
import { formError, Input, type FormState } from '../../ui/form';
import { Menu } from '../../ui/menu';
import { showRaw } from '../../ui/raw';
import { toast } from '../../ui/toast';
import { editBudget } from './form';

const origin = (): string => window.location.origin;

/** A key of one namespace may not change the budgets for all. */
const mayChange = (info: LimitInfo): boolean => allows(session.value, 'operator') && (session.value?.namespace === undefined || session.value.namespace === info.namespace);

const ofAccount = (use: Pick<LimitUse, 'key'>): string => (use.key.length === 0 ? '' : ` of ${visibleLine(keyWords(use.key))}`);

function changeAccount(info: LimitInfo, use: LimitUse, change: 'reset' | 'resume', done: () => void): void {
  const resume = change === 'resume';
  const body = (values: Record<string, string>): ChangeBudgetBody => changeBody(info, use.key, change, values['reason'] ?? '');
  confirm({
    title: `${resume ? 'Resume' : 'Reset'} ${visibleLine(info.name)}${ofAccount(use)}`,
    text: resume ? 'Executions of this account start again, as far as something is left.' : 'Nothing counts as spent any more. What leases have reserved stays reserved.',
    action: resume ? 'Resume' : 'Reset', danger: !resume, reason: true,
    command: (values) => asCli(changeWords(info, body(values)), origin()),
    run: async (values) => {
      await call<BudgetUse>('POST', budgetPath(info.name), body(values));
      done();
      return resume ? 'The account goes on' : 'Nothing counts as spent';
    },
  });
}

/** `use` may be of an account that does not exist yet. */
export function adjustAccount(info: LimitInfo, use: Pick<LimitUse, 'key' | 'budget'>, done: () => void): void {
  show((close) => <AdjustDialog info={info} use={use} done={done} close={close} />);
}

function AdjustDialog({ info, use, done, close }: { info: LimitInfo; use: Pick<LimitUse, 'key' | 'budget'>; done: () => void; close: () => void }) {
  const [values, setValues] = useState<FormValues>({});
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const budget = info.budget ?? { dimensions: [] };
  const body = changeBody(info, use.key, 'adjust', (values['reason'] ?? '').trim(), amountsOf(values, budget));
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await call<BudgetUse>('POST', budgetPath(info.name), body);
      close();
      toast('What counts as spent was adjusted');
      done();
    } catch (problem) {
      setError(formError(problem));
      setBusy(false);
    }
  };
  const form: FormState = { values, set: (name, value) => { setError(undefined); setValues((old) => ({ ...old, [name]: value })); }, error };
  const title = `Adjust ${visibleLine(info.name)}${ofAccount(use)}`;
  const spent = (name: string): number => use.budget?.dimensions.find((one) => one.name === name)?.spent ?? 0;
  return (
    <Dialog title={title} onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        <p class="muted">These amounts are added to what counts as spent; negative ones are taken off.</p>
        {budget.dimensions.map((one) => <Input key={one.name} form={form} name={`amounts.${one.name}`} label={visibleLine(one.name)} hint={`${count(spent(one.name))} spent now; empty: no change`} server={[`amounts.${one.name}`, 'amounts']} type="number" />)}
        <Input form={form} name="reason" label="Reason" hint="optional; kept in the event log" max={256} />
        {error ? <Problem error={error} /> : null}
        <div class="dialog-actions">
          <span class="grow row">
            <Copy text={asCli(changeWords(info, body), origin())} what="command" label="CLI" />
            <Copy text={asCurl({ method: 'POST', path: budgetPath(info.name), body }, origin(), session.value?.authentication ?? false)} what="curl command" label="curl" />
          </span>
          <button type="button" class="button" onClick={close}>Close</button>
          <button type="submit" class="button primary" disabled={busy}>Adjust</button>
        </div>
      </form>
    </Dialog>
  );
}

export function AccountActions({ info, use, done }: { info: LimitInfo; use: LimitUse; done: () => void }) {
  if (!mayChange(info)) return null;
  return (
    <span class="row">
      {use.budget?.paused ? <button type="button" class="button small primary" onClick={() => changeAccount(info, use, 'resume', done)}>Resume …</button> : null}
      <button type="button" class="button small" onClick={() => adjustAccount(info, use, done)}>Adjust …</button>
      <button type="button" class="button small danger" onClick={() => changeAccount(info, use, 'reset', done)}>Reset …</button>
    </span>
  );
}

/** Only an adjustment makes an account. */
export const FirstAdjustment = ({ info, done }: { info: LimitInfo; done: () => void }) =>
  (mayChange(info) && info.per.length === 0 ? <button type="button" class="button small" onClick={() => adjustAccount(info, { key: [] }, done)}>Adjust …</button> : null);

function remove(info: LimitInfo): void {
  const stays = bodyWithoutBudget(info, '') !== undefined;
  confirm({
    title: `Remove budget ${visibleLine(info.name)}`,
    text: <>What it holds back may start, as far as other limits allow. What is spent is forgotten. {stays ? 'The rest of the limit with this name stays.' : ''}</>, action: 'Remove budget', danger: true, reason: true,
    command: (values) => asCli(['budgets', 'remove', ...nameWords(info.namespace, info.name), ...(values['reason'] ? ['--reason', values['reason']] : []), '--yes'], origin()),
    run: async (values) => {
      const rest = bodyWithoutBudget(info, values['reason'] ?? '');
      if (rest) await call<LimitSaved>('PUT', limitPath(info.name), rest);
      else await call<LimitSaved>('DELETE', withQuery(limitPath(info.name), { namespace: info.namespace, reason: values['reason'] }));
      navigate('/ui/budgets');
      return `Budget ${visibleLine(info.name)} removed`;
    },
  });
}

export function BudgetActions({ reply, reload }: { reply: LimitUseReply; reload: () => void }) {
  const { info } = reply;
  const operator = mayChange(info);
  return (
    <div class="run-actions">
      {operator ? <button type="button" class="button primary" onClick={() => editBudget(info, reload)}>Change …</button> : null}
      {operator ? <button type="button" class="button danger" onClick={() => remove(info)}>Remove …</button> : null}
      <Menu label={<Icon name="more" />} name="More">
        <button type="button" onClick={() => showRaw(reply, info.name)}>Raw JSON</button>
        <a href={limitLink(info.namespace, info.name)}>As a limit</a>
        <button type="button" onClick={() => void copyText(`${origin()}${budgetLink(info.namespace, info.name)}`, 'Link')}>Copy link</button>
        <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery(limitPath(info.name), { namespace: info.namespace }) }, origin(), session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
        <button type="button" onClick={() => void copyText(asCli(['budgets', 'show', ...nameWords(info.namespace, info.name)], origin()), 'Command')}>Copy as CLI</button>
      </Menu>
    </div>
  );
}
