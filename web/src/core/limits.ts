// Limits: what each is for and how much it allows in words, what is in use of it, and the request that a form makes.
import type { BudgetSpec, LimitBody, LimitCheckRequest, LimitInfo, LimitUse, RateLimit, ShareSpec } from '../api/types';
import { listWords } from './cron';
import type { Filter } from './filters';
import { Refusal, type FormValues } from './form';
import { compactDuration, count, parseDuration, plural } from './format';
import { parseTags } from './tags';

/** The events after which a list of limits is no longer right. */
export const limitEvents = 'limit_created,limit_changed,limit_removed';
export const limitPath = (name: string): string => `/v1/limits/${encodeURIComponent(name)}`;
export const limitKey = (limit: Pick<LimitInfo, 'namespace' | 'name'>): string => `${limit.namespace ?? ''}\n${limit.name}`;

/** Without a namespace it is the limit for all namespaces. */
export function limitLink(namespace: string | undefined, name: string): string {
  return `/ui/limits/${encodeURIComponent(name)}${namespace ? `?${new URLSearchParams({ namespace }).toString()}` : ''}`;
}

const longUnits: Record<string, string> = { d: ' d', h: ' h', m: ' min', s: ' s', ms: ' ms' };

/** "1 min", in the largest unit that says it exactly. */
export const periodWords = (ms: number): string => compactDuration(ms).replace(/[a-z]+$/, (unit) => longUnits[unit] ?? unit).replace(/^1 (?=min|s|h|d)/, '');

export function rateWords(rate: RateLimit): string {
  const text = `${count(rate.count)} per ${periodWords(rate.period_ms)}`;
  return rate.burst === undefined ? text : `${text}, up to ${count(rate.burst)} at once`;
}

/** "turns, acme 5 times as often". */
function turnWords(share: ShareSpec): string {
  const weights = Object.entries(share.weights).map(([key, weight]) => `${key === '' ? '(empty)' : key} ${count(weight)} times as often`);
  return ['turns', ...weights].join(', ');
}

/** "3 at a time, 100 per min". What a budget allows is on the pages of budgets. */
export const allowanceWords = (limit: Pick<LimitInfo, 'concurrency' | 'rate' | 'budget' | 'share'>): string =>
  [limit.concurrency === undefined ? '' : `${count(limit.concurrency)} at a time`, limit.rate ? rateWords(limit.rate) : '', limit.budget ? `a budget of ${listWords(limit.budget.dimensions.map((one) => one.name))}` : '', limit.share ? turnWords(limit.share) : ''].filter(Boolean).join(', ') || 'nothing';

const perWords = (name: string): string => (name.startsWith('tags.') ? `value of tag ${name.slice(5)}` : name);

/** "executions of lane mail, for each value of tag app.customer". */
export function scopeWords(limit: Pick<LimitInfo, 'namespace' | 'lane' | 'kind' | 'per'>): string {
  const of = [limit.kind === undefined ? '' : `kind ${limit.kind}`, limit.lane === undefined ? '' : `lane ${limit.lane}`].filter(Boolean);
  const where = limit.namespace === undefined ? 'all namespaces' : `namespace ${limit.namespace}`;
  const each = limit.per.length === 0 ? '' : `, for each ${listWords(limit.per.map(perWords))}`;
  return `executions${of.length === 0 ? '' : ` of ${listWords(of)}`} in ${where}${each}`;
}

/** What the values of a key are called: "acme", "all together". */
export const keyWords = (key: readonly string[]): string => (key.length === 0 ? 'all together' : key.map((value) => (value === '' ? '(empty)' : value)).join(', '));

export interface Level { part: number; tone: 'good' | 'warn' | 'bad'; text: string }

/** How full a key is, for a bar. Of a limit without a concurrency only the rate can be full. */
export function levelOf(limit: Pick<LimitInfo, 'concurrency'>, use: Pick<LimitUse, 'in_use' | 'free' | 'held_back'>): Level {
  const full = use.free === 0;
  if (limit.concurrency === undefined) return { part: full ? 1 : 0, tone: full ? 'bad' : 'good', text: use.free === undefined ? 'any number may start' : `${count(use.free)} may start now` };
  const part = Math.min(1, use.in_use / limit.concurrency);
  return { part, tone: part >= 1 || full ? 'bad' : part >= 0.75 ? 'warn' : 'good', text: `${count(use.in_use)} of ${count(limit.concurrency)}` };
}

const mostCounted = 1000;

/** The server counts up to a thousand for each key. */
export const heldWords = (held: number, more = false): string => (held >= mostCounted || more ? `${count(held)} or more` : count(held));

export interface Total { keys: number; full: number; inUse: number; held: number; fullest: LimitUse | undefined }

