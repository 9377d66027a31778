// What an account has spent over time: a bar for each stretch that the server has kept.
import type { BudgetUse } from '../../api/types';
import { usageBars, type UsageBar } from '../../core/budgets';
import { clock, count, duration, exact } from '../../core/format';
import { utc } from '../../live/preferences';
import { now } from '../../live/visibility';
import { Text } from '../../ui/basic';

export function Usage({ use }: { use: BudgetUse }) {
  if (use.usage.length === 0) return <p class="muted">Nothing was spent lately.</p>;
  return <div class="bu-usage">{use.dimensions.map((one) => <Bars key={one.name} name={one.name} use={use} bars={usageBars(use, one.name, now.value)} />)}</div>;
}

function Bars({ name, use, bars }: { name: string; use: BudgetUse; bars: UsageBar[] }) {
  const most = Math.max(1, ...bars.map((bar) => bar.spent));
  const total = bars.reduce((sum, bar) => sum + bar.spent, 0);
  const at = (bar: UsageBar | undefined): string => (bar ? clock(bar.from, Date.now(), { utc: utc.value }) : '');
  const filled = bars.filter((bar) => bar.spent > 0).map((bar) => `${at(bar)}: ${count(bar.spent)}`);
  return (
    <figure aria-label={`Usage of ${name}`}>
      <figcaption><span><b><Text>{name}</Text></b> {count(total)} in {duration(bars.length * use.bucket_ms)}, each bar {duration(use.bucket_ms)}</span><span>at most {count(most)}</span></figcaption>
      <div class="bu-chart" role="img" aria-label={filled.length === 0 ? 'nothing was spent' : filled.join('; ')}>
        {bars.map((bar) => <span key={bar.from} title={`${count(bar.spent)} from\n${exact(bar.from)}`}>{bar.spent > 0 ? <i style={{ height: `${Math.max(2, (bar.spent / most) * 100).toFixed(1)}%` }} /> : null}</span>)}
      </div>
      <div class="bu-times"><span>{at(bars[0])}</span><span>{at(bars[bars.length - 1])}</span></div>
    </figure>
  );
}
