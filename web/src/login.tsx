import { useState } from 'preact/hooks';
import { call, session, type ApiError } from './api/client';
import type { Session } from './api/contract';
import { toApiError } from './live/hooks';
import { Problem } from './ui/basic';
import icon from './assets/icon.svg';

/** The key goes to the server once, which answers with a cookie that no script can read. It is kept nowhere else. */
export function Login() {
  const [key, setKey] = useState('');
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      session.value = await call<Session>('POST', '/v1/session', { api_key: key.trim() });
    } catch (problem) {
      setError(toApiError(problem));
    }
    setBusy(false);
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <h1 class="shell-brand"><img src={icon} alt="" />FlowFabric</h1>
        <label class="field">
          <span>API key</span>
          <input name="api_key" type="password" value={key} onInput={(event) => setKey(event.currentTarget.value)} autoComplete="current-password" required autofocus />
        </label>
        {error ? <Problem error={error} /> : null}
        <button type="submit" class="button primary" disabled={busy || key.trim() === ''}>Sign in</button>
        <p class="muted">A key for looking only is made with <code>flowfabric api-keys create NAME --role viewer</code>. With <code>--role operator</code> executions can be cancelled and replayed.</p>
      </form>
    </main>
  );
}
