// The list of executions: filtered by the address, extended while it is scrolled, kept current by events.
import { useEffect, useMemo, useState } from 'preact/hooks';
import './executions.css';
import { get, session, withQuery } from '../../api/client';
import { allows } from '../../api/contract';
import type { CountsReply, ExecutionPage } from '../../api/types';
import { asCli, asCurl, filterOptions } from '../../core/commands';
import { lettersLink } from '../../core/dead-letters';
import { count, plural } from '../../core/format';
import { applyEvent, entersFilter, filterLink, filterQuery, isEmpty, parseFilter, type Filter } from '../../core/filters';
import { useEvents, useResource } from '../../live/hooks';
import { applyAll, useRows } from '../../live/rows';
import { navigate, place } from '../../live/router';
import { narrow, savedViews } from '../../live/preferences';
import { copyText, Empty, Icon, Problem } from '../../ui/basic';
import { confirm } from '../../ui/dialog';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { VTable, type Column } from '../../ui/vtable';
import { showBulk, type BulkAction, type Selection } from './bulk';
import { allColumns, chosenColumns, narrowColumns, usualColumns, type Row } from './columns';
import { FilterBar } from './filter-bar';

const idOf = (row: Row): string => row.execution_id;

function useExecutions(filter: Filter) {
  const list = useRows<Row>(filterQuery(filter).toString(), idOf, async (limit, cursor, abort) => {
    const query = filterQuery(filter);
    query.set('limit', String(limit));
    if (cursor) query.set('cursor', cursor);
    const page = await get<ExecutionPage>('/v1/executions', query, abort);
    return { rows: page.executions, next: page.next_cursor };
  });
  useEvents({ namespace: filter.namespace, lane: filter.lane }, (events, received) => {
    list.change((rows) => applyAll(rows, events, idOf, (event) => event.execution_id, applyEvent));
    // A sample of the events leaves rows behind; they are read again, in place.
    if (received > events.length) list.refreshSoon();
    // Of a sample only a part was looked at; the number is scaled to what came.
    const entered = events.filter((event) => entersFilter(filter, event)).length;
    list.addFresh(Math.round((entered * received) / Math.max(1, events.length)));
  });
  return list;
}

export function Executions() {
  const filter = useMemo(() => parseFilter(place.value.search), [place.value.search]);
  const list = useExecutions(filter);
  const counts = useResource(`counts ${filter.namespace ?? ''}`, (abort) => get<CountsReply>('/v1/counts', { namespace: filter.namespace }, abort), { every: 5000, live: true });
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const operator = allows(session.value, 'operator');
  useEffect(() => setMarked(new Set()), [place.value.search]);
  const mark = (row: Row): void => setMarked((old) => {
    const next = new Set(old);
    if (!next.delete(row.execution_id)) next.add(row.execution_id);
    return next;
  });
  useShortcuts([{ keys: 'r', text: 'load the list again', run: list.reload }]);
  const change = (next: Filter): void => navigate(filterLink(next));
  const selection: Selection = marked.size > 0 ? { ids: [...marked] } : { filter };
  return (
    <div class="page full">
      <div class="page-head">
        <h1>Executions</h1>
        <Views />
        <div class="grow" />
        {filter.state.includes('failed') ? <a class="button" href={lettersLink({ namespace: filter.namespace, lane: filter.lane, kind: filter.kind })} title="Failed executions in groups of equal failures">By cause</a> : null}
        <button type="button" class="button list-new" onClick={list.reload} title="Load the list again (r)">{list.fresh > 0 ? `${count(list.fresh)} new, show` : 'Refresh'}</button>
        {operator ? <BulkMenu selection={selection} marked={marked.size} onDone={() => { setMarked(new Set()); list.reload(); counts.reload(); }} /> : null}
        <ListMenu filter={filter} />
      </div>
      <FilterBar filter={filter} counts={counts.data} fixedNamespace={session.value?.namespace} onChange={change} />
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      <VTable label="Executions" columns={columnsFor(operator, marked, mark)} rows={list.rows} keyOf={(row) => row.execution_id} onEnd={list.more}
        onOpen={(row) => navigate(`/ui/executions/${encodeURIComponent(row.execution_id)}`)} onMark={operator ? mark : undefined}
        empty={list.loaded ? <Nothing filter={filter} /> : undefined}
        foot={<>{list.loaded ? `${plural(list.rows.length, 'row')} loaded${list.done ? ', all there are' : '; scroll for more'}` : 'Loading'}{marked.size > 0 ? ` · ${count(marked.size)} selected` : ''}</>} />
    </div>
  );
}

