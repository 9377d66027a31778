// What can be done to a flow.
import { call, flowPath, get, session } from '../../api/client';
import { allows } from '../../api/contract';
import type { FlowCancelReply, FlowDescription, FlowGraphReply, FlowReplayReply, FlowSealed } from '../../api/types';
import { asCli, asCurl, quote } from '../../core/commands';
import { endedFlow } from '../../core/flows';
import { plural } from '../../core/format';
import { toApiError } from '../../live/hooks';
import { copyText, Icon, Text, words } from '../../ui/basic';
import { confirm, withReason } from '../../ui/dialog';
import { Menu } from '../../ui/menu';
import { toast } from '../../ui/toast';

interface Props { about: FlowDescription; done: () => void; showRaw: () => void }

const policies: { name: FlowCancelReply['policy']; title: string; text: string }[] = [
  { name: 'cancel_all', title: 'Everything that has not ended', text: 'Running nodes are cancelled too; their workers lose their leases.' },
  { name: 'cancel_pending', title: 'Only what has not started', text: 'Running nodes go on to their end.' },
  { name: 'flow_only', title: 'Only the flow', text: 'The flow ends at once as cancelled; its nodes go on.' },
];

function cancelFlow({ about, done }: Props): void {
  const id = about.summary.flow_id;
  const policyOf = (values: Record<string, string>): string => values['policy'] ?? 'cancel_all';
  const cleanup = (values: Record<string, string>): boolean => values['run_cleanup'] === 'yes' && policyOf(values) !== 'flow_only';
  confirm({
    title: 'Cancel this flow',
    text: <>{plural(about.summary.counts.pending, 'node has', 'nodes have')} not ended. Ended nodes stay as they are. The nodes are cancelled in the background; what workers have done so far is not undone.</>,
    action: 'Cancel flow', danger: true, reason: true, initial: { policy: 'cancel_all', run_cleanup: '' },
    fields: (values, set) => (
      <>
        <fieldset class="fl-policies">
          <legend>What is cancelled</legend>
          {policies.map((policy) => (
            <label key={policy.name}>
              <input type="radio" name="policy" value={policy.name} checked={policyOf(values) === policy.name} onChange={() => set('policy', policy.name)} />
              <span><b>{policy.title}</b> <span class="muted">{policy.text}</span></span>
            </label>
          ))}
        </fieldset>
        <label class="fl-check"><input type="checkbox" name="run_cleanup" disabled={policyOf(values) === 'flow_only'} checked={cleanup(values)} onChange={(event) => set('run_cleanup', event.currentTarget.checked ? 'yes' : '')} /><span>Run cleanup nodes <span class="muted">those behind an on_finish edge</span></span></label>
      </>
    ),
    command: (values) => asCli(['flows', 'cancel', id, '--policy', policyOf(values), ...(cleanup(values) ? ['--run-cleanup'] : []), ...(values['reason'] ? ['--reason', values['reason']] : []), '--yes'], window.location.origin),
    run: async (values) => {
      const reply = await call<FlowCancelReply>('POST', `${flowPath(id)}/cancel`, withReason(values, { policy: policyOf(values), run_cleanup: cleanup(values) }));
      done();
      return reply.already_cancelled ? `Nothing was changed; the flow is ${words(reply.state)}` : `The flow is ${words(reply.state)}`;
    },
  });
}

function sealFlow({ about, done }: Props): void {
  const id = about.summary.flow_id;
  const { pending } = about.summary.counts;
  confirm({
    title: 'Seal this flow',
    text: <>Nothing more can be added from outside; running nodes still can. {pending > 0 ? `${plural(pending, 'node has', 'nodes have')} not ended; the flow ends with the last of them.` : 'All nodes have ended, so the flow ends at once.'} A sealed flow cannot be opened again.</>,
    action: 'Seal flow', reason: true,
    command: (values) => asCli(['flows', 'seal', id, ...(values['reason'] ? ['--reason', values['reason']] : [])], window.location.origin),
    run: async (values) => {
      const reply = await call<FlowSealed>('POST', `${flowPath(id)}/seal`, withReason(values));
      done();
      return reply.already_sealed ? `Nothing was changed; the flow is ${words(reply.state)}` : `The flow is sealed and ${words(reply.state)}`;
    },
  });
}

