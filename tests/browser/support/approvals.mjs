// Executions that wait for people and for signals.
let lanes = 0;

/** An execution that is suspended on `waitpoints`; its id, its lane and the tokens. */
export async function suspended(api, waitpoints, more = {}) {
  lanes += 1;
  const lane = `waits-${process.pid}-${lanes}`;
  const id = await api.create({ lane, kind: 'release', payload: {} });
  const claimed = await api.claim(lane);
  const reply = await api.post('/v1/leases/suspend', { handle: claimed.handle, waitpoints, timeout_ms: 3_600_000, ...more });
  return { id, lane, tokens: reply.tokens.map((token) => token.token), link: `/approve/${reply.tokens[0].token}` };
}

export const text = (words) => ({ context_base64: Buffer.from(words).toString('base64'), context_encoding: 'text/plain' });

/** One that waits at "approve" for a decision. */
export const awaitApproval = (api, approval = {}, more = {}) =>
  suspended(api, [{ name: 'approve', approval: { title: 'Deploy 4.2', ...text('Changes:\n  - faster start'), ...approval } }], more);

export const waitsOf = (api, id) => api.get(`/v1/executions/${id}/waits`);
export const decisionsOf = async (api, id) => (await waitsOf(api, id)).waitpoints[0].approval.decisions;
export const linkFor = async (api, id, source, more = {}) => `/approve/${(await api.post(`/v1/executions/${id}/waitpoints/approve/reissue`, { source, ...more })).token}`;
