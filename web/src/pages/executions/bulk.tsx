// An action on everything that a filter selects, or on marked rows: counted first, then done page by page.
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, type ApiError } from '../../api/client';
import type { BulkBody, BulkReply } from '../../api/types';
import { asCli, asCurl, filterOptions } from '../../core/commands';
import { count, plural } from '../../core/format';
import { bulkFilter, type Filter } from '../../core/filters';
import { toApiError } from '../../live/hooks';
import { session } from '../../api/client';
import { Copy, Problem, Text } from '../../ui/basic';
import { Dialog, show } from '../../ui/dialog';
import { toast } from '../../ui/toast';

export type BulkAction = BulkBody['action'];
export type Selection = { ids: string[] } | { filter: Filter };

const verbs: Record<BulkAction, { title: string; done: string; danger: boolean; hint: string }> = {
  cancel: { title: 'Cancel', done: 'cancelled', danger: true, hint: 'Executions that have not ended are ended as cancelled. Running ones lose their lease.' },
  replay: { title: 'Run again', done: 'started again', danger: false, hint: 'Ended executions start over, with the same payload. Their history is kept.' },
  priority: { title: 'Set priority', done: 'changed', danger: false, hint: 'Higher goes first; executions keep their place among equals.' },
};

interface Totals { matched: number; changed: number; unchanged: number; skipped: number; failed: number; failures: { execution_id: string; message: string }[] }
const nothing: Totals = { matched: 0, changed: 0, unchanged: 0, skipped: 0, failed: 0, failures: [] };

export function addReply(totals: Totals, reply: BulkReply): Totals {
  const failures = reply.failures.map((failure) => ({ execution_id: failure.execution_id, message: failure.error.message }));
  return {
    matched: totals.matched + reply.matched,
    changed: totals.changed + reply.changed,
    unchanged: totals.unchanged + reply.unchanged,
    skipped: totals.skipped + reply.skipped,
    failed: totals.failed + failures.length,
    failures: [...totals.failures, ...failures].slice(0, 20),
  };
}

/** Repeats the call with the cursor of the reply until everything has been looked at. */
async function walk(body: BulkBody, abort: AbortSignal, onReply: (reply: BulkReply) => void): Promise<void> {
  let cursor: string | undefined;
  for (;;) {
    const reply = await call<BulkReply>('POST', '/v1/executions/bulk', cursor ? { ...body, cursor } : body, abort);
    onReply(reply);
    if (reply.done || reply.next_cursor === '' || abort.aborted) return;
    cursor = reply.next_cursor;
  }
}

const bodyOf = (action: BulkAction, selection: Selection): BulkBody =>
  ('ids' in selection ? { action, ids: selection.ids } : { action, filter: bulkFilter(selection.filter) });

export function showBulk(action: BulkAction, selection: Selection, onDone: () => void): void {
  show((close) => <BulkDialog action={action} selection={selection} close={() => { close(); onDone(); }} />);
}

type Stage = 'counting' | 'ready' | 'running' | 'done';

