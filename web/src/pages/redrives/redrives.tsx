// The redrives, newest first, with how far each has come.
import { useMemo } from 'preact/hooks';
import { get, session, withQuery } from '../../api/client';
import type { Redrive, RedrivePage } from '../../api/types';
import { asCli, asCurl } from '../../core/commands';
import { redriveEvents, redriveLink, redrivesPath, redriveStates, redriveTone, selectionWords } from '../../core/dead-letters';
import { plural } from '../../core/format';
import { useEvents, useRepeat } from '../../live/hooks';
import { narrow } from '../../live/preferences';
import { navigate, place } from '../../live/router';
import { useRows } from '../../live/rows';
import { Ago, copyText, Count, Empty, Icon, Problem, Text } from '../../ui/basic';
import { Field } from '../../ui/filter-fields';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { RedriveBar } from '../../ui/redrive-bar';
import { VTable, type Column } from '../../ui/vtable';
import { DeadLetterTabs } from '../dead-letters/tabs';

const idOf = (row: Redrive): string => row.redrive_id;
const refreshMs = 2000;

const columns: Column<Redrive>[] = [
  { name: 'state', title: 'state', width: '102px', cell: (row) => <span class="badge" data-state={redriveTone(row)} title={row.damage}>{row.damage ? 'damaged' : row.state}</span> },
  { name: 'of', title: 'of', width: 'minmax(150px, 2fr)', cell: (row) => <a class="cover" href={redriveLink(row.redrive_id)} title={selectionWords(row.selection)}><Text>{selectionWords(row.selection)}</Text></a> },
  { name: 'progress', title: 'progress', width: 'minmax(90px, 1fr)', cell: (row) => <RedriveBar redrive={row} /> },
  { name: 'replayed', title: 'replayed', width: '58px', right: true, cell: (row) => <Count value={row.replayed} /> },
  { name: 'refused', title: 'refused', width: '52px', right: true, cell: (row) => <Count value={row.refused} /> },
  { name: 'left', title: 'left', width: '46px', right: true, cell: (row) => <Count value={row.left} /> },
  { name: 'again', title: 'failed again', width: '76px', right: true, cell: (row) => <Count value={row.failed_again} /> },
  { name: 'rate', title: 'rate', width: '58px', cell: (row) => (row.rate ? <Text>{row.rate}</Text> : <span class="muted">any</span>) },
  { name: 'made', title: 'made', width: '76px', cell: (row) => <Ago at={row.created_at} /> },
  { name: 'by', title: 'by', width: 'minmax(56px, 0.6fr)', cell: (row) => <Text>{row.created_by || '–'}</Text> },
  { name: 'namespace', title: 'namespace', width: 'minmax(70px, 0.6fr)', cell: (row) => <Text>{row.namespace}</Text> },
];
const narrowWidths: Record<string, string> = { state: '98px', of: 'minmax(110px, 1fr)', progress: 'minmax(70px, 1fr)' };
const shownColumns = (): Column<Redrive>[] => (narrow.value ? columns.flatMap((column) => (narrowWidths[column.name] ? [{ ...column, width: narrowWidths[column.name] as string }] : [])) : columns);

interface RedriveFilter { state: string[]; namespace?: string }

function parse(search: string): RedriveFilter {
  const query = new URLSearchParams(search);
  const wanted = new Set((query.get('state') ?? '').split(','));
  return { state: redriveStates.filter((state) => wanted.has(state)), ...(query.get('namespace') ? { namespace: query.get('namespace') as string } : {}) };
}
const linkOf = (filter: RedriveFilter): string => withQuery(redrivesPath, { state: filter.state.join(','), namespace: filter.namespace }).replaceAll('%2C', ',');

export function Redrives() {
  const filter = useMemo(() => parse(place.value.search), [place.value.search]);
  const list = useRows<Redrive>(linkOf(filter), idOf, async (limit, cursor, abort) => {
    const page = await get<RedrivePage>('/v1/redrives', { state: filter.state.join(','), namespace: filter.namespace, limit, cursor }, abort);
    return { rows: page.redrives, next: page.next_cursor };
  });
  useEvents({ namespace: filter.namespace, type: redriveEvents }, () => list.reload());
  useRepeat(list.rows.some((row) => row.state === 'running') ? refreshMs : undefined, list.refresh);
  useShortcuts([{ keys: 'r', text: 'load the list again', run: list.reload }]);
  const filtered = filter.state.length > 0 || filter.namespace !== undefined;
  const toggle = (state: string): void => navigate(linkOf({ ...filter, state: redriveStates.filter((one) => (one === state) !== filter.state.includes(one)) }));
  return (
    <div class="page full">
      <div class="page-head"><h1 class="grow">Dead letters</h1><Copies filter={filter} /></div>
      <DeadLetterTabs />
      <div class="row wrap">
        <div class="filter-states" role="group" aria-label="States">
          {redriveStates.map((state) => <button type="button" class="chip" data-state={redriveTone({ state })} key={state} aria-pressed={filter.state.includes(state)} onClick={() => toggle(state)}>{state}</button>)}
        </div>
        <div class="filter-fields">
          {session.value?.namespace ? null : <Field name="namespace" value={filter.namespace} onChange={(value) => navigate(linkOf({ state: filter.state, ...(value ? { namespace: value } : {}) }))} />}
          {filtered ? <button type="button" class="button plain" onClick={() => navigate(redrivesPath)}>Clear filters</button> : null}
        </div>
      </div>
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      <VTable label="Redrives" columns={shownColumns()} rows={list.rows} keyOf={idOf} onEnd={list.more} onOpen={(row) => navigate(redriveLink(row.redrive_id))}
        empty={list.loaded ? <Nothing filtered={filtered} /> : undefined} foot={list.loaded ? `${plural(list.rows.length, 'redrive')}${list.done ? '' : '; scroll for more'}` : 'Loading'} />
    </div>
  );
}

function Copies({ filter }: { filter: RedriveFilter }) {
  const origin = window.location.origin;
  // The command line takes one state.
  const options = [...(filter.state.length === 1 ? ['--state', filter.state[0] as string] : []), ...(filter.namespace ? ['--namespace', filter.namespace] : [])];
  const path = withQuery('/v1/redrives', { state: filter.state.join(','), namespace: filter.namespace });
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCli(['redrives', 'list', ...options], origin), 'Command')}>Copy as CLI</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
    </Menu>
  );
}

const Nothing = ({ filtered }: { filtered: boolean }) => (filtered
  ? <Empty title="No redrive matches these filters"><p>Remove a filter, or <a href={redrivesPath}>show all redrives</a>.</p></Empty>
  : <Empty title="There are no redrives"><p>A redrive replays many failed executions, at a rate. Select groups of dead letters to make one. Ended ones are kept for a week.</p></Empty>);
