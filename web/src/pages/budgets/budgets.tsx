// The budgets: of each thing that one counts, what is spent and reserved, its state, when the period ends and when it runs out.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, session, withQuery } from '../../api/client';
import { allows } from '../../api/contract';
import type { BudgetDimension, LimitInfo, LimitsReply } from '../../api/types';
import { budgetEvents, budgetLink, budgetWords, dimensionTotal, forecastWords, periodWords, type DimensionTotal } from '../../core/budgets';
import { asCli, asCurl } from '../../core/commands';
import { count, exact, plural, relative } from '../../core/format';
import { heldWords, keyWords, limitKey, scopeWords } from '../../core/limits';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { loadUses } from '../../live/limit-uses';
import { narrow } from '../../live/preferences';
import { navigate, place } from '../../live/router';
import { now } from '../../live/visibility';
import { copyText, Count, Empty, Icon, Problem, Text } from '../../ui/basic';
import { BudgetBadge, BudgetBar } from '../../ui/budget-bar';
import { Field } from '../../ui/filter-fields';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { VTable, type Column } from '../../ui/vtable';
import { editBudget } from '../budget/form';

/** One for each dimension of a budget. `total` is missing if the session may not see what is spent. */
interface Row { limit: LimitInfo; dimension: BudgetDimension; total: DimensionTotal | undefined; more: boolean }

async function load(namespace: string | undefined, abort: AbortSignal): Promise<Row[]> {
  const { limits } = await get<LimitsReply>('/v1/limits', { namespace }, abort);
  return (await loadUses(limits.filter((limit) => limit.budget), abort)).flatMap((reply) => (reply.info.budget?.dimensions ?? []).map((dimension) => (
    { limit: reply.info, dimension, total: reply.keys_hidden ? undefined : dimensionTotal(dimension.name, reply.keys), more: reply.next_cursor !== '' })));
}

const hidden = <span class="muted">not shown to a key of one namespace</span>;
const none = <span class="muted">–</span>;

function State({ row: { total } }: { row: Row }) {
  if (!total) return none;
  const more = total.accounts > 1 && total.affected > 0 ? `${count(total.affected)} of ${plural(total.accounts, 'account')}` : undefined;
  return <BudgetBadge state={total.state} more={more} />;
}

function Spent({ row: { limit, dimension, total, more } }: { row: Row }) {
  if (!total) return hidden;
  // Nothing was spent yet, so there is no account.
  const use = total.use ?? { name: dimension.name, spent: 0, reserved: 0, per_hour: 0, hard: dimension.hard, soft: dimension.soft };
  const account = total.fullest && limit.per.length > 0 ? keyWords(total.fullest.key) : undefined;
  return <span title={account === undefined ? undefined : `the fullest of ${plural(total.accounts, 'account')}${more ? ', and more' : ''}`}><BudgetBar use={use}>{account === undefined ? null : <> <span class="muted"><Text>{account}</Text></span></>}</BudgetBar></span>;
}

function Ends({ row: { limit, total } }: { row: Row }) {
  if (periodWords(limit.budget?.period) === 'in all') return <span class="muted">never</span>;
  const end = total?.periodEnd;
  return end ? <time dateTime={new Date(end).toISOString()} title={exact(end)}>{relative(end, now.value)}</time> : none;
}

function RunsOut({ row: { total } }: { row: Row }) {
  const words = total?.runsOut ? forecastWords(total.runsOut, now.value) : undefined;
  return words ? <b title={exact(total?.runsOut?.runs_out_at ?? 0)}>{words}</b> : none;
}

