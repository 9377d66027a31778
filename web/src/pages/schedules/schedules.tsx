// The schedules: when each fires next, what became of its last firing, what happens to firings that overlap.
import { useMemo } from 'preact/hooks';
import { get, session, withQuery } from '../../api/client';
import { allows } from '../../api/contract';
import type { ListSchedulesReply, ScheduleSummary } from '../../api/types';
import { asCli, asCurl } from '../../core/commands';
import { flowLink } from '../../core/flows';
import { count, exact, plural, relative } from '../../core/format';
import { firingState, matchesText, noScheduleFilter, parseScheduleFilter, scheduleEvents, scheduleKey, scheduleLink, scheduleQuery, schedulesLink, scheduleStates, timesText, timesWords, type ScheduleFilter } from '../../core/schedules';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { navigate, place } from '../../live/router';
import { narrow } from '../../live/preferences';
import { now } from '../../live/visibility';
import { Ago, Condition, copyText, Count, Empty, Icon, Problem, Text, Time, words } from '../../ui/basic';
import { Field } from '../../ui/filter-fields';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { VTable, type Column } from '../../ui/vtable';
import { editSchedule } from '../schedule/form';

const mostSchedules = 3000;
const pageSize = 1000;

interface Loaded { schedules: ScheduleSummary[]; more: boolean }

async function load(filter: ScheduleFilter, abort: AbortSignal): Promise<Loaded> {
  const schedules: ScheduleSummary[] = [];
  let cursor = '';
  do {
    const page: ListSchedulesReply = await get<ListSchedulesReply>('/v1/schedules', { state: filter.state.join(','), namespace: filter.namespace, limit: pageSize, cursor }, abort);
    schedules.push(...page.schedules);
    cursor = page.next_cursor;
  } while (cursor !== '' && schedules.length < mostSchedules);
  return { schedules, more: cursor !== '' };
}

/** Read less often the more there are. */
const pauseFor = (rows: number): number => Math.max(300, 2 * rows);

function useSchedules(filter: ScheduleFilter) {
  const list = useResource(`schedules ${filter.state.join(',')} ${filter.namespace ?? ''}`, (abort) => load(filter, abort), { live: true, every: 5000 });
  const soon = useSoon(list.reload, pauseFor(list.data?.schedules.length ?? 0));
  useEvents({ namespace: filter.namespace, type: scheduleEvents }, soon);
  return list;
}

function LastFiring({ row }: { row: ScheduleSummary }) {
  if (!row.last) return <span class="muted">never</span>;
  const state = firingState(row.last);
  const link = row.last.execution_id ? `/ui/executions/${encodeURIComponent(row.last.execution_id)}` : row.last.flow_id ? flowLink(row.last.flow_id) : undefined;
  const badge = <span class="badge" data-state={state.tone} title={row.last.detail}>{state.text}</span>;
  return <>{link ? <a href={link}>{badge}</a> : badge}{narrow.value ? null : <> <span class="muted"><Ago at={row.last.at} /></span></>}</>;
}

function Next({ row }: { row: ScheduleSummary }) {
  if (row.next_at === undefined) return <span class="muted">{row.state === 'paused' ? 'paused' : 'none'}</span>;
  const left = row.next_at <= now.value ? 'due' : relative(row.next_at, now.value);
  return narrow.value ? <time dateTime={new Date(row.next_at).toISOString()} title={exact(row.next_at)}>{left}</time> : <><Time at={row.next_at} /> <span class="muted">{left}</span></>;
}

const columns: Column<ScheduleSummary>[] = [
  { name: 'state', title: 'state', width: '84px', cell: (row) => (row.damage ? <span class="badge" data-state="bad" title={row.damage}>damaged</span> : <Condition state={row.state} />) },
  { name: 'name', title: 'name', width: 'minmax(118px, 1.2fr)', cell: (row) => <a class="cover" href={scheduleLink(row.namespace, row.name)}><Text>{row.name}</Text></a> },
  { name: 'times', title: 'fires', width: 'minmax(166px, 1.5fr)', cell: (row) => <span title={`${timesText(row)}${row.cron ? `, ${row.time_zone ?? 'UTC'}` : ''}`}><Text>{timesWords(row)}</Text></span> },
  { name: 'next', title: 'next', width: '172px', cell: (row) => <Next row={row} /> },
  { name: 'last', title: 'last firing', width: '160px', cell: (row) => <LastFiring row={row} /> },
  { name: 'overlap', title: 'overlap', width: '98px', cell: (row) => words(row.overlap ?? '') },
  { name: 'running', title: 'running', width: '56px', right: true, cell: (row) => <Count value={row.running} /> },
  { name: 'fired', title: 'fired', width: '46px', right: true, cell: (row) => <Count value={row.fired} /> },
  { name: 'zone', title: 'time zone', width: '110px', cell: (row) => (row.cron ? <Text>{row.time_zone}</Text> : <span class="muted">–</span>) },
  { name: 'kind', title: 'kind', width: 'minmax(84px, 0.8fr)', cell: (row) => <Text>{row.kind}</Text> },
  { name: 'lane', title: 'lane', width: 'minmax(70px, 0.6fr)', cell: (row) => <Text>{row.lane}</Text> },
  { name: 'namespace', title: 'namespace', width: 'minmax(80px, 0.6fr)', cell: (row) => <Text>{row.namespace}</Text> },
];
/** On a phone: how long until the next time, and how the last one ended. */
const narrowWidths: Record<string, string> = { name: 'minmax(118px, 1fr)', next: '66px', last: '104px' };
const shownColumns = (): Column<ScheduleSummary>[] =>
  (narrow.value ? columns.flatMap((column) => (narrowWidths[column.name] ? [{ ...column, width: narrowWidths[column.name] as string }] : [])) : columns);

