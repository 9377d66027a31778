// The page of one budget: its accounts, what each has spent, reserved and left, its usage over time, and what runs and waits.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import './budget.css';
import { get, type ApiError } from '../../api/client';
import type { DimensionUse, ExecutionPage, LimitInfo, LimitUse, LimitUseReply } from '../../api/types';
import { accountOf, accountState, breachWords, budgetEvents, budgetLink, budgetWords, forecastWords, orderedAccounts, periodWords } from '../../core/budgets';
import { filterLink, filterQuery, noFilter, type Filter } from '../../core/filters';
import { flowLink } from '../../core/flows';
import { count, exact, relative } from '../../core/format';
import { allowanceWords, heldWords, keyFilter, keyWords, limitLink, scopeWords } from '../../core/limits';
import { useEvents, useResource, useSoon } from '../../live/hooks';
import { loadLimit } from '../../live/limit-uses';
import { place } from '../../live/router';
import { now } from '../../live/visibility';
import type { PageProps } from '../../page';
import { Empty, ExecutionLink, Panel, Problem, Text, Time, words } from '../../ui/basic';
import { BudgetBadge, BudgetBar } from '../../ui/budget-bar';
import { useShortcuts } from '../../ui/keyboard';
import { AccountActions, BudgetActions, FirstAdjustment } from './actions';
import { Usage } from './usage';

const pageSize = 100;

export function Budget({ params }: PageProps) {
  const name = params['id'] ?? '';
  const namespace = new URLSearchParams(place.value.search).get('namespace') ?? undefined;
  const [wanted, setWanted] = useState(pageSize);
  const budget = useResource(`budget ${namespace ?? ''}\n${name}`, (abort) => loadLimit(namespace, name, wanted, abort), { live: true, every: Math.max(2000, 10 * wanted) });
  useEffect(() => { if (wanted > pageSize) budget.reload(); }, [wanted]);
  useEvents({ namespace, type: budgetEvents }, useSoon(budget.reload, 100));
  useShortcuts([
    { keys: 'r', text: 'load the budget again', run: budget.reload },
    { keys: 'u', text: 'back', run: () => history.back() },
  ]);
  const gone = budget.error?.code === 'not_found' || (budget.data !== undefined && !budget.data.info.budget);
  if (gone || (budget.error && !budget.data)) return <Missing name={name} namespace={namespace} error={gone ? undefined : budget.error} retry={budget.reload} />;
  if (!budget.data) return <div class="page" aria-busy="true" />;
  return <View reply={budget.data} reload={budget.reload} more={() => setWanted(wanted + pageSize)} problem={budget.error} />;
}

const Missing = ({ name, namespace, error, retry }: { name: string; namespace: string | undefined; error: ApiError | undefined; retry: () => void }) => (
  <div class="page">
    <Empty title="This budget cannot be shown"><p class="mono"><Text>{namespace === undefined ? name : `${namespace}/${name}`}</Text></p><p>It may have been removed, or its name is wrong. <a href="/ui/budgets">Show all budgets</a>.</p></Empty>
    {error ? <Problem error={error} retry={retry} /> : null}
  </div>
);

const sameKey = (a: readonly string[], b: readonly string[]): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The account that the address names; else the one that was first in the order when the page was opened, so that it does not change while it is read. */
function useChosen(ordered: readonly LimitUse[]): LimitUse | undefined {
  const first = useRef<readonly string[]>();
  const named = accountOf(place.value.search);
  if (named) return ordered.find((use) => sameKey(use.key, named));
  first.current ??= ordered[0]?.key;
  return ordered.find((use) => first.current && sameKey(use.key, first.current)) ?? ordered[0];
}

function View({ reply, reload, more, problem }: { reply: LimitUseReply; reload: () => void; more: () => void; problem: ApiError | undefined }) {
  const { info } = reply;
  const ordered = orderedAccounts(reply.keys);
  const chosen = useChosen(ordered);
  const apart = info.per.length > 0;
  const held = reply.keys.reduce((sum, use) => sum + use.held_back, 0);
  return (
    <div class="page">
      <header class="run-head">
        <div class="run-title">
          <h1><Text>{info.name}</Text></h1>
          <span>{info.budget ? <b><Text>{budgetWords(info.budget)}</Text></b> : null} <span class="muted">for <Text>{scopeWords(info)}</Text></span></span>
          <BudgetActions reply={reply} reload={reload} />
        </div>
      </header>
      {problem ? <Problem error={problem} retry={reload} /> : null}
      <div class="run-cols">
        <div class="stack">
          {apart || ordered.length === 0 ? (
            <Panel flush title={apart ? `Accounts (${count(ordered.length)}${reply.next_cursor === '' ? '' : ' of more'})` : 'Spent'} actions={<>{held > 0 ? <b>{heldWords(held, reply.next_cursor !== '')} waiting</b> : null}{ordered.length === 0 && !reply.keys_hidden ? <FirstAdjustment info={info} done={reload} /> : null}</>}>
              {reply.keys_hidden ? <Empty title="What is spent is not shown"><p>This budget is for all namespaces. A key of one namespace may not see what others spend of it.</p></Empty>
                : ordered.length === 0 ? <Empty title="Nothing is spent"><p>No execution that it is for has started in this period, or waits.</p></Empty>
                  : <Accounts info={info} accounts={ordered} chosen={chosen} more={reply.next_cursor === '' ? undefined : more} />}
            </Panel>
          ) : null}
          {chosen ? <Account info={info} use={chosen} reload={reload} /> : null}
          {accountOf(place.value.search) && !chosen && !reply.keys_hidden ? <Empty title="This account is not in use"><p><a href={budgetLink(info.namespace, info.name)}>Show the others</a>.</p></Empty> : null}
        </div>
        <Panel title="Facts"><Facts info={info} use={chosen} /></Panel>
      </div>
    </div>
  );
}

