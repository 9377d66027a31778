// The page of one group of dead letters: what went wrong, how often, where, and to which executions.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get, session, withQuery, type ApiError } from '../../api/client';
import { allows } from '../../api/contract';
import type { DeadLetter, DeadLetterDetails, DeadLetterGroup } from '../../api/types';
import { visible } from '../../core/bytes';
import { asCli, asCurl } from '../../core/commands';
import { deadLetterEvents, executionsTarget, groupPath, groupsTarget, lettersLink, messageWords, mostExecutions, olderGroup, redriveLink } from '../../core/dead-letters';
import { filterLink } from '../../core/filters';
import { flowLink } from '../../core/flows';
import { count, plural } from '../../core/format';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { place } from '../../live/router';
import type { PageProps } from '../../page';
import { copyText, Empty, ExecutionLink, Icon, Panel, Problem, Text, Time } from '../../ui/basic';
import { useShortcuts } from '../../ui/keyboard';
import { Menu } from '../../ui/menu';
import { showRaw } from '../../ui/raw';
import { askRedrive } from './redrive-form';

const pageSize = 100;

/** The first `wanted` executions. */
async function load(namespace: string, fingerprint: string, wanted: number, abort: AbortSignal): Promise<DeadLetterDetails> {
  const executions = new Map<string, DeadLetter>();
  let page: DeadLetterDetails;
  let cursor = '';
  do {
    page = await get<DeadLetterDetails>(groupPath(fingerprint), { namespace, limit: pageSize, cursor }, abort);
    for (const one of page.executions) executions.set(one.summary.execution_id, one);
    cursor = page.next_cursor;
  } while (cursor !== '' && executions.size < wanted);
  return { group: page.group, executions: [...executions.values()], next_cursor: cursor };
}

export function Group({ params }: PageProps) {
  const fingerprint = params['id'] ?? '';
  const namespace = new URLSearchParams(place.value.search).get('namespace') ?? session.value?.namespace ?? 'default';
  const [wanted, setWanted] = useState(pageSize);
  const group = useResource(`group ${namespace}\n${fingerprint}`, (abort) => load(namespace, fingerprint, wanted, abort), { live: true, every: Math.max(5000, 10 * wanted) });
  useEffect(() => { if (wanted > pageSize) group.reload(); }, [wanted]);
  useEvents({ namespace, type: deadLetterEvents }, useSoon(group.reload, Math.max(300, wanted)));
  useShortcuts([
    { keys: 'r', text: 'load the group again', run: group.reload },
    { keys: 'u', text: 'back', run: () => history.back() },
  ]);
  const gone = group.error?.code === 'not_found';
  if (group.error && (gone || !group.data)) return <Missing fingerprint={fingerprint} namespace={namespace} error={group.error} retry={group.reload} />;
  if (!group.data) return <div class="page" aria-busy="true" />;
  return <View details={group.data} problem={group.error} reload={group.reload} more={() => setWanted(wanted + pageSize)} />;
}

const Missing = ({ fingerprint, namespace, error, retry }: { fingerprint: string; namespace: string; error: ApiError; retry: () => void }) => (
  <div class="page">
    <Empty title="There are no such dead letters"><p class="mono"><Text>{`${namespace}/${fingerprint}`}</Text></p><p>A group ends when its last execution is replayed, or removed by retention. <a href="/ui/dead-letters">Show all dead letters</a>.</p></Empty>
    {error.code === 'not_found' ? null : <Problem error={error} retry={retry} />}
  </div>
);

function View({ details, problem, reload, more }: { details: DeadLetterDetails; problem: ApiError | undefined; reload: () => void; more: () => void }) {
  const { group, executions } = details;
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const operator = allows(session.value, 'operator');
  const chosen = executions.map((one) => one.summary.execution_id).filter((id) => marked.has(id));
  const mark = (id: string): void => setMarked((old) => {
    const next = new Set(old);
    if (!next.delete(id)) next.add(id);
    return next;
  });
  return (
    <div class="page">
      <header class="run-head">
        <div class="run-title">
          <h1>{group.kind ? <Text>{group.kind}</Text> : 'Older failures'}</h1>
          <span class="badge" data-state="failed">{count(group.count)} failed</span>
          <span class="run-id">{group.fingerprint}</span>
          <div class="run-actions">
            {operator ? <button type="button" class="button primary" onClick={() => askRedrive(groupsTarget([group]))}>Redrive all {count(group.count)} …</button> : null}
            <Copies details={details} />
          </div>
        </div>
      </header>
      {problem ? <Problem error={problem} retry={reload} /> : null}
      <section class="panel run-failure" aria-label="What went wrong">
        <div class="panel-body stack">
          <div class="row wrap"><b>What went wrong</b>{group.category ? <span class="tag"><span><Text>{group.category}</Text></span></span> : null}</div>
          <div class="message">{visible(messageWords(group))}</div>
          {group.example && group.example !== group.message ? <div class="muted">The last: {visible(group.example)}</div> : null}
          {group.fingerprint === olderGroup ? <p class="muted">Nobody has computed what these have in common. They get a fingerprint when they are replayed and fail again.</p> : null}
        </div>
      </section>
      <div class="run-cols">
        <Panel flush title={`Executions (${count(executions.length)}${details.next_cursor === '' ? '' : ` of ${count(group.count)}`})`}
          actions={operator && chosen.length > 0 ? <button type="button" class="button small" disabled={chosen.length > mostExecutions} onClick={() => askRedrive(executionsTarget(group.namespace, chosen))}>Redrive {plural(chosen.length, 'selected one', 'selected ones')} …</button> : null}>
          <Letters letters={executions} marked={operator ? marked : undefined} mark={mark} more={details.next_cursor === '' ? undefined : more} />
        </Panel>
        <Panel title="Facts"><Facts group={group} /></Panel>
      </div>
    </div>
  );
}