/** What a list shows of a limit: the key that is fullest stands for all of them. */
export function totalOf(limit: Pick<LimitInfo, 'concurrency'>, uses: readonly LimitUse[]): Total {
  const ranked = [...uses].sort((a, b) => levelOf(limit, b).part - levelOf(limit, a).part || b.held_back - a.held_back);
  return {
    keys: uses.length, full: uses.filter((use) => use.free === 0).length, inUse: uses.reduce((sum, use) => sum + use.in_use, 0),
    held: uses.reduce((sum, use) => sum + use.held_back, 0), fullest: ranked[0],
  };
}

export function totalWords(total: Total): string {
  if (total.keys === 0) return 'not in use';
  return `${plural(total.keys, 'key')}${total.full > 0 ? `, ${count(total.full)} full` : ''}`;
}

/** Whether the reason why an execution does not start names this limit, or its budget. */
export const isNamedIn = (sentence: string, limit: Pick<LimitInfo, 'name'>): boolean => ['Limit', 'Budget'].some((word) => sentence.startsWith(`${word} "${limit.name}" `));

/** A filter for the executions that a key is for; `exact`: it selects no others. */
export function keyFilter(limit: Pick<LimitInfo, 'namespace' | 'lane' | 'kind' | 'per'>, key: readonly string[]): { filter: Partial<Filter>; exact: boolean } {
  const filter: Partial<Filter> = {};
  let exact = true;
  limit.per.forEach((name, at) => {
    const value = key[at] ?? '';
    if (name === 'namespace' || name === 'lane' || name === 'kind') filter[name] = value;
    else if (name === 'flow') filter.flow = value.replace(/^fp\d+-/, ''); // the filter has the UUID in the id of the flow
    else if (name.startsWith('tags.') && filter.tag === undefined) filter.tag = `${name.slice(5)}=${value}`;
    else exact = false;
  });
  for (const name of ['namespace', 'lane', 'kind'] as const) if (limit[name] !== undefined) filter[name] = limit[name];
  return { filter, exact };
}

/** A limit as the command line names it. */
export const nameWords = (namespace: string | undefined, name: string): string[] => [name, ...(namespace ? ['--namespace', namespace] : [])];

export const emptyLimitForm: FormValues = { name: '', namespace: '', lane: '', kind: '', per: '', concurrency: '', rate: '', period: '1m', burst: '', reason: '' };

export function limitFormOf(limit: LimitInfo): FormValues {
  return {
    name: limit.name, namespace: limit.namespace ?? '', lane: limit.lane ?? '', kind: limit.kind ?? '', per: limit.per.join(', '), concurrency: limit.concurrency === undefined ? '' : String(limit.concurrency),
    rate: limit.rate ? String(limit.rate.count) : '', period: limit.rate ? compactDuration(limit.rate.period_ms) : '1m', burst: limit.rate?.burst === undefined ? '' : String(limit.rate.burst), reason: '',
  };
}

const text = (values: FormValues, name: string): string => (values[name] ?? '').trim();

/** What a form says about whom a limit is for, and why it is changed. */
export function scopeBody(values: FormValues): LimitBody {
  const body: LimitBody = {};
  for (const name of ['namespace', 'lane', 'kind', 'reason'] as const) if (text(values, name) !== '') body[name] = text(values, name);
  const per = text(values, 'per').split(/[\s,]+/).filter(Boolean);
  if (per.length > 0) body.per = per;
  return body;
}

/** `revision` is that of the limit which the form shows; 0: there must be none of this name. A budget that it has stays. */
export function limitBody(values: FormValues, revision: number, budget?: BudgetSpec): LimitBody {
  const body: LimitBody = { ...scopeBody(values), expected_revision: revision };
  if (budget) body.budget = budget;
  if (text(values, 'concurrency') !== '') body.concurrency = Number(text(values, 'concurrency'));
  if (text(values, 'rate') !== '') {
    const period = parseDuration(values['period'] ?? '');
    if (period === undefined) throw new Refusal('rate.period_ms', `"${values['period'] ?? ''}" is not a duration; write 500ms, 30s, 15m, 2h or 1d`);
    body.rate = { count: Number(text(values, 'rate')), period_ms: period, ...(text(values, 'burst') === '' ? {} : { burst: Number(text(values, 'burst')) }) };
  } else if (text(values, 'burst') !== '') throw new Refusal('rate.burst', 'is given without a number of starts');
  return body;
}

/** The options of `flowfabric limits check`, and the request, of what the form of a check holds. */
export function checkBody(values: FormValues): LimitCheckRequest {
  const body: LimitCheckRequest = {};
  for (const name of ['namespace', 'lane', 'kind', 'creator'] as const) if (text(values, name) !== '') body[name] = text(values, name);
  const tags = parseTags(values['tags'] ?? '');
  if (Object.keys(tags).length > 0) body.tags = tags;
  return body;
}