function BulkDialog({ action, selection, close }: { action: BulkAction; selection: Selection; close: () => void }) {
  const verb = verbs[action];
  const [stage, setStage] = useState<Stage>('ids' in selection ? 'ready' : 'counting');
  const [expected, setExpected] = useState('ids' in selection ? selection.ids.length : 0);
  const [totals, setTotals] = useState<Totals>(nothing);
  const [error, setError] = useState<ApiError>();
  const [reason, setReason] = useState('');
  const [priority, setPriority] = useState('0');
  const abort = useRef(new AbortController());

  useEffect(() => {
    if ('ids' in selection) return undefined;
    const body = { ...bodyOf(action, selection), dry_run: true, ...(action === 'priority' ? { priority: 0 } : {}) };
    walk(body, abort.current.signal, (reply) => setExpected((old) => old + reply.matched))
      .then(() => setStage('ready'), (problem: unknown) => { if (!abort.current.signal.aborted) setError(toApiError(problem)); });
    return () => abort.current.abort();
  }, []);

  const request = (): BulkBody => ({
    ...bodyOf(action, selection), ...(reason ? { reason } : {}), ...(action === 'priority' ? { priority: Number(priority) } : {}),
  });
  const run = async (event: Event): Promise<void> => {
    event.preventDefault();
    abort.current = new AbortController();
    setStage('running');
    setError(undefined);
    try {
      // Small pages, so that the progress moves and stopping takes effect soon.
      await walk('ids' in selection ? request() : { ...request(), limit: 250 }, abort.current.signal, (reply) => setTotals((old) => addReply(old, reply)));
      toast(`${verb.title}: done`);
    } catch (problem) {
      if (!abort.current.signal.aborted) setError(toApiError(problem));
    }
    setStage('done');
  };
  return (
    <Dialog title={`${verb.title} many`} onClose={() => { abort.current.abort(); close(); }}>
      <form onSubmit={(event) => void run(event)}>
        <h2>{stage === 'counting' ? `Counting: ${count(expected)} so far` : `${verb.title}: ${plural(expected, 'execution')}`}</h2>
        <p class="muted">{verb.hint}</p>
        {action === 'priority' ? <label class="field"><span>New priority <span class="hint">−32768 to 32767</span></span><input type="number" name="priority" min={-32768} max={32767} required value={priority} onInput={(event) => setPriority(event.currentTarget.value)} /></label> : null}
        {stage === 'ready' || stage === 'counting' ? <label class="field"><span>Reason <span class="hint">optional; kept in the event log</span></span><input name="reason" maxLength={256} value={reason} onInput={(event) => setReason(event.currentTarget.value)} autoComplete="off" /></label> : null}
        {stage === 'running' || stage === 'done' ? <Progress totals={totals} expected={expected} done={stage === 'done'} verb={verb.done} /> : null}
        {error ? <Problem error={error} /> : null}
        <div class="dialog-actions">
          <span class="grow row">{stage === 'done' ? null : <Copies action={action} selection={selection} body={request()} />}</span>
          {stage === 'running'
            ? <button type="button" class="button" onClick={() => abort.current.abort()}>Stop</button>
            : <button type="button" class="button" onClick={() => { abort.current.abort(); close(); }}>Close</button>}
          {stage === 'done' ? null : <button type="submit" class={`button primary ${verb.danger ? 'danger' : ''}`} disabled={stage !== 'ready' || expected === 0}>{verb.title} {count(expected)}</button>}
        </div>
      </form>
    </Dialog>
  );
}

function Copies({ action, selection, body }: { action: BulkAction; selection: Selection; body: BulkBody }) {
  const origin = window.location.origin;
  const options = [...('ids' in selection ? selection.ids : filterOptions(selection.filter)), ...(action === 'priority' ? ['--to', String(body.priority ?? 0)] : []), '--yes'];
  return (
    <>
      <Copy text={asCli(['executions', action, ...options], origin)} what="command" label="CLI" />
      <Copy text={asCurl({ method: 'POST', path: '/v1/executions/bulk', body }, origin, session.value?.authentication ?? false)} what="curl command" label="curl" />
    </>
  );
}

function Progress({ totals, expected, done, verb }: { totals: Totals; expected: number; done: boolean; verb: string }) {
  const share = done ? 1 : expected === 0 ? 0 : Math.min(1, totals.matched / expected);
  return (
    <div class="stack" aria-live="polite">
      <div class="ex-progress" role="progressbar" aria-label="Progress" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}><i style={{ width: `${share * 100}%` }} /></div>
      <div class="ex-figures">
        <div><b>{count(totals.changed)}</b>{verb}</div><div><b>{count(totals.unchanged)}</b>unchanged</div><div><b>{count(totals.skipped)}</b>skipped</div><div><b>{count(totals.failed)}</b>refused</div>
      </div>
      {totals.failures.length > 0 ? <ul class="muted">{totals.failures.map((failure) => <li key={failure.execution_id}><a href={`/ui/executions/${encodeURIComponent(failure.execution_id)}`} class="mono">{failure.execution_id}</a>: <Text>{failure.message}</Text></li>)}</ul> : null}
    </div>
  );
}
