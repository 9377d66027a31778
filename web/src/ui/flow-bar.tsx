// How far a flow has come, as a small bar. Its text is for screen readers and the tooltip.
import type { FlowCounts } from '../api/types';
import { segments } from '../core/flows';
import { count } from '../core/format';

export function FlowBar({ counts }: { counts: FlowCounts }) {
  const parts = segments(counts);
  const text = parts.map((part) => `${count(part.value)} ${part.name}`).join(', ');
  return (
    <span class="flow-bar" role="img" aria-label={text} title={text}>
      {parts.map((part) => <i key={part.name} data-state={part.state} style={{ flexGrow: part.value }} />)}
    </span>
  );
}
