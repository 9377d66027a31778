// What a flow has returned, and the events of the flow itself.
import { flowPath, get } from '../../api/client';
import type { EventPage, FlowOutput, FlowResult } from '../../api/types';
import { flowLink } from '../../core/flows';
import { useResource } from '../../live/hooks';
import { Empty, Problem, StateBadge, Text, Time, words } from '../../ui/basic';
import { JsonText } from '../../ui/viewer';

const outcomeStates: Record<FlowOutput['outcome'], string> = { none: 'waiting', success: 'completed', failed: 'failed', cancelled: 'cancelled', expired: 'expired', skipped: 'skipped' };

function Output({ output }: { output: FlowOutput }) {
  if (output.by_reference) return <span class="muted">large; <a href={`/ui/executions/${encodeURIComponent(output.execution_id)}`}>open the execution</a></span>;
  if (output.result !== undefined) return <pre class="code" tabIndex={0} aria-label="Result"><JsonText text={JSON.stringify(output.result)} /></pre>;
  return output.result_base64 !== undefined ? <span class="mono"><Text>{output.result_base64}</Text></span> : <span class="muted">–</span>;
}

/** The state is part of the key: when it changes, the result is read again. */
export function FlowOutputs({ id, state }: { id: string; state: string }) {
  const result = useResource(`result ${id} ${state}`, (abort) => get<FlowResult>(`${flowPath(id)}/result`, undefined, abort), { live: true });
  return (
    <section class="panel fl-scroll" aria-label="Result of the flow">
      {result.error ? <Problem error={result.error} retry={result.reload} /> : null}
      {result.data && result.data.outputs.length === 0 ? <Empty title="No results yet"><p>The result of a flow is what its nodes without outgoing edges have returned.</p></Empty> : null}
      {result.data && result.data.outputs.length > 0 ? (
        <div class="scroll-x" tabIndex={0}>
          <table class="grid">
            <thead><tr><th>node</th><th>outcome</th><th>result</th></tr></thead>
            <tbody>{result.data.outputs.map((output) => (
              <tr key={output.node}>
                <td><a href={flowLink(id, output.node)}><Text>{output.node}</Text></a></td>
                <td><span class="badge" data-state={outcomeStates[output.outcome]}>{output.outcome === 'none' ? 'not ended' : output.outcome}</span></td>
                <td><Output output={output} /></td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      ) : null}
    </section>
  );
}

export function FlowEvents({ id, state }: { id: string; state: string }) {
  const page = useResource(`history ${id} ${state}`, (abort) => get<EventPage>(`${flowPath(id)}/history`, { limit: 1000 }, abort), { live: true });
  return (
    <section class="panel fl-scroll" aria-label="Events of the flow">
      {page.error ? <Problem error={page.error} retry={page.reload} /> : null}
      {page.data ? (
        <div class="scroll-x" tabIndex={0}>
          <table class="grid">
            <thead><tr><th>at</th><th>event</th><th>actor</th><th>reason</th></tr></thead>
            <tbody>{[...page.data.events].reverse().map((event) => (
              <tr key={event.cursor}>
                <td class="nowrap"><Time at={event.at} ms /></td><td>{words(event.type)}{event.state_after ? <> <StateBadge state={event.state_after} /></> : null}</td>
                <td><Text>{event.actor ?? '–'}</Text></td><td><Text>{event.reason ?? '–'}</Text></td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      ) : null}
      <p class="muted fl-note">These are the events of the flow itself. Those of a node are on the page of its execution.</p>
    </section>
  );
}
