// Figures over time: the server sends what is new, and the dashboard keeps an hour of it.
import type { Overview, OverviewLane } from '../api/contract';

const mostSamples = 720;

/** The `since` of the next request: the last sample was still open when it was sent. */
export const sinceOf = (old: Overview | undefined): number | undefined => old?.samples[old.samples.length - 1]?.at;

const filled = (values: number[] | undefined, length: number): number[] => {
  const known = values ?? [];
  return [...new Array<number>(Math.max(0, length - known.length)).fill(0), ...known.slice(-length)];
};

/** `fresh` replaces the samples of `old` from its first one on. Lanes keep their samples aligned with those of the top level. */
export function mergeOverview(old: Overview | undefined, fresh: Overview): Overview {
  const first = fresh.samples[0]?.at;
  const kept = old && first !== undefined && old.interval_ms === fresh.interval_ms ? old.samples.filter((sample) => sample.at < first) : [];
  const samples = [...kept, ...fresh.samples].slice(-mostSamples);
  const before = new Map<string, OverviewLane>((old?.lanes ?? []).map((lane) => [lane.lane, lane]));
  const lanes = fresh.lanes.map((lane) => {
    const past = filled(before.get(lane.lane)?.samples, old?.samples.length ?? 0).slice(0, kept.length);
    return { ...lane, samples: [...past, ...filled(lane.samples, fresh.samples.length)].slice(-mostSamples) };
  });
  return { ...fresh, samples, lanes };
}

/** The rate of the last interval that is complete. */
export function lastRate(values: readonly number[] | undefined, intervalMs: number): number {
  const complete = values?.[values.length - 2] ?? values?.[values.length - 1] ?? 0;
  return (complete * 1000) / intervalMs;
}

/** Sums of neighbours, so that an hour fits a small line. The last group may be of fewer. */
export function grouped(values: readonly number[], most: number): number[] {
  const size = Math.max(1, Math.ceil(values.length / most));
  const sums: number[] = [];
  for (let from = 0; from < values.length; from += size) sums.push(values.slice(from, from + size).reduce((sum, value) => sum + value, 0));
  return sums;
}
