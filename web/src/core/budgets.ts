// Budgets: what each allows in words, how much of an account is spent and reserved, its usage over time, and the requests that forms make.
import type { BudgetDimension, BudgetSpec, BudgetUse, ChangeBudgetBody, DimensionUse, LimitBody, LimitInfo, LimitUse } from '../api/types';
import { listWords } from './cron';
import type { FormValues } from './form';
import { count, relative } from './format';
import { limitEvents, limitPath, nameWords, scopeBody } from './limits';

/** The events after which what a page shows of budgets is no longer right. What is spent has no events. */
export const budgetEvents = `${limitEvents},budget_warning,budget_exceeded,budget_paused,budget_resumed,budget_reset,budget_adjusted`;
export const budgetPath = (name: string): string => `${limitPath(name)}/budget`;

/** Without a namespace it is the budget for all namespaces. `account`: the values of `per`. */
export function budgetLink(namespace: string | undefined, name: string, account?: readonly string[]): string {
  const query = new URLSearchParams({ ...(namespace ? { namespace } : {}), ...(account && account.length > 0 ? { account: JSON.stringify(account) } : {}) }).toString();
  return `/ui/budgets/${encodeURIComponent(name)}${query ? `?${query}` : ''}`;
}

/** The account that an address names. */
export function accountOf(search: string): string[] | undefined {
  try {
    const parsed: unknown = JSON.parse(new URLSearchParams(search).get('account') ?? '');
    return Array.isArray(parsed) && parsed.every((value) => typeof value === 'string') ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const units: Record<string, string> = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week', mo: 'month' };

/** "per day", "per 15 minutes", "in all". */
export function periodWords(period: string | undefined): string {
  const match = /^(\d+)(s|m|h|d|w|mo)$/.exec(period ?? 'lifetime');
  if (!match) return 'in all';
  const unit = units[match[2] as string] as string;
  return match[1] === '1' ? `per ${unit}` : `per ${count(Number(match[1]))} ${unit}s`;
}

const dimensionWords = (one: BudgetDimension): string => `${one.hard === undefined ? 'any' : count(one.hard)} ${one.name}`;

/** "1 000 000 tokens and 5 000 cents per day". */
export const budgetWords = (budget: BudgetSpec): string => `${listWords(budget.dimensions.map(dimensionWords))} ${periodWords(budget.period)}`;

export const breachWords: Record<BudgetSpec['on_hard_limit'], string> = {
  deny: 'refuse the report; what does not fit waits',
  pause: 'and start none until an operator resumes the account',
  fail: 'and fail the execution that wanted to spend',
  cancel_pending: 'and cancel executions that wait',
  notify: 'refuse nothing; only tell',
};

export interface BudgetState { text: string; tone: 'good' | 'warn' | 'bad'; rank: number }
const states = {
  open: { text: 'open', tone: 'good', rank: 0 },
  soft: { text: 'above soft limit', tone: 'warn', rank: 1 },
  reserved: { text: 'all reserved', tone: 'warn', rank: 2 },
  used: { text: 'used up', tone: 'bad', rank: 3 },
  overdrawn: { text: 'overdrawn', tone: 'bad', rank: 4 },
  paused: { text: 'paused', tone: 'bad', rank: 5 },
} as const satisfies Record<string, BudgetState>;

export function dimensionState(one: DimensionUse): BudgetState {
  if (one.hard !== undefined && one.spent > one.hard) return states.overdrawn;
  if (one.hard !== undefined && one.spent >= one.hard) return states.used;
  if (one.hard !== undefined && one.spent + one.reserved >= one.hard) return states.reserved;
  return one.soft !== undefined && one.spent > one.soft ? states.soft : states.open;
}

const worst = (all: readonly BudgetState[]): BudgetState => all.reduce<BudgetState>((found, one) => (one.rank > found.rank ? one : found), states.open);

export const accountState = (use: BudgetUse): BudgetState => (use.paused ? states.paused : worst(use.dimensions.map(dimensionState)));

/** Parts of a bar, between 0 and 1. The marks stand where the limits are. */
export interface Bar { spent: number; reserved: number; soft?: number; hard?: number; tone: 'good' | 'warn' | 'bad' }

export function barOf(one: DimensionUse): Bar {
  const used = one.spent + one.reserved;
  const scale = Math.max(one.hard ?? one.soft ?? 0, used);
  const bar: Bar = { spent: scale === 0 ? 0 : Math.min(1, Math.max(0, one.spent / scale)), reserved: scale === 0 ? 0 : Math.max(0, one.reserved / scale), tone: dimensionState(one).tone };
  if (one.soft !== undefined && scale > 0 && one.soft < scale) bar.soft = one.soft / scale;
  if (one.hard !== undefined && one.hard < scale) bar.hard = one.hard / scale;
  return bar;
}

export const spentWords = (one: DimensionUse): string => (one.hard === undefined ? count(one.spent) : `${count(one.spent)} of ${count(one.hard)}`);

/** Everything about a dimension, for tooltips. */
export const dimensionTitle = (one: DimensionUse): string =>
  [`${count(one.spent)} ${one.name} spent`, `${count(one.reserved)} reserved`, one.soft === undefined ? '' : `soft limit ${count(one.soft)}`, one.hard === undefined ? 'no hard limit' : `hard limit ${count(one.hard)}`].filter(Boolean).join(', ');

/** When it runs out at the present rate, if it does so in this period. */
export function forecastWords(one: DimensionUse, now: number): string | undefined {
  if (one.hard === undefined || one.runs_out_at === undefined) return undefined;
  return one.spent >= one.hard ? 'used up' : relative(Math.max(one.runs_out_at, now), now);
}

/** How full: for the order of accounts, and for the one that stands for all in a list. */
const fullness = (one: DimensionUse | undefined): number => {
  const most = one?.hard ?? one?.soft;
  return !one ? 0 : most === undefined || most === 0 ? 0 : (one.spent + one.reserved) / most;
};
const dimensionOf = (use: LimitUse, name: string): DimensionUse | undefined => use.budget?.dimensions.find((one) => one.name === name);

export interface DimensionTotal {
  accounts: number;
  held: number;
  state: BudgetState; // the worst of an account
  affected: number; // accounts in this state, if it is not the usual one
  fullest: LimitUse | undefined;
  use: DimensionUse | undefined; // of the fullest account
  runsOut: DimensionUse | undefined; // of the account that does so first
  periodEnd: number | undefined;
}

/** What a list shows of one dimension of a budget. */
export function dimensionTotal(name: string, uses: readonly LimitUse[]): DimensionTotal {
  const counted = uses.filter((use) => use.budget);
  const stateOf = (use: LimitUse): BudgetState => {
    const one = dimensionOf(use, name);
    return use.budget?.paused ? states.paused : one ? dimensionState(one) : states.open;
  };
  const state = worst(counted.map(stateOf));
  const fullest = [...counted].sort((a, b) => fullness(dimensionOf(b, name)) - fullness(dimensionOf(a, name)) || (dimensionOf(b, name)?.spent ?? 0) - (dimensionOf(a, name)?.spent ?? 0))[0];
  const ends = counted.flatMap((use) => dimensionOf(use, name) ?? []).filter((one) => one.runs_out_at !== undefined).sort((a, b) => (a.runs_out_at ?? 0) - (b.runs_out_at ?? 0));
  return {
    accounts: counted.length, held: uses.reduce((sum, use) => sum + use.held_back, 0), state, affected: state.rank === 0 ? 0 : counted.filter((use) => stateOf(use).rank === state.rank).length,
    fullest, use: fullest ? dimensionOf(fullest, name) : undefined, runsOut: ends[0],
    periodEnd: counted.map((use) => use.budget?.period_end).find((end) => end !== undefined),
  };
}

/** Those that need somebody come first. */
export function orderedAccounts(uses: readonly LimitUse[]): LimitUse[] {
  const rank = (use: LimitUse): number => (use.budget ? accountState(use.budget).rank : -1);
  const full = (use: LimitUse): number => Math.max(0, ...(use.budget?.dimensions ?? []).map(fullness));
  const name = (use: LimitUse): string => JSON.stringify(use.key);
  return [...uses].sort((a, b) => rank(b) - rank(a) || b.held_back - a.held_back || full(b) - full(a) || (name(a) < name(b) ? -1 : 1));
}

export interface UsageBar { from: number; spent: number }
const leastBars = 24;
const mostBars = 48;

/** The stretches of time until now, those without usage too. */
export function usageBars(use: BudgetUse, dimension: string, now: number): UsageBar[] {
  const width = use.bucket_ms;
  if (width <= 0) return [];
  const spent = new Map(use.usage.map((bucket) => [bucket.from ?? 0, bucket.spent[dimension] ?? 0]));
  const known = [...spent.keys()];
  const last = Math.max(Math.floor(now / width) * width, ...known);
  const first = Math.min(last, ...known);
  const bars = Math.min(mostBars, Math.max(leastBars, Math.round((last - first) / width) + 1));
  return Array.from({ length: bars }, (_, index) => last - (bars - 1 - index) * width).map((from) => ({ from, spent: spent.get(from) ?? 0 }));
}

// ---- Forms

export const dimensionFields = ['name', 'hard', 'soft', 'reserve'] as const;
export const dimensionField = (index: number, field: (typeof dimensionFields)[number]): string => `dimension-${index}-${field}`;
export const mostDimensions = 8;

export const emptyBudgetForm: FormValues = { name: '', namespace: '', lane: '', kind: '', per: '', period: '1d', time_zone: '', on_hard_limit: 'deny', reason: '', dimensions: '1' };

const shown = (value: number | undefined): string => (value === undefined ? '' : String(value));

export function budgetFormOf(limit: LimitInfo): FormValues {
  const values: FormValues = {
    ...emptyBudgetForm, name: limit.name, namespace: limit.namespace ?? '', lane: limit.lane ?? '', kind: limit.kind ?? '', per: limit.per.join(', '), period: limit.budget?.period ?? 'lifetime',
    time_zone: limit.budget?.time_zone === 'UTC' ? '' : limit.budget?.time_zone ?? '', on_hard_limit: limit.budget?.on_hard_limit ?? 'deny', dimensions: String(limit.budget?.dimensions.length ?? 1),
  };
  limit.budget?.dimensions.forEach((one, index) => {
    values[dimensionField(index, 'name')] = one.name;
    values[dimensionField(index, 'hard')] = shown(one.hard);
    values[dimensionField(index, 'soft')] = shown(one.soft);
    values[dimensionField(index, 'reserve')] = one.reserve ? String(one.reserve) : '';
  });
  return values;
}

export const dimensionCount = (values: FormValues): number => Number(values['dimensions'] ?? '1');

/** Without the dimension at `index`; those behind it move up. */
export function withoutDimension(values: FormValues, index: number): FormValues {
  const next = { ...values };
  const last = dimensionCount(values) - 1;
  for (let at = index; at <= last; at += 1)
    for (const field of dimensionFields) next[dimensionField(at, field)] = at === last ? '' : values[dimensionField(at + 1, field)] ?? '';
  return { ...next, dimensions: String(last) };
}

const text = (values: FormValues, name: string): string => (values[name] ?? '').trim();

function dimensionIn(values: FormValues, index: number): BudgetDimension {
  const one: BudgetDimension = { name: text(values, dimensionField(index, 'name')), reserve: 0 };
  for (const field of ['hard', 'soft', 'reserve'] as const) {
    const value = text(values, dimensionField(index, field));
    if (value !== '') one[field] = Number(value);
  }
  return one;
}

/** `limit`: that which the form changes. A concurrency and a rate that it has stay. */
export function budgetBody(values: FormValues, limit: LimitInfo | undefined): LimitBody {
  const budget: BudgetSpec = {
    dimensions: Array.from({ length: dimensionCount(values) }, (_, index) => dimensionIn(values, index)), period: text(values, 'period') || 'lifetime',
    time_zone: text(values, 'time_zone') || 'UTC', on_hard_limit: text(values, 'on_hard_limit') as BudgetSpec['on_hard_limit'],
  };
  const body: LimitBody = { ...scopeBody(values), expected_revision: limit?.revision ?? 0, budget };
  if (limit?.concurrency !== undefined) body.concurrency = limit.concurrency;
  if (limit?.rate) body.rate = limit.rate;
  return body;
}

/** What is left of a limit without its budget; undefined: nothing. */
export function bodyWithoutBudget(limit: LimitInfo, reason: string): LimitBody | undefined {
  if (limit.concurrency === undefined && !limit.rate) return undefined;
  const body: LimitBody = { expected_revision: limit.revision };
  for (const name of ['namespace', 'lane', 'kind', 'concurrency', 'rate'] as const) if (limit[name] !== undefined) Object.assign(body, { [name]: limit[name] });
  if (limit.per.length > 0) body.per = limit.per;
  return reason === '' ? body : { ...body, reason };
}

const setWords = (budget: BudgetSpec): string[] => budget.dimensions.flatMap((one) => {
  const words = (['hard', 'soft', 'reserve'] as const).flatMap((field) => (one[field] === undefined || (field === 'reserve' && one.reserve === 0) ? [] : [`--${field}`, `${one.name}=${one[field]}`]));
  return words.length > 0 ? words : ['--count', one.name];
});

/** The words of `flowfabric budgets set`. */
export const budgetWordsOf = (name: string, body: LimitBody): string[] => [
  'budgets', 'set', ...nameWords(body.namespace, name), ...(body.lane ? ['--lane', body.lane] : []), ...(body.kind ? ['--kind', body.kind] : []), ...(body.per ?? []).flatMap((one) => ['--per', one]),
  ...(body.budget ? [...setWords(body.budget), '--period', body.budget.period, ...(body.budget.time_zone === 'UTC' ? [] : ['--time-zone', body.budget.time_zone]), '--on-hard-limit', body.budget.on_hard_limit] : []),
  ...(body.reason ? ['--reason', body.reason] : []),
];

export function changeBody(limit: LimitInfo, account: readonly string[], change: ChangeBudgetBody['change'], reason: string, amounts?: Record<string, number>): ChangeBudgetBody {
  const body: ChangeBudgetBody = { change };
  if (limit.namespace !== undefined) body.namespace = limit.namespace;
  if (account.length > 0) body.account = [...account];
  if (amounts) body.amounts = amounts;
  return reason === '' ? body : { ...body, reason };
}

/** The words of `flowfabric budgets reset`, `resume` and `adjust`. */
export const changeWords = (limit: LimitInfo, body: ChangeBudgetBody): string[] => [
  'budgets', body.change, ...nameWords(limit.namespace, limit.name), ...(body.account ?? []).flatMap((value) => ['--account', value]),
  ...Object.entries(body.amounts ?? {}).flatMap(([name, amount]) => ['--by-amount', `${name}=${amount}`]), ...(body.reason ? ['--reason', body.reason] : []), ...(body.change === 'reset' ? ['--yes'] : []),
];

/** The amounts of an adjustment: what was left empty does not change. */
export const amountsOf = (values: FormValues, budget: Pick<BudgetSpec, 'dimensions'>): Record<string, number> =>
  Object.fromEntries(budget.dimensions.flatMap((one) => (text(values, `amounts.${one.name}`) === '' ? [] : [[one.name, Number(text(values, `amounts.${one.name}`))]])));
