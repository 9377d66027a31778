// The event log as it grows. Above what anyone can read, a sample is shown and everything is counted.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, session, withQuery } from '../../api/client';
import type { Event, EventPage } from '../../api/types';
import { eventTypes, type EventType } from '../../api/contract';
import { budgetLink } from '../../core/budgets';
import { asCli, asCurl } from '../../core/commands';
import { redriveLink } from '../../core/dead-letters';
import { count, rate, shortId } from '../../core/format';
import { addToFeed, emptyFeed } from '../../core/feed';
import { flowLink } from '../../core/flows';
import { limitLink } from '../../core/limits';
import { scheduleLink } from '../../core/schedules';
import { useEvents, useResource } from '../../live/hooks';
import { streamStatus } from '../../live/stream';
import { navigate, place } from '../../live/router';
import { narrow } from '../../live/preferences';
import { paused } from '../../live/visibility';
import { copyText, Empty, Icon, Problem, StateBadge, Text, Time, words } from '../../ui/basic';
import { Menu } from '../../ui/menu';
import { VTable, type Column } from '../../ui/vtable';

const named: { title: string; types: EventType[] }[] = [
  { title: 'Executions', types: ['created', 'ready', 'claimed', 'resumed', 'released', 'delayed', 'retry_scheduled', 'step_recorded', 'completed', 'failed', 'cancelled', 'expired', 'skipped', 'replayed', 'priority_changed', 'tags_changed', 'debounced'] },
  { title: 'Waits', types: ['suspended', 'signal_delivered', 'wait_ended', 'wait_escalated', 'waitpoint_opened', 'waitpoint_closed', 'waitpoint_reissued'] },
  { title: 'Flows', types: ['flow_submitted', 'flow_cancelling', 'flow_completed', 'flow_failed', 'flow_cancelled', 'flow_reopened', 'flow_extended', 'flow_sealed', 'joining', 'held_back'] },
  { title: 'Schedules', types: ['schedule_created', 'schedule_updated', 'schedule_paused', 'schedule_resumed', 'schedule_deleted', 'schedule_fired', 'schedule_buffered', 'schedule_skipped'] },
  { title: 'Webhooks', types: ['hook_created', 'hook_rotated', 'hook_removed'] },
  { title: 'Limits', types: ['limited', 'limit_created', 'limit_changed', 'limit_removed'] },
  { title: 'Budgets', types: ['budget_warning', 'budget_exceeded', 'budget_paused', 'budget_resumed', 'budget_reset', 'budget_adjusted'] },
  { title: 'Redrives', types: ['redrive_created', 'redrive_paused', 'redrive_resumed', 'redrive_cancelled', 'redrive_completed'] },
  { title: 'Leases', types: ['lease_expired', 'lease_revoked', 'lease_reclaimed', 'grant_issued', 'grant_expired'] },
  { title: 'Workers', types: ['worker_registered', 'worker_refreshed', 'worker_draining', 'worker_marked_dead', 'worker_ttl_swept'] },
  { title: 'Administration', types: ['lane_changed', 'namespace_changed', 'keys_rotated', 'api_key_created', 'api_key_revoked', 'retention_run'] },
];
const known = new Set(named.flatMap((group) => group.types));
const others = eventTypes.filter((type) => !known.has(type));
const groups = others.length > 0 ? [...named, { title: 'Others', types: [...others] }] : named;
const names = ['type', 'namespace', 'lane', 'execution_id'] as const;

/** Enough to scroll back through, small enough to draw. */
const capacity = 5000;
const mostPerBatch = 60;

/** Their reason begins with the name of the limit; that of the operator follows a colon. */
const limitChanges = new Set<string>(['limit_created', 'limit_changed', 'limit_removed']);
/** Their reason begins with the name of the budget, which has no spaces. */
const budgetChanges = new Set<string>(['budget_paused', 'budget_resumed', 'budget_reset', 'budget_adjusted']);

