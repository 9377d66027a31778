import { call, get, session } from '../../api/client';
import { allows, type Role } from '../../api/contract';
import type { ApiKey, ApiKeys as Keys, NewApiKey } from '../../api/types';
import { asCli } from '../../core/commands';
import { fromLocalInput } from '../../core/format';
import { visibleLine } from '../../core/bytes';
import { useEvents, useResource } from '../../live/hooks';
import { now } from '../../live/visibility';
import { Copy, Empty, Panel, Problem, Text, Time } from '../../ui/basic';
import { confirm, Dialog, show } from '../../ui/dialog';
import { SettingsFrame } from './frame';

const roles: { role: Role; text: string }[] = [
  { role: 'viewer', text: 'looks at everything' },
  { role: 'worker', text: 'also creates, claims and completes executions' },
  { role: 'operator', text: 'also cancels, replays, pauses lanes' },
  { role: 'admin', text: 'also manages keys' },
];

function create(done: () => void): void {
  confirm({
    title: 'Create an API key', text: <span class="muted">The secret is shown once, right after this.</span>, action: 'Create key', initial: { role: 'viewer' },
    fields: (values, set) => (
      <>
        <label class="field"><span>Name <span class="hint">it is recorded as the actor in the event log</span></span><input name="name" required maxLength={64} value={values['name'] ?? ''} onInput={(event) => set('name', event.currentTarget.value)} autoComplete="off" /></label>
        <label class="field"><span>Role</span><select name="role" value={values['role']} onChange={(event) => set('role', event.currentTarget.value)}>{roles.map((entry) => <option key={entry.role} value={entry.role}>{entry.role}: {entry.text}</option>)}</select></label>
        <div class="set-grid">
          <label class="field"><span>Namespace <span class="hint">empty: all</span></span><input name="namespace" maxLength={128} value={values['namespace'] ?? ''} onInput={(event) => set('namespace', event.currentTarget.value)} autoComplete="off" /></label>
          <label class="field"><span>Expires <span class="hint">empty: never</span></span><input name="expires" type="datetime-local" value={values['expires'] ?? ''} onInput={(event) => set('expires', event.currentTarget.value)} /></label>
        </div>
      </>
    ),
    run: async (values) => {
      const made = await call<NewApiKey>('POST', '/v1/api-keys', {
        name: values['name'], role: values['role'], ...(values['namespace'] ? { namespace: values['namespace'] } : {}),
        ...(values['expires'] ? { expires_at: fromLocalInput(values['expires']) } : {}),
      });
      done();
      // After the dialog that asked has closed.
      setTimeout(() => show((close) => <SecretDialog made={made} close={close} />));
    },
  });
}

const SecretDialog = ({ made, close }: { made: NewApiKey; close: () => void }) => (
  <Dialog title="The new key" onClose={() => undefined}>
    <div class="dialog-body">
      <h2>The secret of <Text>{made.key.name}</Text></h2>
      <p>Copy it now: nobody can read it again.</p>
      <div class="secret">{made.secret}</div>
      <div class="dialog-actions"><span class="grow"><Copy text={made.secret} what="secret" label="Copy" /></span><button type="button" class="button primary" onClick={close}>I have copied it</button></div>
    </div>
  </Dialog>
);

function revoke(key: ApiKey, done: () => void): void {
  confirm({
    title: `Revoke ${visibleLine(key.name)}`, text: 'Requests with this key are refused from now on; other servers on the store notice within five seconds. Its open event streams are ended.', action: 'Revoke key', danger: true,
    command: () => asCli(['api-keys', 'revoke', key.name], window.location.origin),
    run: async () => {
      await call<ApiKey>('DELETE', `/v1/api-keys/${encodeURIComponent(key.key_id)}`);
      done();
      return `Key ${visibleLine(key.name)} revoked`;
    },
  });
}

export function ApiKeys() {
  const keys = useResource(allows(session.value, 'admin') ? 'api-keys' : undefined, (abort) => get<Keys>('/v1/api-keys', undefined, abort), { live: true });
  useEvents({ type: 'api_key_created,api_key_revoked' }, keys.reload);
  const list = keys.data?.keys ?? [];
  return (
    <SettingsFrame role="admin" actions={<button type="button" class="button primary" onClick={() => create(keys.reload)}>Create key …</button>}>
      {keys.error ? <Problem error={keys.error} retry={keys.reload} /> : null}
      {keys.data ? (
        <Panel title={`API keys (${list.length})`} flush>
          {list.length === 0 ? <Empty title="There are no API keys"><p>Create one with the role admin, then start the server with auth = "keys".</p></Empty> : (
            <div class="scroll-x" tabIndex={0}><table class="grid">
              <thead><tr><th>name</th><th>role</th><th>namespace</th><th>created</th><th>by</th><th>expires</th><th>key id</th><th><span class="hidden-text">actions</span></th></tr></thead>
              <tbody>{list.map((key) => (
                <tr key={key.key_id}>
                  <td><b><Text>{key.name}</Text></b></td><td>{key.role}</td><td>{key.namespace ? <Text>{key.namespace}</Text> : <span class="muted">all</span>}</td><td><Time at={key.created_at} /></td><td><Text>{key.created_by}</Text></td>
                  <td>{key.expires_at ? <>{key.expires_at < now.value ? <span class="badge" data-state="bad">expired</span> : null} <Time at={key.expires_at} /></> : <span class="muted">never</span>}</td><td class="mono">{key.key_id}</td>
                  <td class="right"><button type="button" class="button small danger" onClick={() => revoke(key, keys.reload)}>Revoke …</button></td>
                </tr>
              ))}</tbody>
            </table></div>
          )}
        </Panel>
      ) : null}
    </SettingsFrame>
  );
}