export function Schedules() {
  const filter = useMemo(() => parseScheduleFilter(place.value.search), [place.value.search]);
  const list = useSchedules(filter);
  useShortcuts([{ keys: 'r', text: 'load the list again', run: list.reload }]);
  const all = list.data?.schedules ?? [];
  const rows = useMemo(() => all.filter((row) => matchesText(row, filter.text)), [all, filter.text]);
  const foot = `${rows.length === all.length ? plural(all.length, 'schedule') : `${count(rows.length)} of ${plural(all.length, 'schedule')}`}${list.data?.more ? `, the first ${count(all.length)}; a namespace narrows them down` : ''}`;
  return (
    <div class="page full">
      <div class="page-head">
        <h1 class="grow">Schedules</h1>
        {allows(session.value, 'worker') ? <button type="button" class="button primary" onClick={() => editSchedule(undefined, filter.namespace, list.reload)}>Create schedule …</button> : null}
        <Copies filter={filter} />
      </div>
      <Filters filter={filter} onChange={(next) => navigate(schedulesLink(next))} />
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      <VTable label="Schedules" columns={shownColumns()} rows={rows} keyOf={scheduleKey}
        onOpen={(row) => navigate(scheduleLink(row.namespace, row.name))}
        empty={list.data ? <Nothing filtered={scheduleQuery(filter).toString() !== ''} /> : undefined}
        foot={list.data ? foot : 'Loading'} />
    </div>
  );
}

function Filters({ filter, onChange }: { filter: ScheduleFilter; onChange: (filter: ScheduleFilter) => void }) {
  const toggle = (state: (typeof scheduleStates)[number]): void => {
    const chosen = filter.state.includes(state) ? filter.state.filter((other) => other !== state) : [...filter.state, state];
    onChange({ ...filter, state: scheduleStates.filter((other) => chosen.includes(other)) });
  };
  const set = (field: 'namespace' | 'text') => (value: string): void => {
    const next = { ...filter };
    if (value) next[field] = value;
    else delete next[field];
    onChange(next);
  };
  return (
    <div class="row wrap">
      <div class="filter-states" role="group" aria-label="States">
        {scheduleStates.map((state) => <button type="button" class="chip" data-state={state === 'active' ? 'good' : 'warn'} key={state} aria-pressed={filter.state.includes(state)} onClick={() => toggle(state)}>{state}</button>)}
      </div>
      <div class="filter-fields">
        <Field name="text" hint="name, kind, lane …" value={filter.text} onChange={set('text')} />
        {session.value?.namespace ? null : <Field name="namespace" value={filter.namespace} onChange={set('namespace')} />}
        {scheduleQuery(filter).toString() === '' ? null : <button type="button" class="button plain" onClick={() => onChange(noScheduleFilter)}>Clear filters</button>}
      </div>
    </div>
  );
}

function Copies({ filter }: { filter: ScheduleFilter }) {
  const origin = window.location.origin;
  // The command line takes one state, and no words.
  const options = [...(filter.state.length === 1 ? ['--state', filter.state[0] as string] : []), ...(filter.namespace ? ['--namespace', filter.namespace] : [])];
  const path = withQuery('/v1/schedules', { state: filter.state.join(','), namespace: filter.namespace });
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCli(['schedules', 'list', ...options], origin), 'Command')}>Copy as CLI</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
    </Menu>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No schedule matches these filters"><p>Remove a filter, or <a href="/ui/schedules">show all schedules</a>.</p></Empty>;
  return (
    <Empty title="There are no schedules yet">
      <p>A schedule creates an execution at each of its times. Create one here, or with</p>
      <code>{asCli(['schedules', 'create', 'nightly-report', '--cron', '30 2 * * *', '--time-zone', Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC', '--kind', 'report'], window.location.origin)}</code>
    </Empty>
  );
}