/** What an event is about, and where its page is. Firings are about their schedule; the execution is one click further. */
function subjectOf(event: Event): { text: string; link?: string; id?: boolean } {
  if (event.schedule !== undefined) return { text: event.schedule, link: scheduleLink(event.namespace, event.schedule) };
  if (limitChanges.has(event.type) && event.reason !== undefined) {
    const name = event.reason.split(': ')[0] as string;
    return { text: name, link: limitLink(event.namespace, name) };
  }
  if (budgetChanges.has(event.type) && event.reason !== undefined) {
    const name = /^(\S+?)[:;]?(?: |$)/.exec(event.reason)?.[1] ?? event.reason;
    return { text: name, link: budgetLink(event.namespace, name) };
  }
  if (event.redrive_id !== undefined && event.type.startsWith('redrive_')) return { text: event.redrive_id, link: redriveLink(event.redrive_id), id: true };
  if (event.execution_id) return { text: event.execution_id, link: `/ui/executions/${encodeURIComponent(event.execution_id)}`, id: true };
  if (event.flow_id) return { text: event.flow_id, link: flowLink(event.flow_id), id: true };
  return { text: event.worker_instance_id ?? event.lane ?? event.namespace ?? '–' };
}

function Subject({ event }: { event: Event }) {
  const { text, link, id } = subjectOf(event);
  if (link === undefined) return <Text>{text}</Text>;
  return <a class={id ? 'mono' : ''} href={link} title={text}>{id ? shortId(text) : <Text>{text}</Text>}</a>;
}

const columns: Column<Event>[] = [
  { name: 'at', title: 'at', width: '112px', cell: (event) => <Time at={event.at} ms /> },
  { name: 'type', title: 'event', width: '118px', cell: (event) => <b>{words(event.type)}</b> },
  { name: 'state', title: 'state after', width: '104px', cell: (event) => (event.state_after ? <StateBadge state={event.state_after} /> : <span class="muted">–</span>) },
  { name: 'subject', title: 'subject', width: '146px', cell: (event) => <Subject event={event} /> },
  { name: 'kind', title: 'kind', width: 'minmax(110px, 1.2fr)', cell: (event) => <Text>{event.kind}</Text> },
  { name: 'lane', title: 'lane', width: 'minmax(76px, 1fr)', cell: (event) => <Text>{event.lane}</Text> },
  { name: 'actor', title: 'actor', width: 'minmax(76px, 1fr)', cell: (event) => <Text>{event.actor}</Text> },
  { name: 'reason', title: 'reason', width: 'minmax(100px, 1.5fr)', cell: (event) => <Text>{event.reason}</Text> },
];
const narrowColumns = new Set(['at', 'type', 'subject']);

/** The events of the last page before now, so that the view does not begin empty. */
async function recent(query: Record<string, string>, abort: AbortSignal): Promise<Event[]> {
  const page = await get<EventPage>('/v1/events', { ...query, cursor: 'earliest', limit: 200 }, abort);
  return page.events;
}

