// The page of one limit: its keys, who has the slots, what it holds back, when the next may start.
import { useEffect, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { call, session, withQuery, type ApiError } from '../../api/client';
import { allows } from '../../api/contract';
import type { LimitInfo, LimitSaved, LimitUse, LimitUseReply } from '../../api/types';
import { budgetLink, budgetWords } from '../../core/budgets';
import { visibleLine } from '../../core/bytes';
import { asCli, asCurl } from '../../core/commands';
import { filterLink } from '../../core/filters';
import { count } from '../../core/format';
import { allowanceWords, heldWords, keyFilter, keyWords, limitLink, limitPath, limitEvents, scopeWords } from '../../core/limits';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { loadLimit } from '../../live/limit-uses';
import { navigate, place } from '../../live/router';
import type { PageProps } from '../../page';
import { copyText, Empty, Icon, Panel, Problem, Text, Time } from '../../ui/basic';
import { confirm } from '../../ui/dialog';
import { useShortcuts } from '../../ui/keyboard';
import { Holders, LimitBar, NextStart } from '../../ui/limit-bar';
import { Menu } from '../../ui/menu';
import { showRaw } from '../../ui/raw';
import { showCheck } from './check';
import { editLimit } from './form';

const pageSize = 100;

export function Limit({ params }: PageProps) {
  const name = params['id'] ?? '';
  const namespace = new URLSearchParams(place.value.search).get('namespace') ?? undefined;
  const [wanted, setWanted] = useState(pageSize);
  const limit = useResource(`limit ${namespace ?? ''}\n${name}`, (abort) => loadLimit(namespace, name, wanted, abort), { live: true, every: Math.max(2000, 10 * wanted) });
  useEffect(() => { if (wanted > pageSize) limit.reload(); }, [wanted]);
  useEvents({ namespace, type: limitEvents }, useSoon(limit.reload, 100));
  useShortcuts([
    { keys: 'r', text: 'load the limit again', run: limit.reload },
    { keys: 'u', text: 'back', run: () => history.back() },
  ]);
  const gone = limit.error?.code === 'not_found';
  if (limit.error && (gone || !limit.data)) return <Missing name={name} namespace={namespace} error={limit.error} retry={limit.reload} />;
  if (!limit.data) return <div class="page" aria-busy="true" />;
  return <View reply={limit.data} reload={limit.reload} more={() => setWanted(wanted + pageSize)} problem={limit.error} />;
}

const Missing = ({ name, namespace, error, retry }: { name: string; namespace: string | undefined; error: ApiError; retry: () => void }) => (
  <div class="page">
    <Empty title="This limit cannot be shown"><p class="mono"><Text>{namespace === undefined ? name : `${namespace}/${name}`}</Text></p><p>It may have been removed, or its name is wrong. <a href="/ui/limits">Show all limits</a>.</p></Empty>
    {error.code === 'not_found' ? null : <Problem error={error} retry={retry} />}
  </div>
);

function View({ reply, reload, more, problem }: { reply: LimitUseReply; reload: () => void; more: () => void; problem: ApiError | undefined }) {
  const { info } = reply;
  const held = reply.keys.reduce((sum, use) => sum + use.held_back, 0);
  return (
    <div class="page">
      <header class="run-head">
        <div class="run-title">
          <h1><Text>{info.name}</Text></h1>
          <span><b><Text>{allowanceWords(info)}</Text></b> <span class="muted">for <Text>{scopeWords(info)}</Text></span></span>
          <Actions reply={reply} reload={reload} />
        </div>
      </header>
      {problem ? <Problem error={problem} retry={reload} /> : null}
      <div class="run-cols">
        <Panel flush title={info.per.length === 0 ? 'In use' : `Keys (${count(reply.keys.length)}${reply.next_cursor === '' ? '' : ' of more'})`}
          actions={held > 0 ? <b>{heldWords(held, reply.next_cursor !== '')} held back</b> : null}>
          {reply.keys_hidden ? <Empty title="What is in use is not shown"><p>This limit is for all namespaces. A key of one namespace may not see what others use of it.</p></Empty>
            : reply.keys.length === 0 ? <Empty title="Nothing is in use"><p>No execution that it is for runs, has run a short time ago, or waits.</p></Empty>
              : <Keys reply={reply} more={more} />}
        </Panel>
        <Panel title="Facts"><Facts info={info} /></Panel>
      </div>
    </div>
  );
}

/** The waiting executions that this key is for, as far as a filter can say it. Those that it holds back are among them. */
const waitingLink = (info: LimitInfo, use: LimitUse): string => filterLink({ ...keyFilter(info, use.key).filter, state: ['waiting'] });

function Keys({ reply, more }: { reply: LimitUseReply; more: () => void }) {
  const { info, keys } = reply;
  const ordered = [...keys].sort((a, b) => b.held_back - a.held_back || b.in_use - a.in_use || (keyWords(a.key) < keyWords(b.key) ? -1 : 1));
  return (
    <>
      <div class="scroll-x" tabIndex={0}>
        <table class="grid">
          <thead><tr>{info.per.length > 0 ? <th><Text>{info.per.join(', ')}</Text></th> : null}<th>in use</th><th class="right">held back</th><th>next may start</th><th>has the slots</th></tr></thead>
          <tbody>{ordered.map((use) => <KeyRow key={JSON.stringify(use.key)} info={info} use={use} />)}</tbody>
        </table>
      </div>
      {reply.next_cursor === '' ? null : <div class="vtable-foot"><button type="button" class="button small" onClick={more}>Show more keys</button></div>}
    </>
  );
}

const KeyRow = ({ info, use }: { info: LimitInfo; use: LimitUse }) => (
  <tr>
    {info.per.length > 0 ? <td><b><Text>{keyWords(use.key)}</Text></b></td> : null}
    <td class="li-use"><LimitBar limit={info} use={use} /></td>
    <td class="right">{use.held_back > 0 ? <a href={waitingLink(info, use)} title="Waiting executions"><b>{heldWords(use.held_back)}</b></a> : <span class="muted">0</span>}</td>
    <td class="nowrap"><NextStart use={use} /></td>
    <td><Holders use={use} /></td>
  </tr>
);

function Facts({ info }: { info: LimitInfo }) {
  const fact = (name: string, value: ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;
  const any = <span class="muted">all</span>;
  return (
    <dl class="run-facts">
      {fact('namespace', info.namespace === undefined ? any : <Text>{info.namespace}</Text>)}
      {fact('lane', info.lane === undefined ? any : <a href={filterLink({ lane: info.lane })}><Text>{info.lane}</Text></a>)}
      {fact('kind', info.kind === undefined ? any : <a href={filterLink({ kind: info.kind })}><Text>{info.kind}</Text></a>)}
      {fact('apart for each', info.per.length === 0 ? <span class="muted">nothing: all together</span> : <Text>{info.per.join(', ')}</Text>)}
      {fact('at a time', info.concurrency === undefined ? <span class="muted">any number</span> : count(info.concurrency))}
      {fact('rate', info.rate ? allowanceWords({ rate: info.rate }) : <span class="muted">none</span>)}
      {info.rate ? fact('', <span class="muted">{info.rate.burst === undefined ? 'at most so many in any period, wherever it begins' : 'a token bucket: it refills all the time'}</span>) : null}
      {info.budget ? fact('budget', <a href={budgetLink(info.namespace, info.name)}><Text>{budgetWords(info.budget)}</Text></a>) : null}
      {fact('created', <><Time at={info.created_at} />{info.created_by ? <> by <Text>{info.created_by}</Text></> : null}</>)}
      {fact('changed', <><Time at={info.changed_at} />{info.changed_by ? <> by <Text>{info.changed_by}</Text></> : null}</>)}
      {fact('revision', info.revision)}
    </dl>
  );
}

function remove(info: LimitInfo): void {
  confirm({
    title: `Remove limit ${visibleLine(info.name)}`, text: 'What it holds back may start, as far as other limits allow. What runs goes on.', action: 'Remove limit', danger: true, reason: true,
    command: (values) => asCli(['limits', 'remove', info.name, ...(info.namespace ? ['--namespace', info.namespace] : []), ...(values['reason'] ? ['--reason', values['reason']] : [])], window.location.origin),
    run: async (values) => {
      await call<LimitSaved>('DELETE', withQuery(limitPath(info.name), { namespace: info.namespace, reason: values['reason'] }));
      navigate('/ui/limits');
      return `Limit ${visibleLine(info.name)} removed`;
    },
  });
}

function Actions({ reply, reload }: { reply: LimitUseReply; reload: () => void }) {
  const { info } = reply;
  const origin = window.location.origin;
  // A key of one namespace may not change the limits for all.
  const operator = allows(session.value, 'operator') && (session.value?.namespace === undefined || session.value.namespace === info.namespace);
  const known = { namespace: info.namespace ?? session.value?.namespace ?? '', lane: info.lane ?? '', kind: info.kind ?? '' };
  return (
    <div class="run-actions">
      {operator ? <button type="button" class="button primary" onClick={() => editLimit(info, reload)}>Change …</button> : null}
      <button type="button" class="button" onClick={() => showCheck(known)}>Check …</button>
      {operator ? <button type="button" class="button danger" onClick={() => remove(info)}>Remove …</button> : null}
      <Menu label={<Icon name="more" />} name="More">
        <button type="button" onClick={() => showRaw(reply, info.name)}>Raw JSON</button>
        <button type="button" onClick={() => void copyText(`${origin}${limitLink(info.namespace, info.name)}`, 'Link')}>Copy link</button>
        <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: withQuery(limitPath(info.name), { namespace: info.namespace }) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
        <button type="button" onClick={() => void copyText(asCli(['limits', 'show', info.name, ...(info.namespace ? ['--namespace', info.namespace] : [])], origin), 'Command')}>Copy as CLI</button>
      </Menu>
    </div>
  );
}
