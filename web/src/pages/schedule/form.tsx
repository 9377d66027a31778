// The form that makes or changes a schedule, with the next times of what it holds. What the server refuses is said at its field.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { call, session, type ApiError } from '../../api/client';
import type { NextRuns, ScheduleDescription, ScheduleSaved } from '../../api/types';
import { visibleLine } from '../../core/bytes';
import { asCurl } from '../../core/commands';
import { relative } from '../../core/format';
import type { FormValues } from '../../core/form';
import { emptyForm, formOf, specOf, timesOf } from '../../core/schedule-form';
import { overlapWords, scheduleLink, schedulePath, timesWords } from '../../core/schedules';
import { useResource, type Resource } from '../../live/hooks';
import { navigate } from '../../live/router';
import { now } from '../../live/visibility';
import { Copy, Problem, Text, Time } from '../../ui/basic';
import { Dialog, show } from '../../ui/dialog';
import { Area, formError, Input, Select, type FormState } from '../../ui/form';
import { toast } from '../../ui/toast';

/** A schedule, and its payload as JSON text if it is JSON. */
export interface LoadedSchedule { about: ScheduleDescription; payload: string | undefined }

/** Without `loaded` a new one is made. */
export function editSchedule(loaded: LoadedSchedule | undefined, namespace: string | undefined, done: () => void): void {
  show((close) => <ScheduleForm loaded={loaded} namespace={namespace} done={done} close={close} />);
}

const previewCount = 5;
const quietMs = 400;

/** The next times of what the form holds, asked for when nothing has been typed for a moment. */
function usePreview(values: FormValues, loaded: LoadedSchedule | undefined): Resource<NextRuns> & { local: ApiError | undefined } {
  const { body, local } = useMemo(() => {
    try {
      const times = timesOf(values, loaded?.about.spec);
      return { body: times.cron === '' ? undefined : JSON.stringify({ ...times, count: previewCount }), local: undefined };
    } catch (problem) {
      return { body: undefined, local: formError(problem) };
    }
  }, [values]);
  const [settled, setSettled] = useState(body);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(body), quietMs);
    return () => clearTimeout(timer);
  }, [body]);
  const preview = useResource(settled === undefined ? undefined : `preview ${settled}`, (abort) => call<NextRuns>('POST', '/v1/schedules/preview', JSON.parse(settled ?? '{}'), abort));
  return { ...preview, data: body === settled ? preview.data : undefined, error: body === settled ? preview.error : undefined, local };
}

