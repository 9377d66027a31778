import { session } from '../../api/client';
import { savedViews, theme, utc, type Theme } from '../../live/preferences';
import { Panel, Text } from '../../ui/basic';
import { SettingsFrame } from './frame';

const themes: Theme[] = ['system', 'light', 'dark'];

export function ThisBrowser() {
  const current = session.value;
  return (
    <SettingsFrame role="viewer">
      <Panel title="View" flush>
        <div class="set-list">
          <div><span class="what">Theme</span><span class="row" role="group" aria-label="Theme">{themes.map((entry) => <button type="button" key={entry} class="button small" aria-pressed={theme.value === entry} onClick={() => { theme.value = entry; }}>{entry}</button>)}</span></div>
          <div><span class="what">Times <span class="muted">the tooltip always shows both</span></span><span class="row" role="group" aria-label="Times">
            <button type="button" class="button small" aria-pressed={!utc.value} onClick={() => { utc.value = false; }}>local</button>
            <button type="button" class="button small" aria-pressed={utc.value} onClick={() => { utc.value = true; }}>UTC</button></span></div>
        </div>
      </Panel>
      <Panel title="Saved views" flush>
        <div class="set-list">
          {savedViews.value.length === 0 ? <div class="muted">None. Filter the executions and choose “Save this view”.</div> : null}
          {savedViews.value.map((view) => (
            <div key={view.name}><a class="what" href={`/ui/executions${view.query}`}>{view.name}</a><code class="muted">{view.query}</code>
              <button type="button" class="button small" onClick={() => { savedViews.value = savedViews.value.filter((other) => other !== view); }}>Remove</button></div>
          ))}
        </div>
      </Panel>
      <Panel title="Session" flush>
        <div class="set-list">
          <div><span class="what">Signed in as</span><span><Text>{current?.name ?? '–'}</Text></span></div>
          <div><span class="what">Role</span><span>{current?.role ?? '–'}{current?.namespace ? <>, only namespace <Text>{current.namespace}</Text></> : null}</span></div>
          <div><span class="what">Server</span><span>version {current?.version ?? '–'}, <Text>{current?.store ?? ''}</Text></span></div>
          {current?.authentication ? null : <div class="muted">This server asks for no key: every program on its machine may do everything. Start it with auth = "keys" before others can reach it.</div>}
        </div>
      </Panel>
    </SettingsFrame>
  );
}
