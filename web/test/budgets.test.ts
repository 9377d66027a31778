import { describe, expect, it } from 'vitest';
import type { BudgetUse, DimensionUse, LimitInfo, LimitUse } from '../src/api/types';
import { accountOf, accountState, amountsOf, barOf, bodyWithoutBudget, budgetBody, budgetFormOf, budgetLink, budgetWords, budgetWordsOf, changeBody, changeWords, dimensionField, dimensionState, dimensionTotal, emptyBudgetForm, forecastWords, orderedAccounts, periodWords, usageBars, withoutDimension } from '../src/core/budgets';
import { isNamedIn, keyFilter, limitBody, limitFormOf } from '../src/core/limits';

const spec = { dimensions: [{ name: 'tokens', hard: 1_000_000, soft: 800_000, reserve: 2000 }, { name: 'calls', reserve: 0 }], period: '1d', time_zone: 'UTC', on_hard_limit: 'deny' as const };
const info = (more: Partial<LimitInfo> = {}): LimitInfo => ({ name: 'b', per: [], revision: 3, budget: spec, ...more });
const dimension = (more: Partial<DimensionUse> = {}): DimensionUse => ({ name: 'tokens', spent: 0, reserved: 0, hard: 100, per_hour: 0, ...more });
const use = (dimensions: DimensionUse[], more: Partial<BudgetUse> = {}): BudgetUse => ({ paused: false, resets: 0, breaches: 0, dimensions, bucket_ms: 1000, usage: [], ...more });
const account = (key: string[], budget: BudgetUse, held = 0): LimitUse => ({ key, in_use: 0, held_back: held, holders: [], budget });

describe('words', () => {
  it('tell what a budget allows', () => {
    expect(budgetWords(spec)).toMatch(/^1.000.000 tokens and any calls per day$/);
    expect(['lifetime', '1h', '15m', '2w', '1mo', undefined].map(periodWords)).toEqual(['in all', 'per hour', 'per 15 minutes', 'per 2 weeks', 'per month', 'in all']);
  });
  it('name a budget, and one of its accounts', () => {
    expect(budgetLink(undefined, 'a b/c')).toBe('/ui/budgets/a%20b%2Fc');
    const link = budgetLink('shop', 'b', ['acme', 'é"']);
    expect(accountOf(link.slice(link.indexOf('?')))).toEqual(['acme', 'é"']);
    expect(accountOf('?account=7')).toBeUndefined();
    expect(accountOf('?account=[1]')).toBeUndefined();
    expect(accountOf('')).toBeUndefined();
  });
  it('tell when it runs out', () => {
    expect(forecastWords(dimension({ runs_out_at: 600_000 }), 0)).toBe('in 10 min');
    expect(forecastWords(dimension({ spent: 100, runs_out_at: 5 }), 10)).toBe('used up');
    expect(forecastWords(dimension({ spent: 99, runs_out_at: 5 }), 10)).toBe('now');
    expect(forecastWords(dimension(), 0)).toBeUndefined();
  });
  it('find the budget in a reason', () => {
    expect(isNamedIn('Budget "b" of acme has too little left: 10 tokens spent', { name: 'b' })).toBe(true);
    expect(isNamedIn('Budget "bb" has too little left', { name: 'b' })).toBe(false);
  });
});

describe('states', () => {
  it('of a dimension', () => {
    const text = (more: Partial<DimensionUse>): string => dimensionState(dimension(more)).text;
    expect([{ spent: 10 }, { spent: 81, soft: 80 }, { spent: 60, reserved: 40 }, { spent: 100 }, { spent: 101 }, { spent: 9999, hard: undefined }].map(text)).toEqual(['open', 'above soft limit', 'all reserved', 'used up', 'overdrawn', 'open']);
  });
  it('of an account: the worst, and paused before all', () => {
    expect(accountState(use([dimension(), dimension({ name: 'x', spent: 120 })])).text).toBe('overdrawn');
    expect(accountState(use([dimension({ spent: 120 })], { paused: true })).text).toBe('paused');
    expect(accountState(use([])).text).toBe('open');
  });
  it('as a bar', () => {
    expect(barOf(dimension({ spent: 50, reserved: 25, soft: 80 }))).toEqual({ spent: 0.5, reserved: 0.25, soft: 0.8, tone: 'good' });
    expect(barOf(dimension({ spent: 200 }))).toEqual({ spent: 1, reserved: 0, hard: 0.5, tone: 'bad' });
    expect(barOf(dimension({ hard: undefined, spent: 0 }))).toEqual({ spent: 0, reserved: 0, tone: 'good' });
    expect(barOf(dimension({ hard: undefined, soft: 10, spent: 20 }))).toEqual({ spent: 1, reserved: 0, soft: 0.5, tone: 'warn' });
    expect(barOf(dimension({ spent: -5, hard: undefined }))).toEqual({ spent: 0, reserved: 0, tone: 'good' });
  });
  it('of all accounts in a list', () => {
    const total = dimensionTotal('tokens', [account(['a'], use([dimension({ spent: 10, runs_out_at: 900 })], { period_end: 5 })), account(['b'], use([dimension({ spent: 100, runs_out_at: 400 })]), 3)]);
    expect(total).toMatchObject({ accounts: 2, held: 3, affected: 1, runsOut: { runs_out_at: 400 }, periodEnd: 5, state: { text: 'used up' }, fullest: { key: ['b'] }, use: { spent: 100 } });
    expect(dimensionTotal('tokens', [])).toMatchObject({ accounts: 0, affected: 0, fullest: undefined, use: undefined, runsOut: undefined, state: { text: 'open' } });
  });
  it('order the accounts: those that need somebody first', () => {
    const ordered = orderedAccounts([account(['open'], use([dimension({ spent: 1 })])), account(['fuller'], use([dimension({ spent: 50 })])), account(['paused'], use([dimension()], { paused: true })), account(['waits'], use([dimension()]), 2)]);
    expect(ordered.map((one) => one.key[0])).toEqual(['paused', 'waits', 'fuller', 'open']);
  });
});