function columnsFor(operator: boolean, marked: ReadonlySet<string>, mark: (row: Row) => void): Column<Row>[] {
  const names = narrow.value ? narrowColumns : chosenColumns.value;
  const columns = allColumns.filter((column) => names.includes(column.name));
  const box: Column<Row> = {
    name: 'mark', title: <span class="hidden-text">selected</span>, width: '20px',
    cell: (row) => <input type="checkbox" aria-label={`Select ${row.execution_id}`} checked={marked.has(row.execution_id)} onChange={() => mark(row)} />,
  };
  return operator && !narrow.value ? [box, ...columns] : columns;
}

const builtIn: { name: string; query: string }[] = [
  { name: 'All', query: '' },
  { name: 'Failed', query: '?state=failed,expired' },
  { name: 'Running', query: '?state=active' },
  { name: 'Waiting', query: '?state=waiting,delayed,resumable' },
];

function Views() {
  const here = place.value.search;
  const same = (query: string): boolean => filterQuery(parseFilter(query)).toString() === filterQuery(parseFilter(here)).toString();
  return (
    <nav class="list-views" aria-label="Views">
      {[...builtIn, ...savedViews.value].map((view) => <a key={view.name} href={`/ui/executions${view.query}`} aria-current={same(view.query) ? 'page' : undefined}>{view.name}</a>)}
    </nav>
  );
}

function saveView(filter: Filter): void {
  confirm({
    title: 'Save this view', text: <span class="muted">The filter gets a name in this browser. To share it, send the address of the page.</span>, action: 'Save',
    fields: (values, set) => <label class="field"><span>Name</span><input name="name" required maxLength={40} value={values['name'] ?? ''} onInput={(event) => set('name', event.currentTarget.value)} /></label>,
    run: async (values) => {
      const name = (values['name'] ?? '').trim();
      savedViews.value = [...savedViews.value.filter((view) => view.name !== name), { name, query: filterLink(filter).replace('/ui/executions', '') }];
      return `View ${name} saved`;
    },
  });
}

function ListMenu({ filter }: { filter: Filter }) {
  const origin = window.location.origin;
  const here = filterLink(filter).replace('/ui/executions', '');
  const saved = savedViews.value.find((view) => view.query === here);
  const toggle = (name: string): void => {
    const chosen = chosenColumns.value;
    chosenColumns.value = chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name];
  };
  return (
    <>
      <span class="ex-columns"><Menu label={<>Columns<Icon name="down" /></>} stay>
        {allColumns.map((column) => <label key={column.name}><input type="checkbox" checked={chosenColumns.value.includes(column.name)} onChange={() => toggle(column.name)} />{column.title}</label>)}
        <hr /><button type="button" onClick={() => { chosenColumns.value = usualColumns; }}>Usual columns</button>
      </Menu></span>
      <Menu label={<Icon name="more" />} name="More">
        {isEmpty(filter) ? null : <button type="button" onClick={() => saveView(filter)}>Save this view</button>}
        {saved ? <button type="button" onClick={() => { savedViews.value = savedViews.value.filter((view) => view !== saved); }}>Remove view {saved.name}</button> : null}
        <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
        <button type="button" onClick={() => void copyText(asCli(['executions', 'list', ...filterOptions(filter)], origin), 'Command')}>Copy as CLI</button>
        <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery('/v1/executions', filterQuery(filter)) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
      </Menu>
    </>
  );
}

function BulkMenu({ selection, marked, onDone }: { selection: Selection; marked: number; onDone: () => void }) {
  const title = marked > 0 ? `Actions on ${count(marked)} selected` : 'Actions on all';
  const entry = (action: BulkAction, text: string) => <button type="button" onClick={() => showBulk(action, selection, onDone)}>{text}</button>;
  return (
    <Menu label={<>{title}<Icon name="down" /></>}>
      <h3>{marked > 0 ? 'The selected executions' : 'Everything that the filter selects'}</h3>
      {entry('replay', 'Run again …')}
      {entry('cancel', 'Cancel …')}
      {entry('priority', 'Set priority …')}
    </Menu>
  );
}

const Nothing = ({ filter }: { filter: Filter }) => (isEmpty(filter)
  ? <Empty title="There are no executions yet"><p>Create one with</p><code>flowfabric executions create --kind hello --store {window.location.origin}</code></Empty>
  : <Empty title="No execution matches these filters"><p>Remove a filter, or <a href="/ui/executions">show all executions</a>. Executions that ended long ago have been removed by retention.</p></Empty>);