interface LettersProps { letters: DeadLetter[]; marked: ReadonlySet<string> | undefined; mark: (id: string) => void; more: (() => void) | undefined }

const Letters = ({ letters, marked, mark, more }: LettersProps) => (
  <>
    <div class="scroll-x" tabIndex={0}>
      <table class="grid" aria-label="Executions">
        <thead><tr>{marked ? <th><span class="hidden-text">selected</span></th> : null}<th>execution</th><th>failed</th><th>lane</th><th class="right">attempts</th><th>replays</th><th>message</th></tr></thead>
        <tbody>{letters.map((one) => <LetterRow key={one.summary.execution_id} letter={one} marked={marked} mark={mark} />)}</tbody>
      </table>
    </div>
    {more ? <div class="vtable-foot"><button type="button" class="button small" onClick={more}>Show more executions</button></div> : null}
  </>
);

function LetterRow({ letter, marked, mark }: { letter: DeadLetter } & Pick<LettersProps, 'marked' | 'mark'>) {
  const { summary } = letter;
  const id = summary.execution_id;
  return (
    <tr>
      {marked ? <td><input type="checkbox" aria-label={`Select ${id}`} checked={marked.has(id)} onChange={() => mark(id)} /></td> : null}
      <td class="nowrap"><ExecutionLink id={id} /></td>
      <td class="nowrap"><Time at={letter.failed_at} /></td>
      <td><Text>{summary.lane}</Text></td>
      <td class="right">{summary.attempt_count}</td>
      <td class="nowrap">
        {letter.replay_count} of {letter.max_replays}
        {summary.flow_id ? <> <a class="tag" href={flowLink(summary.flow_id, summary.node)} title="It is replayed with its flow">node of a flow</a></> : null}
        {letter.redrive_id ? <> <a class="tag" href={redriveLink(letter.redrive_id)} title="It was redriven before">redrive</a></> : null}
      </td>
      <td>{letter.failure.message ? visible(letter.failure.message) : <span class="muted">–</span>}</td>
    </tr>
  );
}

function Facts({ group }: { group: DeadLetterGroup }) {
  const fact = (name: string, value: ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;
  return (
    <dl class="run-facts">
      {fact('namespace', <a href={lettersLink({ namespace: group.namespace })}><Text>{group.namespace}</Text></a>)}
      {group.kind ? fact('kind', <a href={filterLink({ state: ['failed'], kind: group.kind, namespace: group.namespace })}><Text>{group.kind}</Text></a>) : null}
      {group.category ? fact('category', <a href={lettersLink({ category: group.category })}><Text>{group.category}</Text></a>) : null}
      {group.lanes.map((one, index) => fact(index === 0 ? 'lanes' : '', <><a href={lettersLink({ lane: one.lane })}><Text>{one.lane}</Text></a> <span class="muted">{count(one.count)}</span></>))}
      {fact('first', <Time at={group.first_at} />)}
      {fact('last', <Time at={group.last_at} />)}
      {fact('fingerprint', <span class="mono">{group.fingerprint}</span>)}
    </dl>
  );
}

function Copies({ details }: { details: DeadLetterDetails }) {
  const origin = window.location.origin;
  const { namespace, fingerprint } = details.group;
  return (
    <Menu label={<Icon name="more" />} name="More">
      <button type="button" onClick={() => showRaw(details, fingerprint)}>Raw JSON</button>
      <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
      <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery(groupPath(fingerprint), { namespace }) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
      <button type="button" onClick={() => void copyText(asCli(['dead-letters', 'show', fingerprint, ...(namespace === 'default' ? [] : ['--namespace', namespace])], origin), 'Command')}>Copy as CLI</button>
    </Menu>
  );
}
