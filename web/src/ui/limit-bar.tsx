// What is in use of a key of a limit, who has the slots, and when the next one may start.
import { useState } from 'preact/hooks';
import type { LimitChecked, LimitInfo, LimitUse } from '../api/types';
import { count, relative } from '../core/format';
import { allowanceWords, heldWords, keyWords, levelOf, limitKey, limitLink } from '../core/limits';
import { now } from '../live/visibility';
import { ExecutionLink, Text, Time } from './basic';

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
  return <span class="muted">{use.free === 0 ? 'when one ends' : 'now'}</span>;
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

/** The limits that an execution is under, and what is in use of its keys. `verdict` is said of the limits that hold it back. */
export const CheckedTable = ({ checked, verdict }: { checked: LimitChecked[]; verdict: (one: LimitChecked) => string | undefined }) => (
  <div class="scroll-x" tabIndex={0}>
    <table class="grid">
      <thead><tr><th>limit</th><th>in use</th><th class="right">held back</th><th>next may start</th><th>has the slots</th></tr></thead>
      <tbody>{checked.map((one) => (
        <tr key={limitKey(one.info)}>
          <td>
            <div class="row nowrap"><a href={limitLink(one.info.namespace, one.info.name)}><Text>{one.info.name}</Text></a> <span class="badge" data-state={verdict(one) ? 'warn' : 'good'}>{verdict(one) ?? 'has room'}</span></div>
            <div class="muted"><Text>{`${allowanceWords(one.info)}${one.use.key.length === 0 ? '' : `, for ${keyWords(one.use.key)}`}`}</Text></div>
          </td>
          <td class="li-use"><LimitBar limit={one.info} use={one.use} /></td><td class="right">{heldWords(one.use.held_back)}</td>
          <td class="nowrap"><NextStart use={one.use} /></td><td><Holders use={one.use} /></td>
        </tr>
      ))}</tbody>
    </table>
  </div>
);
