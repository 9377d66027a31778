// What is in use of a key of a limit, who has the slots, and when the next one may start.
import { useState } from 'preact/hooks';
import type { LimitChecked, LimitInfo, LimitUse } from '../api/types';
import { count, relative } from '../core/format';
import { budgetLink, budgetWords } from '../core/budgets';
import { allowanceWords, heldWords, keyWords, levelOf, limitKey, limitLink } from '../core/limits';
import { now } from '../live/visibility';
import { ExecutionLink, Text, Time } from './basic';
import { BudgetBars } from './budget-bar';

/** The text is beside the bar, so the bar itself says nothing to screen readers. */
export function LimitBar({ limit, use, children }: { limit: Pick<LimitInfo, 'concurrency'>; use: Pick<LimitUse, 'in_use' | 'free' | 'held_back'>; children?: preact.ComponentChildren }) {
  const level = levelOf(limit, use);
  return (
    <span class="limit-use">
      <span class="flow-bar" aria-hidden="true"><i data-state={level.tone} style={{ flexGrow: level.part }} /></span>
      <span class="nowrap">{level.text}{children}</span>
    </span>
  );
}

/** When one more may start: at a time, when a slot is given back, or now. */
export function NextStart({ use }: { use: LimitUse }) {
  if (use.next_start_at) return <><Time at={use.next_start_at} /> <span class="muted">{relative(use.next_start_at, now.value)}</span></>;
  if (use.free !== 0) return <span class="muted">now</span>;
  return <span class="muted">{use.budget?.paused ? 'when it is resumed' : use.budget ? 'when something is given back' : 'when one ends'}</span>;
}

const fewHolders = 4;

/** The executions that have the slots of a key. */
export function Holders({ use }: { use: LimitUse }) {
  const [all, setAll] = useState(false);
  if (use.in_use === 0) return <span class="muted">–</span>;
  const shown = all ? use.holders : use.holders.slice(0, fewHolders);
  const others = use.in_use - shown.length;
  return (
    <span class="li-holders">
      {shown.map((id) => <ExecutionLink key={id} id={id} />)}
      {others > 0 && shown.length < use.holders.length ? <button type="button" class="button small plain" onClick={() => setAll(true)}>{count(others)} more</button> : null}
      {others > 0 && shown.length === use.holders.length ? <span class="muted">{shown.length === 0 ? 'executions that are not shown' : `and ${count(others)} more`}</span> : null}
    </span>
  );
}

/** A limit that is a budget only has no slots. */
const onlyBudget = (info: LimitInfo): boolean => info.concurrency === undefined && !info.rate;

const About = ({ one: { info, use } }: { one: LimitChecked }) => {
  const parts = [onlyBudget(info) ? '' : allowanceWords({ concurrency: info.concurrency, rate: info.rate }), info.budget ? budgetWords(info.budget) : ''].filter(Boolean);
  return <Text>{`${parts.join(', ')}${use.key.length === 0 ? '' : `, for ${keyWords(use.key)}`}`}</Text>;
};

/** The limits that an execution is under, and what is in use of its keys. `verdict` is said of the limits that hold it back. */
export const CheckedTable = ({ checked, verdict }: { checked: LimitChecked[]; verdict: (one: LimitChecked) => string | undefined }) => (
  <div class="scroll-x" tabIndex={0}>
    <table class="grid">
      <thead><tr><th>limit</th><th>in use or spent</th><th class="right">held back</th><th>next may start</th><th>has the slots</th></tr></thead>
      <tbody>{checked.map((one) => (
        <tr key={limitKey(one.info)}>
          <td>
            <div class="row nowrap"><a href={(one.info.budget ? budgetLink : limitLink)(one.info.namespace, one.info.name)}><Text>{one.info.name}</Text></a> <span class="badge" data-state={verdict(one) ? 'warn' : 'good'}>{verdict(one) ?? 'has room'}</span></div>
            <div class="muted"><About one={one} /></div>
          </td>
          <td class="li-use">{onlyBudget(one.info) ? null : <LimitBar limit={one.info} use={one.use} />}{one.use.budget ? <BudgetBars use={one.use.budget} /> : null}</td><td class="right">{heldWords(one.use.held_back)}</td>
          <td class="nowrap"><NextStart use={one.use} /></td><td><Holders use={one.use} /></td>
        </tr>
      ))}</tbody>
    </table>
  </div>
);
