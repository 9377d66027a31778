// Whether limits would hold back an execution that is created now.
import { useState } from 'preact/hooks';
import { call, session, type ApiError } from '../../api/client';
import type { LimitCheck } from '../../api/types';
import type { FormValues } from '../../core/form';
import { asCurl } from '../../core/commands';
import { relative } from '../../core/format';
import { checkBody } from '../../core/limits';
import { now } from '../../live/visibility';
import { Copy, Problem, Time } from '../../ui/basic';
import { Dialog, show } from '../../ui/dialog';
import { Area, formError, Input, type FormState } from '../../ui/form';
import { CheckedTable } from '../../ui/limit-bar';

/** The dialog, with what is known already. */
export function showCheck(initial: FormValues): void {
  show((close) => <CheckDialog initial={initial} close={close} />);
}

function CheckDialog({ initial, close }: { initial: FormValues; close: () => void }) {
  const [values, setValues] = useState<FormValues>({ namespace: session.value?.namespace ?? '', lane: '', kind: '', creator: '', tags: '', ...initial });
  const [check, setCheck] = useState<LimitCheck>();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const set = (name: string, value: string): void => {
    setError(undefined);
    setCheck(undefined);
    setValues((old) => ({ ...old, [name]: value }));
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      setCheck(await call<LimitCheck>('POST', '/v1/limits/check', checkBody(values)));
      setError(undefined);
    } catch (problem) {
      setError(formError(problem));
    }
    setBusy(false);
  };
  const form: FormState = { values, set, error };
  const command = asCurl({ method: 'POST', path: '/v1/limits/check', body: checkBody(values) }, window.location.origin, session.value?.authentication ?? false);
  return (
    <Dialog title="Check limits" wide onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>Would limits hold back an execution?</h2>
        <p class="muted">Describe an execution. Nothing is created.</p>
        <div class="form-two">
          <Input form={form} name="kind" label="Kind" max={128} />
          <Input form={form} name="lane" label="Lane" placeholder="default" max={64} />
          <Input form={form} name="namespace" label="Namespace" placeholder="default" max={128} disabled={session.value?.namespace !== undefined} />
          <Input form={form} name="creator" label="Creator" max={256} />
        </div>
        <Area form={form} name="tags" label="Tags" hint="one per line, as app.customer=acme" rows={2} mono />
        {error ? <Problem error={error} /> : null}
        {check ? <Result check={check} /> : null}
        <div class="dialog-actions">
          <span class="grow"><Copy text={command} what="curl command" label="Copy as curl" /></span>
          <button type="button" class="button" onClick={close}>Close</button>
          <button type="submit" class="button primary" disabled={busy}>Check</button>
        </div>
      </form>
    </Dialog>
  );
}

const Result = ({ check }: { check: LimitCheck }) => (
  <section class={check.could_start ? 'note' : 'note warning'} aria-label="Result" role="status">
    <div class="grow stack">
      <b>{check.limits.length === 0 ? 'No limit is for it: it could start now.' : check.could_start ? 'It could start now.' : 'It would be held back.'}</b>
      {check.could_start_at ? <span>By time alone it could start at <Time at={check.could_start_at} />, {relative(check.could_start_at, now.value)}.</span> : null}
      {check.limits.length > 0 ? <CheckedTable checked={check.limits} verdict={(one) => (one.would_hold_back ? 'holds back' : undefined)} /> : null}
    </div>
  </section>
);