function Accounts({ info, accounts, chosen, more }: { info: LimitInfo; accounts: LimitUse[]; chosen: LimitUse | undefined; more: (() => void) | undefined }) {
  return (
    <>
      <div class="scroll-x" tabIndex={0}>
        <table class="grid" aria-label="Accounts">
          <thead><tr><th><Text>{info.per.join(', ')}</Text></th><th>state</th><th class="right">waiting</th><th>spent</th></tr></thead>
          <tbody>{accounts.map((use) => (
            <tr key={JSON.stringify(use.key)} class={use === chosen ? 'at' : ''}>
              <td><a href={budgetLink(info.namespace, info.name, use.key)} aria-current={use === chosen ? 'true' : undefined}><b><Text>{keyWords(use.key)}</Text></b></a></td>
              <td>{use.budget ? <BudgetBadge state={accountState(use.budget)} /> : null}</td>
              <td class="right"><Waiting info={info} use={use} /></td>
              <td class="bu-bars">{use.budget?.dimensions.map((one) => <BudgetBar key={one.name} use={one} named />)}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      {more ? <div class="vtable-foot"><button type="button" class="button small" onClick={more}>Show more accounts</button></div> : null}
    </>
  );
}

const executionsOf = (info: LimitInfo, use: LimitUse, state: Filter['state']): Partial<Filter> => ({ ...keyFilter(info, use.key).filter, state });

const Waiting = ({ info, use }: { info: LimitInfo; use: LimitUse }) =>
  (use.held_back > 0 ? <a href={filterLink(executionsOf(info, use, ['waiting']))} title="Waiting executions"><b>{heldWords(use.held_back)}</b></a> : <span class="muted">0</span>);

function Account({ info, use, reload }: { info: LimitInfo; use: LimitUse; reload: () => void }) {
  const { budget } = use;
  if (!budget) return null;
  const state = accountState(budget);
  return (
    <>
      <Panel flush title={use.key.length === 0 ? 'Spent' : <Text>{`Account ${keyWords(use.key)}`}</Text>} actions={<AccountActions info={info} use={use} done={reload} />}>
        <div class="panel-body row wrap">
          <BudgetBadge state={state} />
          {budget.paused ? <span>No execution starts until it is resumed, or the budget is changed.</span> : null}
          {use.held_back > 0 ? <span><Waiting info={info} use={use} /> waiting</span> : null}
          <span class="muted">{budget.breaches > 0 ? `${count(budget.breaches)} reports over a hard limit` : 'no report was over a hard limit'}</span>
        </div>
        <Dimensions uses={budget.dimensions} />
      </Panel>
      <Panel title="Usage over time"><Usage use={budget} /></Panel>
      <Executions info={info} use={use} />
    </>
  );
}

const Amount = ({ value }: { value: number | undefined }) => (value === undefined ? <span class="muted">–</span> : <>{count(value)}</>);

const Dimensions = ({ uses }: { uses: DimensionUse[] }) => (
  <div class="scroll-x" tabIndex={0}>
    <table class="grid bu-units" aria-label="What is counted">
      <thead><tr><th>unit</th><th>spent</th><th class="right">reserved</th><th class="right">left</th><th class="right">per hour now</th><th>runs out</th></tr></thead>
      <tbody>{uses.map((one) => (
        <tr key={one.name}>
          <td><b><Text>{one.name}</Text></b></td><td class="li-use"><BudgetBar use={{ ...one, reserved: 0 }} />{one.soft === undefined ? null : <div class="muted">soft limit {count(one.soft)}</div>}</td>
          <td class="right">{count(one.reserved)}</td><td class="right"><Amount value={one.hard === undefined ? undefined : Math.max(0, one.hard - one.spent - one.reserved)} /></td>
          <td class="right">{count(one.per_hour)}</td>
          <td class="nowrap"><RunsOut use={one} /></td>
        </tr>
      ))}</tbody>
    </table>
  </div>
);

function RunsOut({ use }: { use: DimensionUse }) {
  const text = forecastWords(use, now.value);
  if (text === undefined) return <span class="muted">not in this period</span>;
  return <b title={exact(use.runs_out_at ?? 0)}>{text}</b>;
}

const few = 8;
interface Runs { running: ExecutionPage; waiting: ExecutionPage }

/** What runs and waits, as far as a filter can select it. Leases of those that run have what is reserved. */
function Executions({ info, use }: { info: LimitInfo; use: LimitUse }) {
  const only = info.per.indexOf('execution');
  const flow = info.per.indexOf('flow');
  const { exact } = keyFilter(info, use.key);
  const list = (state: Filter['state'], abort: AbortSignal): Promise<ExecutionPage> => {
    const query = filterQuery({ ...noFilter, ...executionsOf(info, use, state) });
    query.set('limit', String(few));
    return get<ExecutionPage>('/v1/executions', query, abort);
  };
  const runs = useResource(only >= 0 || !exact ? undefined : `runs ${info.namespace ?? ''}\n${info.name}\n${JSON.stringify(use.key)}`, async (abort): Promise<Runs> => {
    const [running, waiting] = await Promise.all([list(['active'], abort), list(['waiting'], abort)]);
    return { running, waiting };
  }, { live: true, every: 3000 });
  if (only >= 0) return <Panel title="Execution"><ExecutionLink id={use.key[only] ?? ''} /></Panel>;
  const all = (state: Filter['state']): string => filterLink(executionsOf(info, use, state));
  return (
    <Panel title="Executions" actions={flow >= 0 ? <a href={flowLink(use.key[flow] ?? '')}>the flow</a> : null}>
      {runs.error ? <Problem error={runs.error} retry={runs.reload} /> : null}
      {exact ? null : <p class="muted">A filter cannot select those of this account alone. <a href={all(['active'])}>Executions that run</a> and <a href={all(['waiting'])}>that wait</a> have others among them.</p>}
      {runs.data ? (
        <div class="bu-runs">
          <RunList title="Running; their leases have what is reserved" page={runs.data.running} all={all(['active'])} none="None runs." />
          <RunList title="Waiting, for this or something else" page={runs.data.waiting} all={all(['waiting'])} none="None waits." />
        </div>
      ) : null}
    </Panel>
  );
}

const RunList = ({ title, page, all, none }: { title: string; page: ExecutionPage; all: string; none: string }) => (
  <div>
    <h3>{title}</h3>
    {page.executions.length === 0 ? <p class="muted">{none}</p> : (
      <ul>
        {page.executions.map((one) => <li key={one.execution_id}><ExecutionLink id={one.execution_id} /> <span class="muted"><Text>{one.kind}</Text></span></li>)}
        {page.next_cursor === '' ? null : <li><a href={all}>Show all</a></li>}
      </ul>
    )}
  </div>
);

function Facts({ info, use }: { info: LimitInfo; use: LimitUse | undefined }) {
  const fact = (name: string, value: ComponentChildren) => <><dt>{name}</dt><dd>{value}</dd></>;
  const any = <span class="muted">all</span>;
  const action = info.budget?.on_hard_limit ?? 'deny';
  const end = use?.budget?.period_end;
  return (
    <dl class="run-facts">
      {fact('namespace', info.namespace === undefined ? any : <Text>{info.namespace}</Text>)}
      {fact('lane', info.lane === undefined ? any : <a href={filterLink({ lane: info.lane })}><Text>{info.lane}</Text></a>)}
      {fact('kind', info.kind === undefined ? any : <a href={filterLink({ kind: info.kind })}><Text>{info.kind}</Text></a>)}
      {fact('apart for each', info.per.length === 0 ? <span class="muted">nothing: all together</span> : <Text>{info.per.join(', ')}</Text>)}
      {fact('period', periodWords(info.budget?.period))}
      {info.budget?.time_zone && info.budget.time_zone !== 'UTC' ? fact('time zone', <Text>{info.budget.time_zone}</Text>) : null}
      {use?.budget?.period_start ? fact('began', <Time at={use.budget.period_start} />) : null}
      {end ? fact('ends', <><Time at={end} /> <span class="muted">{relative(end, now.value)}</span></>) : null}
      {use?.budget ? fact('began anew', `${count(use.budget.resets)} times`) : null}
      {fact('hard limit', <><b>{words(action)}</b> <span class="muted">{breachWords[action]}</span></>)}
      {info.concurrency !== undefined || info.rate ? fact('also', <a href={limitLink(info.namespace, info.name)}>{allowanceWords({ concurrency: info.concurrency, rate: info.rate })}</a>) : null}
      {fact('created', <><Time at={info.created_at} />{info.created_by ? <> by <Text>{info.created_by}</Text></> : null}</>)}
      {fact('changed', <><Time at={info.changed_at} />{info.changed_by ? <> by <Text>{info.changed_by}</Text></> : null}</>)}
      {fact('revision', info.revision)}
    </dl>
  );
}
