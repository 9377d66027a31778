import type { Attempt, Event } from '../../api/types';
import { endedStates, type Step } from '../../api/contract';
import { clock, duration } from '../../core/format';
import { buildTimeline, ticks, type Bar, type Timeline as Lines } from '../../core/timeline';
import { visibleLine } from '../../core/bytes';
import { now } from '../../live/visibility';
import { words } from '../../ui/basic';

const mostAttempts = 40;

export function Timeline({ events, attempts, steps, state }: { events: Event[]; attempts: Attempt[]; steps: Step[]; state: string }) {
  const current = endedStates.has(state) ? 0 : now.value;
  const lines = buildTimeline(events, attempts.slice(-mostAttempts), steps, current || Date.now());
  const length = lines.to - lines.from;
  const at = (time: number): string => `${(((time - lines.from) / length) * 100).toFixed(3)}%`;
  return (
    <div class="stack">
      {attempts.length > mostAttempts ? <p class="muted">The newest {mostAttempts} of {attempts.length} attempts.</p> : null}
      <div class="tl">
        {lines.rows.map((row, index) => (
          <>
            <div class="tl-title" key={`title ${index}`}>{row.title} <span class="muted">{row.note}</span></div>
            <div class="tl-track" key={`track ${index}`} role="img" aria-label={`${row.title}: ${row.bars.map((bar) => describe(bar, lines)).join('; ')}`}>
              {row.bars.map((bar) => <BarView bar={bar} key={`${bar.from} ${bar.label}`} left={at(bar.from)} share={(bar.to - bar.from) / length} title={describe(bar, lines)} />)}
            </div>
          </>
        ))}
        <div />
        <div class="tl-axis" aria-hidden="true">{ticks(length).map((mark) => <span key={mark} style={{ left: `${(mark / length) * 100}%` }}>{mark === 0 ? clock(lines.from, Date.now()) : `+${duration(mark)}`}</span>)}</div>
      </div>
    </div>
  );
}

function describe(bar: Bar, lines: Lines): string {
  const span = duration(bar.to - bar.from);
  const tone = bar.tone === 'lost' ? 'lease lost' : words(bar.tone);
  const what = bar.label === tone ? bar.label : `${bar.label} (${tone})`;
  const detail = bar.detail ? `, ${bar.detail}` : '';
  return visibleLine(`${what}: ${bar.open ? `${span} so far` : span}, at +${duration(bar.from - lines.from)}${detail}`);
}

/** Below this share of the track a label would be cut after a letter or two. */
const leastForLabel = 0.07;

const BarView = ({ bar, left, share, title }: { bar: Bar; left: string; share: number; title: string }) => (
  <div class={bar.open ? 'tl-bar open' : 'tl-bar'} data-state={bar.tone} style={{ left: `min(${left}, 100% - 4px)`, width: `${(share * 100).toFixed(3)}%` }} title={title}>{share < leastForLabel ? '' : visibleLine(bar.label)}</div>
);
