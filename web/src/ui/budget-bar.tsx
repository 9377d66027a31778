// How much of a budget is spent and reserved, beside its limits.
import type { BudgetUse, DimensionUse } from '../api/types';
import { accountState, barOf, dimensionTitle, spentWords, type BudgetState } from '../core/budgets';
import { count } from '../core/format';
import { Text } from './basic';

const percent = (part: number): string => `${(part * 100).toFixed(2)}%`;

/** The text is beside the bar, so the bar itself says nothing to screen readers. A line in it is the soft limit, a thick one the hard limit. */
export function BudgetBar({ use, named, children }: { use: DimensionUse; named?: boolean; children?: preact.ComponentChildren }) {
  const bar = barOf(use);
  return (
    <span class="limit-use" title={dimensionTitle(use)}>
      <span class="budget-bar" aria-hidden="true">
        <i data-state={bar.tone} style={{ width: percent(bar.spent) }} /><i class="reserved" data-state={bar.tone} style={{ width: percent(bar.reserved) }} />
        {bar.soft === undefined ? null : <b style={{ left: percent(bar.soft) }} />}{bar.hard === undefined ? null : <b class="hard" style={{ left: percent(bar.hard) }} />}
      </span>
      <span class="nowrap">{spentWords(use)}{named ? <> <Text>{use.name}</Text></> : null}{use.reserved > 0 ? <span class="muted"> + {count(use.reserved)} reserved</span> : null}{children}</span>
    </span>
  );
}

export const BudgetBadge = ({ state, more }: { state: BudgetState; more?: string }) => <span class="badge" data-state={state.tone} title={more}>{state.text}</span>;

/** Every dimension of an account, and its state. */
export const BudgetBars = ({ use }: { use: BudgetUse }) => (
  <div class="budget-bars">
    {use.dimensions.map((one) => <BudgetBar key={one.name} use={one} named />)}
    {accountState(use).rank > 0 ? <div><BudgetBadge state={accountState(use)} /></div> : null}
  </div>
);
