import { ApiError, call, get, session } from '../../api/client';
import { allows } from '../../api/contract';
import type { Namespace, NamespacesReply, RetentionPolicy, RetentionReply } from '../../api/types';
import { asCli } from '../../core/commands';
import { compactDuration, parseDuration, plural } from '../../core/format';
import { visibleLine } from '../../core/bytes';
import { useEvents, useResource } from '../../live/hooks';
import { Empty, Panel, Problem, Text } from '../../ui/basic';
import { confirm, withReason } from '../../ui/dialog';
import { SettingsFrame } from './frame';

const outcomes = ['completed', 'failed', 'cancelled', 'expired', 'skipped'] as const;
type Field = keyof RetentionPolicy;
const fieldOf = (outcome: (typeof outcomes)[number]): Field => `${outcome}_ms`;

function duration(name: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new ApiError(0, 'invalid_argument', `${name}: write a duration like 30m, 12h or 7d, or nothing for the default.`, undefined, name);
  return ms;
}

function edit(namespace: Namespace | undefined, done: () => void): void {
  const initial: Record<string, string> = { namespace: namespace?.namespace ?? session.value?.namespace ?? '' };
  for (const outcome of outcomes) {
    const ms = namespace?.retention[fieldOf(outcome)];
    if (ms !== undefined) initial[outcome] = compactDuration(ms);
  }
  confirm({
    title: namespace ? `Retention of ${visibleLine(namespace.namespace)}` : 'Settings for a namespace', action: 'Save', reason: true, initial,
    text: <span class="muted">How long ended executions are kept whose policy does not say it. Empty: the default of the server.</span>,
    fields: (values, set) => (
      <>
        {namespace ? null : <label class="field"><span>Namespace</span><input name="namespace" required value={values['namespace'] ?? ''} onInput={(event) => set('namespace', event.currentTarget.value)} /></label>}
        <div class="set-grid">{outcomes.map((outcome) => <label class="field" key={outcome}><span>{outcome}</span><input name={outcome} placeholder="default" value={values[outcome] ?? ''} onInput={(event) => set(outcome, event.currentTarget.value)} /></label>)}</div>
      </>
    ),
    command: (values) => asCli(['namespaces', 'set', values['namespace'] ?? '', ...outcomes.flatMap((outcome) => [`--${outcome}`, values[outcome] || 'default'])], window.location.origin),
    run: async (values) => {
      const retention: RetentionPolicy = {};
      for (const outcome of outcomes) if (values[outcome]) retention[fieldOf(outcome)] = duration(outcome, values[outcome]);
      await call<Namespace>('PUT', `/v1/namespaces/${encodeURIComponent(values['namespace'] ?? '')}`, withReason(values, { retention }));
      done();
      return 'Retention saved';
    },
  });
}

function purge(): void {
  const bodyOf = (values: Record<string, string>): Record<string, unknown> => withReason(values, {
    ...(values['older'] ? { older_than_ms: duration('older than', values['older']) } : {}),
    ...(values['lane'] ? { lane: values['lane'] } : {}), ...(values['namespace'] ? { namespace: values['namespace'] } : {}),
  });
  confirm({
    title: 'Remove ended executions', action: 'Count', danger: true, reason: true, initial: session.value?.namespace ? { namespace: session.value.namespace } : {},
    text: <span class="muted">Removes them with their history, for good. It counts first and asks again. Without an age, only those whose retention is over.</span>,
    fields: (values, set) => (
      <div class="set-grid">
        {[['older', 'Ended longer ago than', '7d'], ['lane', 'Lane', 'all'], ['namespace', 'Namespace', 'all']].map(([name = '', title, hint]) => (
          <label class="field" key={name}><span>{title}</span><input name={name} placeholder={hint} value={values[name] ?? ''} disabled={name === 'namespace' && session.value?.namespace !== undefined} onInput={(event) => set(name, event.currentTarget.value)} /></label>
        ))}
      </div>
    ),
    run: async (values) => {
      const body = bodyOf(values);
      const { matched } = await call<RetentionReply>('POST', '/v1/retention/run', { ...body, dry_run: true });
      setTimeout(() => confirm({
        title: `Remove ${plural(matched, 'execution')}`, text: matched === 0 ? 'Nothing matches.' : 'They cannot be brought back.', action: 'Remove', danger: true,
        run: async () => `${plural((await call<RetentionReply>('POST', '/v1/retention/run', body)).removed, 'execution')} removed`,
      }));
    },
  });
}

export function Namespaces() {
  const all = useResource('namespaces', (abort) => get<NamespacesReply>('/v1/namespaces', undefined, abort), { live: true });
  useEvents({ type: 'namespace_changed' }, all.reload);
  const operator = allows(session.value, 'operator');
  const list = all.data?.namespaces ?? [];
  const actions = operator ? <><button type="button" class="button danger" onClick={purge}>Remove ended executions …</button><button type="button" class="button" onClick={() => edit(undefined, all.reload)}>Add settings …</button></> : null;
  return (
    <SettingsFrame role="viewer" actions={actions}>
      {all.error ? <Problem error={all.error} retry={all.reload} /> : null}
      {all.data ? (
        <Panel title="How long ended executions are kept" flush>
          {list.length === 0 ? <Empty title="No namespace has settings"><p>Ended executions are kept for the default of the server, unless their policy says otherwise.</p></Empty> : (
            <div class="scroll-x" tabIndex={0}><table class="grid">
              <thead><tr><th>namespace</th>{outcomes.map((outcome) => <th key={outcome}>{outcome}</th>)}{operator ? <th><span class="hidden-text">actions</span></th> : null}</tr></thead>
              <tbody>{list.map((entry) => (
                <tr key={entry.namespace}>
                  <td><b><Text>{entry.namespace}</Text></b></td>
                  {outcomes.map((outcome) => { const ms = entry.retention[fieldOf(outcome)]; return <td key={outcome}>{ms === undefined ? <span class="muted">default</span> : compactDuration(ms)}</td>; })}
                  {operator ? <td class="right"><button type="button" class="button small" onClick={() => edit(entry, all.reload)}>Edit …</button></td> : null}
                </tr>
              ))}</tbody>
            </table></div>
          )}
        </Panel>
      ) : null}
    </SettingsFrame>
  );
}
