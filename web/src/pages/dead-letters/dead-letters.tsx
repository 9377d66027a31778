// The dead letters: failed executions in groups of equal failures, the largest first.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, session, withQuery } from '../../api/client';
import { allows } from '../../api/contract';
import type { DeadLetterGroup, DeadLetterPage } from '../../api/types';
import { asCli, asCurl } from '../../core/commands';
import { deadLetterEvents, filterTarget, groupKey, groupLink, groupsTarget, isUnfiltered, lanesWords, letterFields, lettersLink, messageWords, mostFingerprints, parseLetterFilter, type LetterFilter, type Target } from '../../core/dead-letters';
import { count, plural } from '../../core/format';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { narrow } from '../../live/preferences';
import { navigate, place } from '../../live/router';
import { Ago, copyText, Empty, Icon, Problem, Text } from '../../ui/basic';
import { Field } from '../../ui/filter-fields';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { VTable, type Column } from '../../ui/vtable';
import { askRedrive } from './redrive-form';
import { DeadLetterTabs } from './tabs';

const pageSize = 200;
/** The server does not filter by category, so for that more groups are read. */
const mostGroups = 1000;

interface Loaded { groups: DeadLetterGroup[]; executions: number; totalGroups: number; more: boolean }

async function load(filter: LetterFilter, wanted: number, abort: AbortSignal): Promise<Loaded> {
  const groups = new Map<string, DeadLetterGroup>();
  let page: DeadLetterPage;
  let cursor = '';
  do {
    page = await get<DeadLetterPage>('/v1/dead-letters', { namespace: filter.namespace, lane: filter.lane, kind: filter.kind, limit: Math.min(wanted, pageSize), cursor }, abort);
    // Counts change while pages are read: a group may come twice.
    for (const group of page.groups) groups.set(groupKey(group), group);
    cursor = page.next_cursor;
  } while (cursor !== '' && groups.size < wanted);
  return { groups: [...groups.values()], executions: page.executions, totalGroups: page.total_groups, more: cursor !== '' };
}

const columns: Column<DeadLetterGroup>[] = [
  { name: 'count', title: 'failed', width: '58px', right: true, cell: (row) => <b>{count(row.count)}</b> },
  { name: 'message', title: 'message', width: 'minmax(220px, 2.6fr)', cell: (row) => <a class="cover" href={groupLink(row.namespace, row.fingerprint)} title={`${row.fingerprint}${row.example ? `\nthe last: ${row.example}` : ''}`}><Text>{messageWords(row)}</Text></a> },
  { name: 'category', title: 'category', width: 'minmax(84px, 0.8fr)', cell: (row) => <Text>{row.category || '–'}</Text> },
  { name: 'kind', title: 'kind', width: 'minmax(96px, 1fr)', cell: (row) => <Text>{row.kind || '–'}</Text> },
  { name: 'lanes', title: 'lanes', width: 'minmax(80px, 0.8fr)', cell: (row) => <span title={lanesWords(row)}><Text>{lanesWords(row)}</Text></span> },
  { name: 'first', title: 'first', width: '82px', cell: (row) => <Ago at={row.first_at} /> },
  { name: 'last', title: 'last', width: '82px', cell: (row) => <Ago at={row.last_at} /> },
  { name: 'namespace', title: 'namespace', width: 'minmax(70px, 0.6fr)', cell: (row) => <Text>{row.namespace}</Text> },
];
const narrowWidths: Record<string, string> = { count: '48px', message: 'minmax(150px, 1fr)', last: '70px' };

function columnsFor(operator: boolean, marked: ReadonlySet<string>, mark: (row: DeadLetterGroup) => void): Column<DeadLetterGroup>[] {
  if (narrow.value) return columns.flatMap((column) => (narrowWidths[column.name] ? [{ ...column, width: narrowWidths[column.name] as string }] : []));
  const box: Column<DeadLetterGroup> = {
    name: 'mark', title: <span class="hidden-text">selected</span>, width: '20px',
    cell: (row) => <input type="checkbox" aria-label={`Select group ${row.fingerprint}`} checked={marked.has(groupKey(row))} onChange={() => mark(row)} />,
  };
  return operator ? [box, ...columns] : columns;
}

export function DeadLetters() {
  const filter = useMemo(() => parseLetterFilter(place.value.search), [place.value.search]);
  const [wanted, setWanted] = useState(pageSize);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const size = filter.category ? mostGroups : wanted;
  const [pace, setPace] = useState(5000);
  const list = useResource(`dead-letters ${lettersLink(filter)}`, (abort) => load(filter, size, abort), { live: true, every: pace });
  const all = list.data?.groups ?? [];
  // Of each group an example is read, so many groups are read less often.
  const soon = useSoon(list.reload, Math.max(300, 10 * all.length));
  useEffect(() => setPace(Math.max(5000, 20 * all.length)), [all.length]);
  useEvents({ namespace: filter.namespace, type: deadLetterEvents }, soon);
  useEffect(() => { setMarked(new Set()); setWanted(pageSize); }, [place.value.search]);
  useEffect(() => { if (wanted > pageSize) list.reload(); }, [wanted]);
  useShortcuts([{ keys: 'r', text: 'load the list again', run: list.reload }]);
  const rows = useMemo(() => all.filter((row) => !filter.category || row.category === filter.category), [all, filter]);
  const operator = allows(session.value, 'operator');
  const mark = (row: DeadLetterGroup): void => setMarked((old) => {
    const next = new Set(old);
    if (!next.delete(groupKey(row))) next.add(groupKey(row));
    return next;
  });
  const chosen = rows.filter((row) => marked.has(groupKey(row)));
  return (
    <div class="page full">
      <div class="page-head">
        <h1 class="grow">Dead letters</h1>
        {operator && rows.length > 0 && list.data ? <RedriveButton chosen={chosen} rows={rows} loaded={list.data} filter={filter} /> : null}
        <Copies filter={filter} />
      </div>
      <DeadLetterTabs />
      <Filters filter={filter} groups={all} />
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      <VTable label="Dead letters" columns={columnsFor(operator, marked, mark)} rows={rows} keyOf={groupKey} onOpen={(row) => navigate(groupLink(row.namespace, row.fingerprint))} onMark={operator ? mark : undefined}
        empty={list.data ? <Nothing filter={filter} /> : undefined}
        foot={list.data ? <Foot loaded={list.data} rows={rows} chosen={chosen} filter={filter} more={() => setWanted(wanted + pageSize)} /> : 'Loading'} />
    </div>
  );
}

