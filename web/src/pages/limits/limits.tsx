// The limits: what each is for, how much it allows, how much of that is in use, and how many executions it holds back.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, session, withQuery } from '../../api/client';
import { allows } from '../../api/contract';
import type { LimitInfo, LimitsReply } from '../../api/types';
import { asCli, asCurl } from '../../core/commands';
import { count, plural } from '../../core/format';
import { allowanceWords, heldWords, keyWords, limitKey, limitLink, limitEvents, scopeWords, totalOf, totalWords, type Total } from '../../core/limits';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { loadUses } from '../../live/limit-uses';
import { narrow } from '../../live/preferences';
import { navigate, place } from '../../live/router';
import { copyText, Empty, Icon, Problem, Text } from '../../ui/basic';
import { Field } from '../../ui/filter-fields';
import { useShortcuts } from '../../ui/keyboard';
import { LimitBar } from '../../ui/limit-bar';
import { Menu } from '../../ui/menu';
import { VTable, type Column } from '../../ui/vtable';
import { showCheck } from '../limit/check';
import { editLimit } from '../limit/form';

/** `total` is missing if the session may not see what is in use. */
interface Row { limit: LimitInfo; total: Total | undefined; more: boolean }

async function load(namespace: string | undefined, abort: AbortSignal): Promise<Row[]> {
  const { limits } = await get<LimitsReply>('/v1/limits', { namespace }, abort);
  return (await loadUses(limits, abort)).map((reply) => ({ limit: reply.info, total: reply.keys_hidden ? undefined : totalOf(reply.info, reply.keys), more: reply.next_cursor !== '' }));
}

function InUse({ row: { limit, total, more } }: { row: Row }) {
  if (!total) return <span class="muted">not shown to a key of one namespace</span>;
  if (!total.fullest) return <span class="muted">not in use</span>;
  const title = limit.per.length === 0 ? undefined : `the fullest of ${totalWords(total)}${more ? ', and more' : ''}`;
  return <span title={title}><LimitBar limit={limit} use={total.fullest}>{limit.per.length > 0 ? <> <span class="muted"><Text>{keyWords(total.fullest.key)}</Text></span></> : null}</LimitBar></span>;
}

function Held({ row: { total, more } }: { row: Row }) {
  if (!total || total.held === 0) return <span class="muted">{total ? '0' : '–'}</span>;
  return <b>{heldWords(total.held, more)}</b>;
}

const columns: Column<Row>[] = [
  { name: 'name', title: 'name', width: 'minmax(120px, 1fr)', cell: ({ limit }) => <a class="cover" href={limitLink(limit.namespace, limit.name)}><Text>{limit.name}</Text></a> },
  { name: 'for', title: 'for', width: 'minmax(230px, 2fr)', cell: ({ limit }) => <span title={scopeWords(limit)}><Text>{scopeWords(limit)}</Text></span> },
  { name: 'allows', title: 'allows', width: 'minmax(130px, 1fr)', cell: ({ limit }) => <span title={allowanceWords(limit)}><Text>{allowanceWords(limit)}</Text></span> },
  { name: 'use', title: 'in use', width: 'minmax(190px, 1.3fr)', cell: (row) => <InUse row={row} /> },
  { name: 'keys', title: 'keys', width: '110px', cell: ({ limit, total, more }) => (limit.per.length === 0 || !total ? <span class="muted">–</span> : `${totalWords(total)}${more ? ' …' : ''}`) },
  { name: 'held', title: 'held back', width: '84px', right: true, cell: (row) => <Held row={row} /> },
];
const narrowWidths: Record<string, string> = { name: 'minmax(96px, 1fr)', use: 'minmax(150px, 1fr)', held: '62px' };
const shownColumns = (): Column<Row>[] => (narrow.value ? columns.flatMap((column) => (narrowWidths[column.name] ? [{ ...column, width: narrowWidths[column.name] as string }] : [])) : columns);

const matches = (limit: LimitInfo, text: string): boolean => {
  const about = `${limit.name}\n${scopeWords(limit)}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => about.includes(word));
};

export function Limits() {
  const params = new URLSearchParams(place.value.search);
  const text = params.get('text') ?? '';
  const namespace = params.get('namespace') ?? undefined;
  const [pace, setPace] = useState(3000);
  const list = useResource(`limits ${namespace ?? ''}`, (abort) => load(namespace, abort), { live: true, every: pace });
  const all = list.data ?? [];
  // What is in use of each limit is a request of its own, so many limits are read less often.
  useEffect(() => setPace(Math.max(3000, all.length * 200)), [all.length]);
  useEvents({ type: limitEvents }, useSoon(list.reload, 100));
  useShortcuts([{ keys: 'r', text: 'load the list again', run: list.reload }]);
  const rows = useMemo(() => all.filter((row) => matches(row.limit, text)), [all, text]);
  const set = (change: { text?: string; namespace?: string }): void => navigate(withQuery('/ui/limits', { text, namespace, ...change }));
  const filtered = text !== '' || namespace !== undefined;
  return (
    <div class="page full">
      <div class="page-head">
        <h1 class="grow">Limits</h1>
        <button type="button" class="button" onClick={() => showCheck({})}>Check …</button>
        {allows(session.value, 'operator') ? <button type="button" class="button primary" onClick={() => editLimit(undefined, list.reload)}>Create limit …</button> : null}
        <Copies namespace={namespace} />
      </div>
      <div class="filter-fields">
        <Field name="text" hint="name, kind, lane, key …" value={text} onChange={(value) => set({ text: value })} />
        {session.value?.namespace ? null : <Field name="namespace" hint="for namespace" value={namespace} onChange={(value) => set({ namespace: value })} />}
        {filtered ? <button type="button" class="button plain" onClick={() => navigate('/ui/limits')}>Clear filters</button> : null}
      </div>
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      <VTable label="Limits" columns={shownColumns()} rows={rows} keyOf={(row) => limitKey(row.limit)} onOpen={({ limit }) => navigate(limitLink(limit.namespace, limit.name))}
        empty={list.data ? <Nothing filtered={filtered} /> : undefined}
        foot={list.data ? (rows.length === all.length ? plural(all.length, 'limit') : `${count(rows.length)} of ${plural(all.length, 'limit')}`) : 'Loading'} />
    </div>
  );
}

function Copies({ namespace }: { namespace: string | undefined }) {
  const origin = window.location.origin;
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCli(['limits', 'list', ...(namespace ? ['--namespace', namespace] : [])], origin), 'Command')}>Copy as CLI</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery('/v1/limits', { namespace }) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
    </Menu>
  );
}

const example = { concurrency: 3, per: ['tags.app.customer'] };

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No limit matches these filters"><p>Remove a filter, or <a href="/ui/limits">show all limits</a>.</p></Empty>;
  return (
    <Empty title="There are no limits yet">
      <p>A limit says how many executions run at the same time, or how many start in a period; for all of them, or for each customer, creator or kind apart. Create one here, or with</p>
      <code>{asCurl({ method: 'PUT', path: '/v1/limits/customers', body: example }, window.location.origin, session.value?.authentication ?? false)}</code>
    </Empty>
  );
}