/** Whether nodes of the flow can run again. */
export const canReplay = (about: FlowDescription): boolean => allows(session.value, 'operator') && endedFlow(about.summary.state) && about.summary.counts.pending === 0;

/** Runs one node again, or without a node all that have not succeeded. */
export function replayFlow(about: FlowDescription, done: () => void, node?: string): void {
  const id = about.summary.flow_id;
  const only = (values: Record<string, string>): boolean => node !== undefined && values['only'] === 'yes';
  const { total, succeeded } = about.summary.counts;
  confirm({
    title: node === undefined ? 'Replay this flow' : 'Replay from this node',
    text: node === undefined
      ? <>{plural(total - succeeded, 'node has', 'nodes have')} not succeeded. They run again, and all nodes behind them; the others keep their results.</>
      : <><Text>{node}</Text> and all nodes behind it run again; the others keep their results.</>,
    action: 'Replay', reason: true, initial: { only: '' },
    ...(node === undefined ? {} : {
      fields: (values: Record<string, string>, set: (name: string, value: string) => void) => (
        <label class="fl-check"><input type="checkbox" name="only" checked={only(values)} onChange={(event) => set('only', event.currentTarget.checked ? 'yes' : '')} /><span>Only this node <span class="muted">nodes behind it keep their outcomes</span></span></label>
      ),
    }),
    command: (values) => asCli(['flows', 'replay', id, ...(node === undefined ? [] : ['--node', node]), ...(only(values) ? ['--only'] : []), ...(values['reason'] ? ['--reason', values['reason']] : []), '--yes'], window.location.origin),
    run: async (values) => {
      const reply = await call<FlowReplayReply>('POST', `${flowPath(id)}/replay`, withReason(values, { ...(node === undefined ? {} : { node }), descendants: !only(values) }));
      done();
      return `The flow is ${words(reply.state)} again`;
    },
  });
}

async function copyDrawing(id: string, format: 'mermaid' | 'dot'): Promise<void> {
  try {
    const reply = await get<FlowGraphReply>(`${flowPath(id)}/graph`, { format });
    await copyText(reply.drawing ?? '', format === 'dot' ? 'Graphviz text' : 'Mermaid text');
  } catch (error) {
    toast(toApiError(error).message, 'bad');
  }
}

export function FlowActions(props: Props) {
  const { summary } = props.about;
  const id = summary.flow_id;
  const origin = window.location.origin;
  // A flow that is being cancelled can be cancelled with a stronger policy.
  const canCancel = allows(session.value, 'operator') && !endedFlow(summary.state);
  const canSeal = allows(session.value, 'worker') && summary.state === 'building';
  return (
    <div class="run-actions">
      {canSeal ? <button type="button" class="button" onClick={() => sealFlow(props)}>Seal …</button> : null}
      {canCancel ? <button type="button" class="button danger" onClick={() => cancelFlow(props)}>Cancel …</button> : null}
      {canReplay(props.about) && summary.counts.succeeded < summary.counts.total ? <button type="button" class="button" onClick={() => replayFlow(props.about, props.done)}>Replay …</button> : null}
      <Menu label={<Icon name="more" />} name="More">
        <button type="button" onClick={props.showRaw}>Raw JSON</button>
        <button type="button" onClick={() => void copyText(window.location.href, 'Link')}>Copy link</button>
        <button type="button" onClick={() => void copyText(asCurl({ method: 'GET', path: flowPath(id) }, origin, session.value?.authentication ?? false), 'curl command')}>Copy as curl</button>
        <button type="button" onClick={() => void copyText(`flowfabric flows show ${quote(id)} --store ${origin}`, 'Command')}>Copy as CLI</button>
        <button type="button" onClick={() => void copyDrawing(id, 'mermaid')}>Copy graph as Mermaid</button>
        <button type="button" onClick={() => void copyDrawing(id, 'dot')}>Copy graph as Graphviz</button>
      </Menu>
    </div>
  );
}