function ScheduleForm({ loaded, namespace, done, close }: { loaded: LoadedSchedule | undefined; namespace: string | undefined; done: () => void; close: () => void }) {
  const [values, setValues] = useState<FormValues>(() => (loaded ? formOf(loaded.about.spec, loaded.payload)
    : { ...emptyForm, name: '', namespace: namespace ?? session.value?.namespace ?? 'default', time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC' }));
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const preview = usePreview(values, loaded);
  const summary = loaded?.about.summary;
  const set = (name: string, value: string): void => {
    setError(undefined);
    setValues((old) => ({ ...old, [name]: value }));
  };
  const request = (): { method: 'POST' | 'PUT'; path: string; body: Record<string, unknown> } => {
    const spec = specOf(values, loaded?.about.spec, loaded?.payload);
    if (loaded && summary) return { method: 'PUT', path: schedulePath(summary.name), body: { namespace: summary.namespace, revision: loaded.about.revision, ...spec } };
    return { method: 'POST', path: '/v1/schedules', body: { namespace: values['namespace'], name: (values['name'] ?? '').trim(), ...(values['paused'] === 'yes' ? { paused: true } : {}), ...spec } };
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const { method, path, body } = request();
      const saved = await call<ScheduleSaved>(method, path, body);
      close();
      toast(saved.duplicate ? 'Nothing was changed: it is like this already' : `Schedule ${visibleLine(saved.name)} ${loaded ? 'changed' : 'created'}`);
      done();
      if (!loaded) navigate(scheduleLink(saved.namespace, saved.name));
    } catch (problem) {
      setError(formError(problem));
      setBusy(false);
    }
  };
  const command = (): string => {
    try {
      return asCurl(request(), window.location.origin, session.value?.authentication ?? false);
    } catch {
      return '';
    }
  };
  const form: FormState = { values, set, error: error ?? preview.local ?? preview.error };
  const title = summary ? `Edit schedule ${visibleLine(summary.name)}` : 'Create a schedule';
  return (
    <Dialog title={title} wide onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        {loaded ? <p class="muted">Changes take effect from now on. What has fired and what runs stay.</p> : <Identity form={form} />}
        <div class="sc-form">
          <Times form={form} />
          <Preview values={values} preview={preview} />
        </div>
        <Executions form={form} other={loaded !== undefined && loaded.payload === undefined && loaded.about.spec.execution?.payload_base64 !== undefined} />
        <Behaviour form={form} fresh={!loaded} />
        {error ? <Problem error={error} /> : null}
        <div class="dialog-actions">
          <span class="grow"><Copy text={command()} what="curl command" label="Copy as curl" /></span>
          <button type="button" class="button" onClick={close}>Close</button>
          <button type="submit" class="button primary" disabled={busy}>{loaded ? 'Save' : 'Create schedule'}</button>
        </div>
      </form>
    </Dialog>
  );
}

const Identity = ({ form }: { form: FormState }) => (
  <div class="form-two">
    <Input form={form} name="name" label="Name" hint="unique in the namespace" required max={128} />
    <Input form={form} name="namespace" label="Namespace" required max={128} disabled={session.value?.namespace !== undefined} />
  </div>
);

const zones = (): string[] => (Intl as unknown as { supportedValuesOf?: (key: string) => string[] }).supportedValuesOf?.('timeZone') ?? [];

function Times({ form }: { form: FormState }) {
  const known = useMemo(zones, []);
  const cron = form.values['timing'] === 'cron';
  return (
    <fieldset class="form-group">
      <legend>When it fires</legend>
      <div class="row wrap" role="radiogroup" aria-label="Kind of times">
        <label class="row"><input type="radio" name="timing" checked={cron} onChange={() => form.set('timing', 'cron')} />by a cron expression</label>
        <label class="row"><input type="radio" name="timing" checked={!cron} onChange={() => form.set('timing', 'every')} />at an interval</label>
      </div>
      {cron
        ? <Input form={form} name="cron" label="Expression" hint="minute hour day month weekday; six fields begin with the second" placeholder="30 2 * * MON-FRI" required max={256} />
        : <div class="form-two"><Input form={form} name="every" label="Every" hint="30s, 15m, 2h, 1d" server={['every_ms']} required /><Input form={form} name="anchor_at" label="Counted from" hint="empty: 1970" type="datetime-local" /></div>}
      <Input form={form} name="time_zone" label="Time zone" hint={cron ? undefined : 'of the days without firings'} list="zones" max={64} />
      <datalist id="zones">{known.map((zone) => <option value={zone} key={zone} />)}</datalist>
      <Area form={form} name="exceptions" label="Not on" hint="one per line: 2026-12-24, 2026-12-24/2027-01-01, or 12-25 of every year" rows={2} />
      <div class="form-two">
        <Input form={form} name="start_at" label="Not before" hint="your local time" type="datetime-local" />
        <Input form={form} name="end_at" label="Until" hint="your local time" type="datetime-local" />
      </div>
    </fieldset>
  );
}

function Preview({ values, preview }: { values: FormValues; preview: Resource<NextRuns> & { local: ApiError | undefined } }) {
  const next = preview.data?.next;
  const cron = values['timing'] === 'cron';
  return (
    <section class="sc-preview" aria-label="Preview">
      <h3>Next times</h3>
      {cron && values['cron']?.trim() && !preview.error ? <p><Text>{timesWords({ cron: values['cron'] })}</Text></p> : null}
      {next === undefined ? <p class="muted">{preview.error && preview.error.field === undefined ? <Text>{preview.error.message}</Text> : preview.error || preview.local || (cron && !values['cron']?.trim()) ? 'They appear here once the times are valid.' : 'Computing …'}</p>
        : next.length === 0 ? <p class="muted">There is no such time.</p>
          : <ol class="sc-next">{next.map((at) => <li key={at}><Time at={at} /><span class="muted">{relative(at, now.value)}</span></li>)}</ol>}
    </section>
  );
}

const Executions = ({ form, other }: { form: FormState; other: boolean }) => (
  <fieldset class="form-group">
    <legend>What it creates</legend>
    <div class="form-three">
      <Input form={form} name="kind" label="Kind" server={['execution.kind']} required max={128} />
      <Input form={form} name="lane" label="Lane" server={['execution.lane']} max={64} />
      <Input form={form} name="priority" label="Priority" server={['execution.priority']} type="number" min={-32768} max={32767} />
    </div>
    <div class="form-two">
      <Area form={form} name="payload" label="Payload" hint={other ? 'empty: the payload, which is not JSON, stays' : 'JSON'} server={['execution.payload', 'execution.payload_base64']} rows={3} mono />
      <Area form={form} name="tags" label="Tags" hint="one per line, as team.name=value" server={['execution.tags']} rows={3} mono />
    </div>
  </fieldset>
);

const overlaps = [['skip', 'skip'], ['buffer_one', 'buffer one'], ['allow', 'allow'], ['cancel_running', 'cancel running']] as const;
const catchUps = [['none', 'none'], ['last', 'the last'], ['all', 'all, up to a number']] as const;

const Behaviour = ({ form, fresh }: { form: FormState; fresh: boolean }) => (
  <fieldset class="form-group">
    <legend>Overlap and missed firings</legend>
    <div class="form-three">
      <Select form={form} name="overlap" label="Overlap" options={overlaps} />
      <Select form={form} name="catch_up" label="Missed firings made up for" options={catchUps} />
      {form.values['catch_up'] === 'all' ? <Input form={form} name="catch_up_limit" label="The last" hint="1 to 1000" type="number" min={1} max={1000} /> : <span />}
      <Input form={form} name="start_window" label="Missed when later than" server={['start_window_ms']} />
      <Input form={form} name="jitter" label="Jitter" hint="at most so late" server={['jitter_ms']} />
    </div>
    <p class="muted">{overlapWords[(form.values['overlap'] ?? 'skip') as keyof typeof overlapWords]}</p>
    {fresh ? <label class="fl-check"><input type="checkbox" name="paused" checked={form.values['paused'] === 'yes'} onChange={(event) => form.set('paused', event.currentTarget.checked ? 'yes' : '')} /><span>Paused <span class="muted">it fires nothing until it is resumed</span></span></label> : null}
  </fieldset>
);
