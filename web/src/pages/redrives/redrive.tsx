// The page of one redrive: what it is for, how far it has come, what it could not replay.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get, session, type ApiError } from '../../api/client';
import type { Redrive } from '../../api/types';
import { asCli, asCurl } from '../../core/commands';
import { groupLink, hasEnded, lettersLink, progressOf, redriveEvents, redrivePath, redrivesPath, redriveTone, refusalWords, selectionWords } from '../../core/dead-letters';
import { count, relative } from '../../core/format';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { now } from '../../live/visibility';
import type { PageProps } from '../../page';
import { copyText, Empty, ExecutionLink, Icon, Panel, Problem, Text, Time, words } from '../../ui/basic';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { showRaw } from '../../ui/raw';
import { RedriveBar } from '../../ui/redrive-bar';
import { RedriveActions } from './actions';

export function RedrivePage({ params }: PageProps) {
  const id = params['id'] ?? '';
  // Replays have no event of the redrive, so a page of one that has not ended looks by itself. Those that it has replayed may
  // fail again later.
  const [ended, setEnded] = useState(false);
  const redrive = useResource(id, (abort) => get<Redrive>(redrivePath(id), undefined, abort), { live: true, every: ended ? 5000 : 1000 });
  useEffect(() => setEnded(redrive.data !== undefined && hasEnded(redrive.data)), [redrive.data]);
  useEvents({ namespace: redrive.data?.namespace, type: redriveEvents }, useSoon(redrive.reload, 100));
  useShortcuts([
    { keys: 'r', text: 'load the redrive again', run: redrive.reload },
    { keys: 'u', text: 'back', run: () => history.back() },
  ]);
  if (redrive.error && (redrive.error.code === 'not_found' || !redrive.data)) return <Missing id={id} error={redrive.error} retry={redrive.reload} />;
  if (!redrive.data) return <div class="page" aria-busy="true" />;
  return <View redrive={redrive.data} problem={redrive.error} reload={redrive.reload} />;
}

const Missing = ({ id, error, retry }: { id: string; error: ApiError; retry: () => void }) => (
  <div class="page">
    <Empty title="This redrive cannot be shown"><p class="mono"><Text>{id}</Text></p><p>Ended redrives are kept for a week. <a href={redrivesPath}>Show all redrives</a>.</p></Empty>
    {error.code === 'not_found' ? null : <Problem error={error} retry={retry} />}
  </div>
);

function View({ redrive, problem, reload }: { redrive: Redrive; problem: ApiError | undefined; reload: () => void }) {
  const origin = window.location.origin;
  const id = redrive.redrive_id;
  return (
    <div class="page">
      <header class="run-head">
        <div class="run-title">
          <h1>Redrive</h1>
          <span class="badge" data-state={redriveTone(redrive)}>{redrive.state}</span>
          <span class="run-id">{id}</span>
          <div class="run-actions">
            <RedriveActions redrive={redrive} done={reload} />
            <Menu label={<Icon name="more" />} name="More">
              <button type="button" onClick={() => showRaw(redrive, id)}>Raw JSON</button>
              <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
              <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: redrivePath(id) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
              <button type="button" onClick={() => void copyText(asCli(['redrives', 'show', id], origin), 'Command')}>Copy as CLI</button>
            </Menu>
          </div>
        </div>
      </header>
      {problem ? <Problem error={problem} retry={reload} /> : null}
      <div class="run-cols">
        <div class="stack">
          <Panel title="Progress"><Figures redrive={redrive} /></Panel>
          {redrive.refused > 0 ? <Panel flush title={`Not replayed (${count(redrive.refused)}${redrive.refused > redrive.refusals.length ? `, the first ${count(redrive.refusals.length)}` : ''})`}><Refusals redrive={redrive} /></Panel> : null}
        </div>
        <Panel title="Facts"><Facts redrive={redrive} /></Panel>
      </div>
    </div>
  );
}

function Figures({ redrive }: { redrive: Redrive }) {
  const progress = progressOf(redrive);
  const figures: [string, number][] = [['replayed', progress.replayed], ['refused', progress.refused], ['left', progress.left], ['failed again', redrive.failed_again]];
  return (
    <div class="stack">
      <RedriveBar redrive={redrive} />
      <div class="ex-figures">{figures.map(([name, value]) => <div key={name}><b>{count(value)}</b>{name}</div>)}</div>
      {redrive.state === 'paused' ? <p>It replays nothing until it is resumed.</p> : null}
      {redrive.state === 'running' && redrive.next_at && redrive.next_at > now.value ? <p class="muted">It goes on <Time at={redrive.next_at} />, {relative(redrive.next_at, now.value)}.</p> : null}
      {progress.passed > 0 ? <p class="muted">{count(progress.passed)} were looked at and are not meant: they were replayed or removed by others, or the selection leaves them out.</p> : null}
    </div>
  );
}

const Refusals = ({ redrive }: { redrive: Redrive }) => (
  <div class="scroll-x" tabIndex={0}>
    <table class="grid" aria-label="Not replayed">
      <thead><tr><th>execution</th><th>reason</th></tr></thead>
      <tbody>{redrive.refusals.map((one) => <tr key={one.execution_id}><td class="nowrap"><ExecutionLink id={one.execution_id} /></td><td>{words(one.reason)} <span class="muted">{refusalWords[one.reason]}</span></td></tr>)}</tbody>
    </table>
  </div>
);

function Selection({ redrive: { selection, namespace } }: { redrive: Redrive }) {
  const groups = selection.fingerprints ?? [];
  const ids = selection.execution_ids ?? [];
  const { fingerprints: _, ...rest } = selection;
  if (groups.length === 0 && ids.length === 0) return <Text>{selectionWords(selection)}</Text>;
  return (
    <div class="stack">
      {Object.keys(rest).length > 0 ? <span><Text>{selectionWords(rest)}</Text></span> : null}
      {groups.length > 0 ? <ul>{groups.map((one) => <li key={one}><a class="mono" href={groupLink(namespace, one)}>{one}</a></li>)}</ul> : null}
    </div>
  );
}

function Facts({ redrive }: { redrive: Redrive }) {
  const fact = (name: string, value: ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;
  return (
    <dl class="run-facts">
      {fact('of', <Selection redrive={redrive} />)}
      {fact('namespace', <a href={lettersLink({ namespace: redrive.namespace })}><Text>{redrive.namespace}</Text></a>)}
      {fact('found', count(redrive.found))}
      {fact('rate', redrive.rate ? <Text>{redrive.rate}</Text> : <span class="muted">as fast as they go</span>)}
      {redrive.reason ? fact('reason', <Text>{redrive.reason}</Text>) : null}
      {fact('made', <><Time at={redrive.created_at} />{redrive.created_by ? <> by <Text>{redrive.created_by}</Text></> : null}</>)}
      {redrive.changed_at !== redrive.created_at ? fact('changed', <><Time at={redrive.changed_at} />{redrive.changed_by ? <> by <Text>{redrive.changed_by}</Text></> : null}</>) : null}
      {redrive.finished_at ? fact('ended', <Time at={redrive.finished_at} />) : null}
    </dl>
  );
}
