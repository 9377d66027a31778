// The command palette, and the list of keys.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, session } from '../api/client';
import type { LanesReply, ListSchedulesReply, ScheduleSummary } from '../api/types';
import { publicStates } from '../api/contract';
import { visibleLine } from '../core/bytes';
import { filterLink, parseSearch, textFields } from '../core/filters';
import { flowLink, flowsLink, flowStates } from '../core/flows';
import { rank } from '../core/palette';
import { scheduleLink, schedulesLink, scheduleStates } from '../core/schedules';
import { navigate } from '../live/router';
import { savedViews, shownTheme, theme, utc } from '../live/preferences';
import { paused } from '../live/visibility';
import { signOut, switchTheme, visiblePages } from '../frame';
import { words } from './basic';
import { Dialog, show } from './dialog';
import { activeShortcuts } from './keyboard';

/** Titles have colons, too: "Flows: failed". */
const fieldPattern = new RegExp(`(^|\\s)(state|${textFields.join('|')}):\\S`);

interface Command { title: string; hint: string; run: () => void }

/** What there is by name, as far as one page of it goes. */
interface Named { lanes: string[]; schedules: ScheduleSummary[] }
const nothingNamed: Named = { lanes: [], schedules: [] };

function commands({ lanes, schedules }: Named): Command[] {
  return [
    ...visiblePages().map((page) => ({ title: page.title, hint: 'page', run: () => navigate(page.path) })),
    ...publicStates.map((state) => ({ title: `Executions: ${words(state)}`, hint: 'filter', run: () => navigate(filterLink({ state: [state] })) })),
    ...flowStates.map((state) => ({ title: `Flows: ${words(state)}`, hint: 'filter', run: () => navigate(flowsLink({ state: [state] })) })),
    ...scheduleStates.map((state) => ({ title: `Schedules: ${state}`, hint: 'filter', run: () => navigate(schedulesLink({ state: [state] })) })),
    ...savedViews.value.map((view) => ({ title: view.name, hint: 'saved view', run: () => navigate(`/ui/executions${view.query}`) })),
    ...lanes.map((lane) => ({ title: `Lane ${lane}`, hint: 'executions of the lane', run: () => navigate(filterLink({ lane })) })),
    ...schedules.map((schedule) => ({ title: `Schedule ${visibleLine(schedule.name)}`, hint: schedule.namespace === 'default' ? 'schedule' : `schedule in ${visibleLine(schedule.namespace)}`, run: () => navigate(scheduleLink(schedule.namespace, schedule.name)) })),
    { title: shownTheme.value === 'dark' ? 'Light theme' : 'Dark theme', hint: 'view', run: switchTheme },
    { title: 'Theme of the system', hint: 'view', run: () => { theme.value = 'system'; } },
    { title: utc.value ? 'Times in local zone' : 'Times in UTC', hint: 'view', run: () => { utc.value = !utc.value; } },
    { title: paused.value ? 'Resume live updates' : 'Pause live updates', hint: 'view', run: () => { paused.value = !paused.value; } },
    { title: 'Keyboard shortcuts', hint: 'help', run: showHelp },
    ...(session.value?.authentication ? [{ title: 'Sign out', hint: 'session', run: () => void signOut() }] : []),
  ];
}

export function showPalette(): void {
  show((close) => <Palette close={close} />);
}

function Palette({ close }: { close: () => void }) {
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const [named, setNamed] = useState(nothingNamed);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const add = (more: Partial<Named>): void => setNamed((old) => ({ ...old, ...more }));
    get<LanesReply>('/v1/lanes').then((reply) => add({ lanes: reply.lanes.map((lane) => lane.lane) }), () => undefined);
    get<ListSchedulesReply>('/v1/schedules', { limit: 1000 }).then((reply) => add({ schedules: reply.schedules }), () => undefined);
  }, []);
  const all = useMemo(() => commands(named), [named]);
  const search = parseSearch(query);
  const direct: Command[] = query.trim() === '' ? []
    : 'id' in search ? [{ title: `Open ${search.id}`, hint: 'execution', run: () => navigate(`/ui/executions/${encodeURIComponent(search.id)}`) }, { title: `Open ${search.id}`, hint: 'flow', run: () => navigate(flowLink(search.id)) }]
      : fieldPattern.test(query) ? [{ title: `Executions with ${query.trim()}`, hint: 'filter', run: () => navigate(filterLink(search.filter)) }] : [];
  const found = [...direct, ...rank(query, all)];
  const chosen = Math.min(at, found.length - 1);
  const run = (command: Command | undefined): void => { if (command) { close(); command.run(); } };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') run(found[chosen]);
    else if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, chosen + 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, chosen - 1));
    else return;
    event.preventDefault();
  };
  useEffect(() => { list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }); }, [chosen]);
  return (
    <Dialog title="Command palette" class="palette" onClose={close}>
      <input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found[chosen] ? `palette-${chosen}` : undefined} aria-label="Command"
        placeholder="Go to a page, a lane, a schedule, the id of an execution or a flow …" value={query} autofocus autoComplete="off" spellcheck={false}
        onInput={(event) => { setQuery(event.currentTarget.value); setAt(0); }} onKeyDown={onKey} />
      <ul id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {found.map((command, index) => (
          <li role="option" id={`palette-${index}`} key={command.title + command.hint} aria-selected={index === chosen} onClick={() => run(command)} onMouseMove={() => setAt(index)}>
            {command.title}<span class="muted">{command.hint}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <div class="empty">Nothing is called that. Paste an execution id, or write state:failed.</div> : null}
    </Dialog>
  );
}

export function showHelp(): void {
  const keys = activeShortcuts();
  show((close) => (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <div class="dialog-body">
        <h2>Keyboard shortcuts</h2>
        <dl class="keys">
          {keys.map((key) => <div key={key.keys}><dt>{key.keys.split(' ').map((part) => <kbd key={part}>{part === 'ctrl+k' ? 'Ctrl K' : part}</kbd>)}</dt><dd>{key.text}</dd></div>)}
          <div><dt><kbd>Esc</kbd></dt><dd>close dialogs and menus</dd></div>
        </dl>
        <div class="dialog-actions"><button type="button" class="button" onClick={close}>Close</button></div>
      </div>
    </Dialog>
  ));
}