describe('usage over time', () => {
  it('has the stretches without usage, too, up to now', () => {
    const bars = usageBars(use([], { usage: [{ from: 10_000, spent: { tokens: 5 } }, { from: 12_000, spent: { calls: 1 } }] }), 'tokens', 13_500);
    expect(bars).toHaveLength(24);
    expect(bars[23]).toEqual({ from: 13_000, spent: 0 });
    expect(bars[20]).toEqual({ from: 10_000, spent: 5 });
    expect(bars[22]).toEqual({ from: 12_000, spent: 0 });
  });
  it('has no more than the server keeps', () => {
    expect(usageBars(use([], { usage: [{ from: 1000, spent: {} }] }), 'tokens', 999_000)).toHaveLength(48);
    expect(usageBars(use([], { bucket_ms: 0 }), 'tokens', 1)).toEqual([]);
  });
});

describe('forms', () => {
  const limit = info({ namespace: 'shop', lane: 'mail', per: ['tags.app.customer'], concurrency: 4, rate: { count: 1, period_ms: 1000 } });
  it('change nothing when nothing was changed', () => {
    expect(budgetBody(budgetFormOf(limit), limit)).toEqual({ namespace: 'shop', lane: 'mail', per: ['tags.app.customer'], expected_revision: 3, budget: spec, concurrency: 4, rate: { count: 1, period_ms: 1000 } });
    expect(limitBody(limitFormOf(limit), 3, limit.budget).budget).toEqual(spec);
  });
  it('make a new one', () => {
    const values = { ...emptyBudgetForm, name: 'b', [dimensionField(0, 'name')]: 'cents', [dimensionField(0, 'hard')]: '500', on_hard_limit: 'pause', time_zone: 'Europe/Berlin', reason: 'why' };
    const body = budgetBody(values, undefined);
    expect(body).toEqual({ expected_revision: 0, reason: 'why', budget: { dimensions: [{ name: 'cents', hard: 500, reserve: 0 }], period: '1d', time_zone: 'Europe/Berlin', on_hard_limit: 'pause' } });
    expect(budgetWordsOf('b', body).join(' ')).toBe('budgets set b --hard cents=500 --period 1d --time-zone Europe/Berlin --on-hard-limit pause --reason why');
    expect(budgetWordsOf('b', budgetBody(budgetFormOf(limit), limit)).join(' ')).toBe('budgets set b --namespace shop --lane mail --per tags.app.customer --hard tokens=1000000 --soft tokens=800000 --reserve tokens=2000 --count calls --period 1d --on-hard-limit deny');
  });
  it('take a dimension away; those behind it move up', () => {
    const values = withoutDimension(budgetFormOf(limit), 0);
    expect(budgetBody(values, limit).budget?.dimensions).toEqual([{ name: 'calls', reserve: 0 }]);
    expect(values[dimensionField(1, 'name')]).toBe('');
  });
  it('remove the budget, and leave the rest of the limit', () => {
    expect(bodyWithoutBudget(limit, 'done')).toEqual({ namespace: 'shop', lane: 'mail', per: ['tags.app.customer'], concurrency: 4, rate: { count: 1, period_ms: 1000 }, expected_revision: 3, reason: 'done' });
    expect(bodyWithoutBudget(info(), '')).toBeUndefined();
  });
  it('change an account', () => {
    const amounts = amountsOf({ 'amounts.tokens': ' -5 ', 'amounts.calls': '' }, spec);
    expect(amounts).toEqual({ tokens: -5 });
    const body = changeBody(limit, ['acme'], 'adjust', 'refund', amounts);
    expect(body).toEqual({ change: 'adjust', namespace: 'shop', account: ['acme'], amounts: { tokens: -5 }, reason: 'refund' });
    expect(changeWords(limit, body).join(' ')).toBe('budgets adjust b --namespace shop --account acme --by-amount tokens=-5 --reason refund');
    expect(changeWords(info(), changeBody(info(), [], 'reset', '')).join(' ')).toBe('budgets reset b --yes');
  });
});

describe('the executions of an account', () => {
  it('are selected by a filter, as far as it can', () => {
    expect(keyFilter(info({ lane: 'mail', per: ['tags.app.customer', 'namespace'] }), ['acme', 'shop'])).toEqual({ filter: { lane: 'mail', tag: 'app.customer=acme', namespace: 'shop' }, exact: true });
    expect(keyFilter(info({ per: ['tags.a', 'tags.b'] }), ['1', '2'])).toEqual({ filter: { tag: 'a=1' }, exact: false });
    expect(keyFilter(info({ per: ['creator'] }), ['ada'])).toEqual({ filter: {}, exact: false });
    expect(keyFilter(info({ per: ['flow'] }), ['fp93-01a1f655'])).toEqual({ filter: { flow: '01a1f655' }, exact: true });
  });
});
