// Flows for the tests. Every node has a lane of its own, so that a test can end the nodes in the order that it needs.
import { until } from './work.mjs';

export const laneOf = (prefix, node) => `${prefix}.${node}`;
const nodes = (prefix, names, more = {}) => names.map((name) => ({ name, kind: name.replace(/-\d+$/, ''), lane: laneOf(prefix, name), ...more }));
const edge = (from, to, more = {}) => ({ from, to, ...more });

/** A film is fetched and cut; two of three checks must pass; then it is published. The cleanup runs in any case. */
export const media = (prefix, more = {}) => ({
  kind: 'media',
  nodes: nodes(prefix, ['fetch', 'cut', 'check-1', 'check-2', 'check-3', 'subtitles', 'publish', 'cleanup']),
  edges: [
    edge('fetch', 'cut'), edge('fetch', 'check-1'), edge('fetch', 'check-2'), edge('fetch', 'check-3'), edge('fetch', 'subtitles'),
    edge('cut', 'publish'), edge('subtitles', 'publish', { kind: 'optional' }),
    ...['check-1', 'check-2', 'check-3'].map((name) => edge(name, 'publish', { group: 'checks' })),
    edge('publish', 'cleanup', { kind: 'on_finish' }),
  ],
  groups: [{ node: 'publish', name: 'checks', policy: 'quorum', k: 2 }],
  tags: { 'app.film': prefix },
  ...more,
});

export const chain = (prefix, names, more = {}) => ({ kind: 'chain', nodes: nodes(prefix, names), edges: names.slice(1).map((name, index) => edge(names[index], name)), ...more });

/** `wide` nodes between a first and a last one, in rows of two. */
export const large = (prefix, count) => {
  const pairs = Math.floor((count - 2) / 2);
  const names = Array.from({ length: pairs }, (_, n) => [`load-${n}`, `store-${n}`]);
  return {
    kind: 'large',
    nodes: nodes(prefix, ['begin', ...names.flat(), 'end']).map((node) => ({ ...node, lane: laneOf(prefix, node.kind) })),
    edges: names.flatMap(([load, store]) => [edge('begin', load), edge(load, store), edge(store, 'end')]),
  };
};

export const submit = async (api, flow) => (await api.post('/v1/flows', flow)).flow_id;

export const nodeOf = async (api, flow, name) => (await api.get(`/v1/flows/${flow}/nodes?limit=1000`)).nodes.find((node) => node.name === name);

/** Claims a node as soon as it can be claimed. */
export const claimNode = (api, prefix, name) => until(`node ${name} can be claimed`, () => api.claim(laneOf(prefix, name), 'tester-1', { wait_ms: 1000 }));

export async function finishNode(api, prefix, name, body = { result: { from: name } }) {
  await api.complete(await claimNode(api, prefix, name), body);
}

export async function failNode(api, prefix, name, failure = {}) {
  await api.fail(await claimNode(api, prefix, name), { category: 'broken', message: `${name} is broken`, retryable: 'never', ...failure });
}

/** A flow of each kind: running, failed, completed, cancelled. */
export async function makeFlows(api) {
  const done = await submit(api, chain('done', ['extract', 'load', 'report']));
  for (const name of ['extract', 'load', 'report']) await finishNode(api, 'done', name);
  const failed = await submit(api, media('broken'));
  await finishNode(api, 'broken', 'fetch');
  await failNode(api, 'broken', 'cut', { message: 'the file is damaged at byte 4711' });
  // The clock notices the failure; before that the other nodes could still start.
  await until('the failure cancels the nodes that have not started', async () => (await api.get(`/v1/flows/${failed}`)).summary.state === 'cancelling');
  const cancelled = await submit(api, chain('stopped', ['first', 'second']));
  await api.post(`/v1/flows/${cancelled}/cancel`, { reason: 'sent by hand' });
  const running = await submit(api, media('film'));
  await finishNode(api, 'film', 'fetch');
  await finishNode(api, 'film', 'check-2');
  await claimNode(api, 'film', 'cut');
  return { done, failed, cancelled, running };
}

if (process.argv[1]?.endsWith('flows.mjs')) {
  const { Api } = await import('./work.mjs');
  const api = new Api(process.argv[2]);
  console.log(await makeFlows(api), await submit(api, large('many', 2000)));
}
