// How far a redrive has come, as a bar. Its text is for screen readers and the tooltip.
import type { Redrive } from '../api/types';
import { progressOf, progressWords } from '../core/dead-letters';

export function RedriveBar({ redrive }: { redrive: Redrive }) {
  const progress = progressOf(redrive);
  const text = progressWords(progress);
  const parts: [string, number][] = [['good', progress.replayed], ['bad', progress.refused], ['quiet', progress.passed], ['open', progress.left]];
  return (
    <span class="flow-bar" role="img" aria-label={text} title={text}>
      {parts.filter(([, value]) => value > 0).map(([state, value]) => <i key={state} data-state={state} style={{ flexGrow: value }} />)}
    </span>
  );
}
