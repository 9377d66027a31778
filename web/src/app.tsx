// The frame around every page: session, navigation, search, live state, dialogs.
import { useEffect, useRef, useState } from 'preact/hooks';
import { effect } from '@preact/signals';
import { ApiError, get, session } from './api/client';
import type { Session } from './api/contract';
import { filterLink, parseSearch } from './core/filters';
import { toApiError } from './live/hooks';
import { navigate, place } from './live/router';
import { streamStatus } from './live/stream';
import { now, paused } from './live/visibility';
import { shownTheme } from './live/preferences';
import { signOut, switchTheme, visiblePages } from './frame';
import { findPage } from './page';
import { Empty, Icon, Problem, Text } from './ui/basic';
import { OpenDialog } from './ui/dialog';
import { useShortcuts } from './ui/keyboard';
import { Toasts } from './ui/toast';
import { showHelp, showPalette } from './ui/palette';
import { Login } from './login';
import icon from './assets/icon.svg';

effect(() => {
  const found = findPage(place.value.path);
  document.title = found ? `${found.params['id'] ?? found.page.title} · FlowFabric` : 'FlowFabric';
});

export function App() {
  const [error, setError] = useState<ApiError>();
  const load = (): void => {
    setError(undefined);
    get<Session>('/v1/session').then((answer) => { session.value = answer; }, (problem: unknown) => setError(toApiError(problem)));
  };
  useEffect(load, []);
  const current = session.value;
  if (error) return <div class="login"><div class="stack"><Problem error={error} retry={load} /></div></div>;
  if (!current) return null;
  if (!current.signed_in) return <><Login /><Toasts /></>;
  return <Shell />;
}

function Shell() {
  const found = findPage(place.value.path);
  useShortcuts([
    { keys: '?', text: 'show the keyboard shortcuts', run: showHelp },
    { keys: 'ctrl+k', text: 'command palette', always: true, run: showPalette },
    { keys: '/', text: 'search', run: () => document.querySelector<HTMLInputElement>('#search')?.focus() },
    { keys: 'p', text: 'pause or resume live updates', run: () => { paused.value = !paused.value; } },
    { keys: 't', text: 'switch between light and dark', run: switchTheme },
    ...visiblePages().map((page) => ({ keys: `g ${page.nav?.key ?? ''}`, text: `go to ${page.title}`, run: () => navigate(page.path) })),
  ]);
  return (
    <div class="shell">
      <a class="shell-brand" href="/"><img src={icon} alt="" />FlowFabric</a>
      <Bar />
      <Navigation path={place.value.path} />
      <main class="shell-page" id="main">
        {found ? <found.page.component params={found.params} key={found.page.path + JSON.stringify(found.params)} /> : <Nowhere />}
      </main>
      <OpenDialog />
      <Toasts />
    </div>
  );
}

function Navigation({ path }: { path: string }) {
  const inside = (page: { path: string }): boolean => (page.path === '/' ? path === '/' : path === page.path || path.startsWith(`${page.path}/`));
  return (
    <nav class="shell-nav" aria-label="Pages">
      {visiblePages().map((page) => (
        <a href={page.path} key={page.path} aria-current={inside(page) ? 'page' : undefined}><Icon name={page.nav?.icon ?? ''} />{page.title}</a>
      ))}
      <div class="shell-foot">
        {session.value?.store ? <div class="clip" title={session.value.store}>{session.value.store}</div> : null}
        {session.value?.version ? <div>version {session.value.version}</div> : null}
      </div>
    </nav>
  );
}

function Bar() {
  return (
    <header class="shell-bar">
      <SearchBox />
      <div class="grow" />
      <LiveState />
      <button type="button" class="button plain" aria-label={shownTheme.value === 'dark' ? 'Light theme' : 'Dark theme'} title="Switch between light and dark (t)" onClick={switchTheme}>
        <Icon name={shownTheme.value === 'dark' ? 'sun' : 'moon'} />
      </button>
      <button type="button" class="button plain" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={showHelp}><Icon name="help" /></button>
      {session.value?.authentication ? (
        <div class="who">
          <span class="name clip" title={`Role ${session.value.role}`}><Text>{session.value.name}</Text> · {session.value.role}{session.value.namespace ? <> · <Text>{session.value.namespace}</Text></> : null}</span>
          <button type="button" class="button small" onClick={() => void signOut()}>Sign out</button>
        </div>
      ) : null}
    </header>
  );
}

function SearchBox() {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    const search = parseSearch(text);
    navigate('id' in search ? `/ui/executions/${encodeURIComponent(search.id)}` : filterLink(search.filter));
    setText('');
    input.current?.blur();
  };
  return (
    <form class="search" role="search" onSubmit={submit}>
      <input id="search" ref={input} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === 'Escape') input.current?.blur(); }}
        placeholder="Execution id, or state:failed lane:mail kind:send" aria-label="Search executions" autoComplete="off" spellcheck={false} />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function LiveState() {
  const status = streamStatus.value;
  const state = paused.value ? 'off' : status.state;
  const seconds = status.retryAt ? Math.max(0, Math.ceil((status.retryAt - now.value) / 1000)) : 0;
  const text = paused.value ? 'Paused' : { off: 'Not live', connecting: 'Connecting', live: 'Live', waiting: `Reconnecting in ${seconds} s`, refused: 'Not live' }[status.state];
  const hint = status.state === 'refused' ? status.problem : status.state === 'waiting' && !paused.value ? `${status.problem ?? ''} The views load again by themselves.` : 'Click to pause or resume live updates (p)';
  return (
    <button type="button" class="live" data-state={state} aria-label={`Live updates: ${text}`} title={hint} onClick={() => { paused.value = !paused.value; }}>
      <i /><span>{text}</span>
    </button>
  );
}

const Nowhere = () => (
  <div class="page"><Empty title="There is no such page"><p>The address may be from another version. <a href="/">Go to the overview</a>.</p></Empty></div>
);