function Foot({ loaded, rows, chosen, filter, more }: { loaded: Loaded; rows: DeadLetterGroup[]; chosen: DeadLetterGroup[]; filter: LetterFilter; more: () => void }) {
  const found = filter.category ? { executions: rows.reduce((sum, row) => sum + row.count, 0), groups: rows.length } : { executions: loaded.executions, groups: loaded.totalGroups };
  return (
    <>
      <span>{plural(found.executions, 'failed execution')} in {plural(found.groups, 'group')}{loaded.more && filter.category ? `, of the first ${count(loaded.groups.length)} groups` : ''}{chosen.length > 0 ? ` · ${count(chosen.length)} selected` : ''}</span>
      {loaded.more && !filter.category ? <button type="button" class="button small" onClick={more}>Show more groups</button> : null}
    </>
  );
}

/** A redrive is of one namespace. */
function RedriveButton({ chosen, rows, loaded, filter }: { chosen: DeadLetterGroup[]; rows: DeadLetterGroup[]; loaded: Loaded; filter: LetterFilter }) {
  const of = chosen.length > 0 ? chosen : rows;
  const namespaces = [...new Set(of.map((row) => row.namespace))];
  const label = chosen.length > 0 ? `Redrive ${count(chosen.length)} selected` : 'Redrive all';
  const targetIn = (namespace: string): Target => {
    if (chosen.length > 0) return groupsTarget(chosen.filter((row) => row.namespace === namespace));
    return filterTarget(namespace, { ...filter, namespace: filter.namespace ?? session.value?.namespace }, { groups: loaded.groups, executions: loaded.executions, complete: !loaded.more });
  };
  const [only] = namespaces;
  const tooMany = chosen.length > mostFingerprints ? `A redrive names at most ${mostFingerprints} groups` : undefined;
  if (namespaces.length === 1 && only !== undefined && !(loaded.more && filter.namespace === undefined && !session.value?.namespace))
    return <button type="button" class="button primary" disabled={tooMany !== undefined} title={tooMany} onClick={() => askRedrive(targetIn(only))}>{label} …</button>;
  return (
    <Menu label={<>{label}<Icon name="down" /></>} class="primary">
      <h3>A redrive is of one namespace</h3>
      {namespaces.map((namespace) => <button type="button" key={namespace} onClick={() => askRedrive(targetIn(namespace))}>in <Text>{namespace}</Text> …</button>)}
    </Menu>
  );
}

function Filters({ filter, groups }: { filter: LetterFilter; groups: DeadLetterGroup[] }) {
  const set = (name: (typeof letterFields)[number], value: string): void => navigate(lettersLink({ ...filter, [name]: value }));
  const known: Record<(typeof letterFields)[number], (string | undefined)[]> = {
    namespace: groups.map((row) => row.namespace), lane: groups.flatMap((row) => row.lanes.map((one) => one.lane)), kind: groups.map((row) => row.kind), category: groups.map((row) => row.category),
  };
  const choices = (name: (typeof letterFields)[number]): string[] => [...new Set(known[name].filter((value): value is string => value !== undefined && value !== ''))].slice(0, 100);
  return (
    <div class="filter-fields">
      {letterFields.filter((name) => name !== 'namespace' || !session.value?.namespace).map((name) => <Field key={name} name={name} value={filter[name]} choices={choices(name)} onChange={(value) => set(name, value)} />)}
      {isUnfiltered(filter) ? null : <button type="button" class="button plain" onClick={() => navigate(lettersLink({}))}>Clear filters</button>}
    </div>
  );
}

function Copies({ filter }: { filter: LetterFilter }) {
  const origin = window.location.origin;
  const options = (['namespace', 'lane', 'kind'] as const).flatMap((name) => (filter[name] ? [`--${name}`, filter[name] as string] : []));
  const path = withQuery('/v1/dead-letters', { namespace: filter.namespace, lane: filter.lane, kind: filter.kind });
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCli(['dead-letters', 'list', ...options], origin), 'Command')}>Copy as CLI</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
    </Menu>
  );
}

const Nothing = ({ filter }: { filter: LetterFilter }) => (isUnfiltered(filter)
  ? <Empty title="There are no dead letters"><p>Executions that fail after their last retry are listed here by what went wrong, until their retention is over. From here many of them are replayed at once.</p></Empty>
  : <Empty title="No dead letter matches these filters"><p>Remove a filter, or <a href="/ui/dead-letters">show all dead letters</a>.</p></Empty>);