const columns: Column<Row>[] = [
  { name: 'state', title: 'state', width: '122px', cell: (row) => <State row={row} /> },
  { name: 'name', title: 'budget', width: 'minmax(110px, 1fr)', cell: ({ limit }) => <a class="cover" href={budgetLink(limit.namespace, limit.name)} title={scopeWords(limit)}><Text>{limit.name}</Text></a> },
  { name: 'counts', title: 'counts', width: 'minmax(64px, 0.5fr)', cell: ({ dimension }) => <Text>{dimension.name}</Text> },
  { name: 'spent', title: 'spent', width: 'minmax(240px, 2fr)', cell: (row) => <Spent row={row} /> },
  { name: 'period', title: 'period', width: '84px', cell: ({ limit }) => <span title={limit.budget ? budgetWords(limit.budget) : ''}>{periodWords(limit.budget?.period)}</span> },
  { name: 'ends', title: 'ends', width: '62px', cell: (row) => <Ends row={row} /> },
  { name: 'out', title: 'runs out', width: '62px', cell: (row) => <RunsOut row={row} /> },
  { name: 'accounts', title: 'accounts', width: '58px', right: true, cell: ({ total, more }) => (total ? <>{count(total.accounts)}{more ? ' …' : ''}</> : none) },
  { name: 'held', title: 'waiting', width: '52px', right: true, cell: ({ total, more }) => (total && total.held > 0 ? <b>{heldWords(total.held, more)}</b> : <Count value={0} />) },
];
const narrowWidths: Record<string, string> = { name: 'minmax(90px, 1fr)', spent: 'minmax(180px, 1.4fr)', out: '62px' };
const shownColumns = (): Column<Row>[] => (narrow.value ? columns.flatMap((column) => (narrowWidths[column.name] ? [{ ...column, width: narrowWidths[column.name] as string }] : [])) : columns);

const matches = ({ limit, dimension }: Row, text: string): boolean => {
  const about = `${limit.name}\n${scopeWords(limit)}\n${dimension.name}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => about.includes(word));
};
const budgetsIn = (rows: readonly Row[]): number => new Set(rows.map((row) => limitKey(row.limit))).size;

export function Budgets() {
  const params = new URLSearchParams(place.value.search);
  const text = params.get('text') ?? '';
  const namespace = params.get('namespace') ?? undefined;
  const [pace, setPace] = useState(3000);
  const list = useResource(`budgets ${namespace ?? ''}`, (abort) => load(namespace, abort), { live: true, every: pace });
  const all = list.data ?? [];
  // What is spent of each budget is a request of its own, so many budgets are read less often.
  useEffect(() => setPace(Math.max(3000, all.length * 200)), [all.length]);
  useEvents({ type: budgetEvents }, useSoon(list.reload, 100));
  useShortcuts([{ keys: 'r', text: 'load the list again', run: list.reload }]);
  const rows = useMemo(() => all.filter((row) => matches(row, text)), [all, text]);
  const set = (change: { text?: string; namespace?: string }): void => navigate(withQuery('/ui/budgets', { text, namespace, ...change }));
  const filtered = text !== '' || namespace !== undefined;
  const total = plural(budgetsIn(all), 'budget');
  return (
    <div class="page full">
      <div class="page-head">
        <h1 class="grow">Budgets</h1>
        {allows(session.value, 'operator') ? <button type="button" class="button primary" onClick={() => editBudget(undefined, list.reload)}>Create budget …</button> : null}
        <Copies namespace={namespace} />
      </div>
      <div class="filter-fields">
        <Field name="text" hint="name, kind, lane, unit …" value={text} onChange={(value) => set({ text: value })} />
        {session.value?.namespace ? null : <Field name="namespace" hint="for namespace" value={namespace} onChange={(value) => set({ namespace: value })} />}
        {filtered ? <button type="button" class="button plain" onClick={() => navigate('/ui/budgets')}>Clear filters</button> : null}
      </div>
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      <VTable label="Budgets" columns={shownColumns()} rows={rows} keyOf={(row) => `${limitKey(row.limit)}\n${row.dimension.name}`} onOpen={({ limit }) => navigate(budgetLink(limit.namespace, limit.name))}
        empty={list.data ? <Nothing filtered={filtered} /> : undefined}
        foot={list.data ? (rows.length === all.length ? total : `${count(budgetsIn(rows))} of ${total}`) : 'Loading'} />
    </div>
  );
}

function Copies({ namespace }: { namespace: string | undefined }) {
  const origin = window.location.origin;
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCli(['budgets', 'list', ...(namespace ? ['--namespace', namespace] : [])], origin), 'Command')}>Copy as CLI</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery('/v1/limits', { namespace }) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
    </Menu>
  );
}

const example = ['budgets', 'set', 'tokens', '--per', 'tags.app.customer', '--hard', 'tokens=1000000', '--soft', 'tokens=800000', '--period', '1d'];

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No budget matches these filters"><p>Remove a filter, or <a href="/ui/budgets">show all budgets</a>.</p></Empty>;
  return (
    <Empty title="There are no budgets yet">
      <p>A budget says how much executions may spend of tokens, money, calls, or anything else that can be counted; all of them together, or each customer, creator or kind apart. Create one here, or with</p>
      <code>{asCli(example, window.location.origin)}</code>
    </Empty>
  );
}
