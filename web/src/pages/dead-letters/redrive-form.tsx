// The question before many executions are replayed: how many they are, at which rate, and whether it waits for a further look.
import { useState } from 'preact/hooks';
import './dead-letters.css';
import { call, session, type ApiError } from '../../api/client';
import type { Redrive } from '../../api/types';
import { visibleLine } from '../../core/bytes';
import { asCli, asCurl } from '../../core/commands';
import { emptyRedriveForm, isNarrowed, redriveBody, redriveLink, redriveWords, type Target } from '../../core/dead-letters';
import type { FormValues } from '../../core/form';
import { plural } from '../../core/format';
import { navigate } from '../../live/router';
import { Copy, Problem, Text } from '../../ui/basic';
import { Dialog, show } from '../../ui/dialog';
import { formError, Input, type FormState } from '../../ui/form';
import { toast } from '../../ui/toast';

export function askRedrive(target: Target): void {
  show((close) => <RedriveDialog target={target} close={close} />);
}

/** The same call, sent again because its answer was lost, must not make another redrive. */
function newKey(): string {
  return `dashboard-${[...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function RedriveDialog({ target, close }: { target: Target; close: () => void }) {
  const [values, setValues] = useState<FormValues>(emptyRedriveForm);
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const made = await call<Redrive>('POST', '/v1/redrives', redriveBody(target, values, key));
      close();
      toast(made.state === 'paused' ? 'The redrive waits until it is resumed' : `Redrive of ${plural(made.found, 'dead letter')} made`);
      navigate(redriveLink(made.redrive_id));
    } catch (problem) {
      setError(formError(problem));
      setBusy(false);
    }
  };
  const form: FormState = { values, set: (name, value) => { setError(undefined); setValues((old) => ({ ...old, [name]: value })); }, error };
  const byIds = target.selection.execution_ids !== undefined;
  const title = `Redrive ${visibleLine(target.words)}`;
  return (
    <Dialog title={title} onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        <Expected target={target} narrowed={isNarrowed(values)} />
        <Input form={form} name="rate" label="Rate" hint="like 100/1m; empty: as fast as they go" max={64} />
        {byIds ? null : (
          <details class="dl-more">
            <summary>Only some of them</summary>
            <div class="stack">
              <Input form={form} name="tag" label="Tag" hint="key=value" />
              <div class="form-two">
                <Input form={form} name="failed_from" label="Failed from" type="datetime-local" />
                <Input form={form} name="failed_before" label="Failed before" type="datetime-local" />
              </div>
            </div>
          </details>
        )}
        <label class="fl-check"><input type="checkbox" name="paused" checked={values['paused'] === 'yes'} onChange={(event) => form.set('paused', event.currentTarget.checked ? 'yes' : '')} /><span>Paused first <span class="muted">it replays nothing until it is resumed</span></span></label>
        <Input form={form} name="reason" label="Reason" hint="optional; kept in the event log and with each execution" max={256} />
        {error ? <Problem error={error} /> : null}
        <div class="dialog-actions">
          <span class="grow row"><Commands target={target} values={values} idempotencyKey={key} /></span>
          <button type="button" class="button" onClick={close}>Close</button>
          <button type="submit" class="button primary" disabled={busy}>Redrive</button>
        </div>
      </form>
    </Dialog>
  );
}

function Expected({ target, narrowed }: { target: Target; narrowed: boolean }) {
  const number = target.expected === undefined ? undefined : plural(target.expected, 'failed execution');
  return (
    <p>
      {number === undefined ? <>It replays failed executions</> : <>It replays {narrowed ? 'at most ' : ''}<b>{number}</b></>} of namespace <b><Text>{target.namespace}</Text></b>, each at most once, with the same payload.{' '}
      <span class="muted">What fails from now on is not replayed; nor are nodes of flows, and executions whose policy allows no more replays.{target.older ? ' Those that failed under an earlier version of the program and match are not counted here, and are replayed too.' : ''}</span>
    </p>
  );
}

function Commands({ target, values, idempotencyKey }: { target: Target; values: FormValues; idempotencyKey: string }) {
  let body;
  try {
    body = redriveBody(target, values, idempotencyKey);
  } catch {
    return null;
  }
  const { idempotency_key: _, ...again } = body;
  return (
    <>
      <Copy text={asCli(redriveWords(again), window.location.origin)} what="command" label="CLI" />
      <Copy text={asCurl({ method: 'POST', path: '/v1/redrives', body: again }, window.location.origin, session.value?.authentication ?? false)} what="curl command" label="curl" />
    </>
  );
}