export function Events() {
  const params = new URLSearchParams(place.value.search);
  const filter: Record<string, string> = {};
  for (const name of names) if (params.get(name)) filter[name] = params.get(name) as string;
  const key = JSON.stringify(filter);
  const [feed, setFeed] = useState(emptyFeed);
  const [perSecond, setPerSecond] = useState(0);
  const [fromStart, setFromStart] = useState(false);
  // Whoever has scrolled down is reading: the rows stay until the list is at its top again.
  const [held, setHeld] = useState<readonly Event[]>();
  const window_ = useRef({ since: Date.now(), received: 0 });
  useEffect(() => { setFeed(emptyFeed); setPerSecond(0); setFromStart(false); setHeld(undefined); }, [key]);
  useEvents(filter, (events, received) => {
    setFeed((old) => addToFeed(old, events, received, mostPerBatch, capacity));
    const measured = window_.current;
    measured.received += received;
    const passed = Date.now() - measured.since;
    if (passed < 1000) return;
    setPerSecond((measured.received * 1000) / passed);
    window_.current = { since: Date.now(), received: 0 };
  });
  const old = useResource(fromStart ? `first ${key}` : undefined, (abort) => recent(filter, abort));
  const shownEvents = held ?? feed.events;
  const rows = useMemo(() => (fromStart ? old.data ?? [] : [...shownEvents].reverse()), [shownEvents, old.data, fromStart]);
  const set = (name: (typeof names)[number], value: string): void => {
    // In a fixed order, so that equal filters have equal addresses.
    const next = Object.fromEntries(names.map((other) => [other, other === name ? value : filter[other]]));
    navigate(withQuery('/ui/events', next).replaceAll('%2C', ','));
  };
  const hidden = feed.received - feed.shown;
  return (
    <div class="page full">
      <div class="page-head">
        <h1 class="grow">Events</h1>
        <span class="muted">{fromStart ? 'the oldest 200' : `${count(feed.received)} received${perSecond > 0 ? `, ${rate(perSecond)} per s` : ''}${hidden > 0 ? `; a sample of ${count(feed.shown)} is shown` : ''}`}</span>
        <button type="button" class="button" aria-pressed={fromStart} onClick={() => setFromStart(!fromStart)}>Oldest first</button>
        <button type="button" class="button" aria-pressed={paused.value} onClick={() => { paused.value = !paused.value; }}>{paused.value ? 'Resume' : 'Pause'}</button>
        <button type="button" class="button" onClick={() => { setFeed(emptyFeed); setHeld(undefined); }}>Clear</button>
        <Copies filter={filter} />
      </div>
      <Filters filter={filter} set={set} />
      {streamStatus.value.state === 'refused' ? <div class="note error" role="alert">{streamStatus.value.problem}</div> : null}
      {old.error ? <Problem error={old.error} retry={old.reload} /> : null}
      <VTable label="Events" columns={narrow.value ? columns.filter((column) => narrowColumns.has(column.name)) : columns} rows={rows} keyOf={(event) => event.cursor}
        onOpen={(event) => { const { link } = subjectOf(event); if (link) navigate(link); }}
        onScroll={(atTop) => setHeld(atTop ? undefined : feed.events)}
        foot={held && !fromStart ? 'The list stands still while it is scrolled down; scroll to the top to follow.' : undefined}
        empty={<Empty title={paused.value ? 'Live updates are paused' : 'Waiting for events'}><p>New events appear here as they happen. What happened before is in the history of each execution, and under “Oldest first”.</p></Empty>} />
    </div>
  );
}

function Filters({ filter, set }: { filter: Record<string, string>; set: (name: (typeof names)[number], value: string) => void }) {
  const chosen = new Set((filter['type'] ?? '').split(',').filter(Boolean));
  const toggle = (type: string): void => {
    if (!chosen.delete(type)) chosen.add(type);
    set('type', [...chosen].join(','));
  };
  return (
    <div class="row wrap">
      <Menu left stay label={<>{chosen.size > 0 ? `${chosen.size} types` : 'All types'}<Icon name="down" /></>}>
        {groups.map((group) => (
          <>
            <h3 key={group.title}>{group.title}</h3>
            {group.types.map((type) => <label key={type}><input type="checkbox" checked={chosen.has(type)} onChange={() => toggle(type)} />{words(type)}</label>)}
          </>
        ))}
      </Menu>
      {(['lane', 'execution_id', ...(session.value?.namespace ? [] : ['namespace'] as const)] as const).map((name) => (
        <input key={name} name={name} aria-label={words(name)} placeholder={words(name)} value={filter[name] ?? ''} autoComplete="off" onChange={(event) => set(name, event.currentTarget.value.trim())} />
      ))}
      {[...chosen].map((type) => <button type="button" class="chip" key={type} aria-pressed="true" onClick={() => toggle(type)} title="Remove this type">{words(type)} ×</button>)}
    </div>
  );
}

function Copies({ filter }: { filter: Record<string, string> }) {
  const origin = window.location.origin;
  const options = Object.entries(filter).flatMap(([name, value]) => [name === 'execution_id' ? '--execution' : `--${name}`, value]);
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCli(['events', '--follow', ...options], origin), 'Command')}>Copy as CLI</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery('/v1/events', { ...filter, cursor: 'earliest' }) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
    </Menu>
  );
}
