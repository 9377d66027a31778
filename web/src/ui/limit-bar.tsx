// How full a key of a limit is. The text is beside the bar, so the bar itself says nothing to screen readers.
import type { LimitInfo, LimitUse } from '../api/types';
import { levelOf } from '../core/limits';

export function LimitBar({ limit, use, children }: { limit: Pick<LimitInfo, 'concurrency'>; use: Pick<LimitUse, 'in_use' | 'free' | 'held_back'>; children?: preact.ComponentChildren }) {
  const level = levelOf(limit, use);
  return (
    <span class="limit-use">
      <span class="flow-bar" aria-hidden="true"><i data-state={level.tone} style={{ flexGrow: level.part }} /></span>
      <span class="nowrap">{level.text}{children}</span>
    </span>
  );
}
