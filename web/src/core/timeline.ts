// The life of one execution as bars: its states, its attempts with their leases, its steps.
import type { Attempt, Event } from '../api/types';
import type { PublicState, Step } from '../api/contract';
import { endedStates } from '../api/contract';

export interface Bar {
  from: number;
  to: number;
  open: boolean; // it goes on
  tone: PublicState | 'lost' | 'step';
  label: string;
  detail: string;
}

export interface Row {
  title: string;
  note: string;
  bars: Bar[];
}

export interface Timeline {
  from: number;
  to: number;
  rows: Row[];
}

const leaseStarts = new Set(['claimed', 'resumed', 'lease_reclaimed']);
const leaseEnds: Record<string, Bar['tone']> = {
  completed: 'completed', failed: 'failed', retry_scheduled: 'failed', cancelled: 'cancelled', expired: 'expired',
  lease_expired: 'lost', lease_revoked: 'lost', delayed: 'resumable', released: 'resumable', suspended: 'suspended',
};

export function buildTimeline(events: readonly Event[], attempts: readonly Attempt[], steps: readonly Step[], now: number): Timeline {
  const first = events[0]?.at ?? attempts[0]?.started_at ?? now;
  const lastEvent = events[events.length - 1];
  const ended = lastEvent?.state_after !== undefined && endedStates.has(lastEvent.state_after);
  const to = Math.max(first + 1, ended ? lastEvent.at ?? now : now);
  const rows: Row[] = [{ title: 'State', note: '', bars: stateBars(events, to, ended) }];
  const leases = leaseBars(events, to);
  for (const attempt of attempts) {
    const bars = leases.get(attempt.attempt_index) ?? fallbackBars(attempt, to);
    rows.push({ title: `Attempt ${attempt.attempt_index + 1}`, note: attempt.attempt_type, bars });
  }
  if (steps.length > 0) rows.push({ title: 'Steps', note: `${steps.length}`, bars: stepBars(steps, first, to) });
  return { from: first, to, rows };
}

function stateBars(events: readonly Event[], to: number, ended: boolean): Bar[] {
  const bars: Bar[] = [];
  for (const event of events) {
    const state = event.state_after;
    const at = event.at;
    const last = bars[bars.length - 1];
    if (state === undefined || at === undefined) continue;
    if (last?.tone === state) continue;
    if (last) Object.assign(last, { to: at, open: false });
    bars.push({ from: at, to, open: !ended, tone: state, label: state.replaceAll('_', ' '), detail: event.reason ?? '' });
  }
  // An ended execution stays in its last state forever; a bar of no length would say nothing.
  if (ended) bars.pop();
  return bars;
}

function leaseBars(events: readonly Event[], to: number): Map<number, Bar[]> {
  const byAttempt = new Map<number, Bar[]>();
  let open: Bar | undefined;
  for (const event of events) {
    const at = event.at;
    if (at === undefined) continue;
    const end = leaseEnds[event.type];
    if (open && (end !== undefined || leaseStarts.has(event.type))) {
      Object.assign(open, { to: at, open: false, tone: end ?? 'lost', detail: event.reason ?? event.type });
      open = undefined;
    }
    if (!leaseStarts.has(event.type)) continue;
    open = { from: at, to, open: true, tone: 'active', label: event.worker_instance_id ?? event.actor ?? '', detail: 'holds the lease' };
    const index = event.attempt_index ?? 0;
    byAttempt.set(index, [...(byAttempt.get(index) ?? []), open]);
  }
  return byAttempt;
}

function fallbackBars(attempt: Attempt, to: number): Bar[] {
  if (attempt.started_at === undefined) return [];
  const tones: Partial<Record<Attempt['attempt_state'], Bar['tone']>> = {
    started: 'active', ended_success: 'completed', ended_failure: 'failed', ended_cancelled: 'cancelled', suspended: 'resumable',
  };
  const open = attempt.ended_at === undefined;
  return [{
    from: attempt.started_at, to: attempt.ended_at ?? to, open, tone: tones[attempt.attempt_state] ?? 'lost',
    label: attempt.worker_instance_id, detail: attempt.failure?.category ?? attempt.attempt_state,
  }];
}

const stepTones: Record<Step['state'], Bar['tone']> = { succeeded: 'step', failed: 'failed', sleep: 'delayed', wait: 'suspended' };

function stepBars(steps: readonly Step[], first: number, end: number): Bar[] {
  return steps.filter((step) => step.recorded_at !== undefined).map((step) => {
    const at = step.recorded_at as number;
    // A sleep begins when it is recorded; all others end then.
    const [from, to] = step.wake_at !== undefined ? [at, Math.min(step.wake_at, end)] : [at - step.duration_ms, at];
    const tone = stepTones[step.state];
    return { from: Math.max(first, from), to: Math.max(first, to), open: false, tone, label: step.name, detail: `step ${step.position}` };
  });
}

/** Round distances for about `wanted` marks on an axis of this length. */
export function ticks(length: number, wanted = 6): number[] {
  if (length <= 0) return [0];
  const rough = length / wanted;
  const scale = 10 ** Math.floor(Math.log10(rough));
  const minutes = [1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000,
    7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000];
  const step = rough < 1000
    ? [1, 2, 5, 10].map((factor) => factor * scale).find((candidate) => candidate >= rough) ?? rough
    : minutes.find((candidate) => candidate >= rough) ?? Math.ceil(rough / 86_400_000) * 86_400_000;
  const marks: number[] = [];
  for (let at = 0; at <= length; at += step) marks.push(at);
  return marks;
}
