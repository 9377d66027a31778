import { ApiError, call, get, session } from '../../api/client';
import { allows } from '../../api/contract';
import type { KeyRotation, KeysReply } from '../../api/types';
import { asCli } from '../../core/commands';
import { parseDuration } from '../../core/format';
import { useEvents, useResource } from '../../live/hooks';
import { Panel, Problem, Time } from '../../ui/basic';
import { confirm, withReason } from '../../ui/dialog';
import { SettingsFrame } from './frame';

function graceOf(text: string | undefined): number {
  const ms = parseDuration(text ?? '');
  if (ms === undefined) throw new ApiError(0, 'invalid_argument', 'The grace period is written like 30m, 2h or 7d.', undefined, 'grace_ms');
  return ms;
}

function rotate(done: () => void): void {
  confirm({
    title: 'Sign with a new key', text: 'Handles and grants that older keys have signed are accepted for the grace period. Workers that renew their leases get new handles.', action: 'Rotate', reason: true, initial: { grace: '1h' },
    fields: (values, set) => <label class="field"><span>Grace period <span class="hint">such as 30m, 2h, 7d</span></span><input name="grace" required value={values['grace'] ?? ''} onInput={(event) => set('grace', event.currentTarget.value)} /></label>,
    command: (values) => asCli(['keys', 'rotate', '--grace', values['grace'] ?? '1h', '--yes'], window.location.origin),
    run: async (values) => {
      const reply = await call<KeyRotation>('POST', '/v1/signing-keys/rotate', withReason(values, { grace_ms: graceOf(values['grace']) }));
      done();
      return `Key ${reply.key_id} signs from now on`;
    },
  });
}

export function SigningKeys() {
  const keys = useResource(allows(session.value, 'admin') ? 'signing-keys' : undefined, (abort) => get<KeysReply>('/v1/signing-keys', undefined, abort), { live: true });
  useEvents({ type: 'keys_rotated' }, keys.reload);
  return (
    <SettingsFrame role="admin" actions={<button type="button" class="button" onClick={() => rotate(keys.reload)}>Rotate …</button>}>
      {keys.error ? <Problem error={keys.error} retry={keys.reload} /> : null}
      {keys.data ? (
        <Panel title="Keys that sign handles and grants" flush>
          <div class="scroll-x" tabIndex={0}><table class="grid">
            <thead><tr><th>key</th><th>created</th><th>accepted until</th></tr></thead>
            <tbody>{[...keys.data.keys].reverse().map((key) => (
              <tr key={key.key_id}><td>{key.key_id}</td><td><Time at={key.created_at} /></td><td>{key.expires_at ? <Time at={key.expires_at} /> : <span class="badge" data-state="good">signs now</span>}</td></tr>
            ))}</tbody>
          </table></div>
        </Panel>
      ) : null}
    </SettingsFrame>
  );
}
