// Limits for the tests, and executions under them.
export const setLimit = (api, name, body) => api.call('PUT', `/v1/limits/${encodeURIComponent(name)}`, body);
export const useOf = (api, name, namespace) => api.get(`/v1/limits/${encodeURIComponent(name)}${namespace ? `?namespace=${encodeURIComponent(namespace)}` : ''}`);

/** One execution of each customer in `customers` runs; what comes after the first of a customer is held back. All ids, in this order. */
export async function makeHeld(api, limit, customers, more = {}) {
  const lane = `lane-of-${limit}`;
  await setLimit(api, limit, { lane, concurrency: 1, per: ['tags.app.customer'], ...more });
  const ids = [];
  for (const customer of customers) ids.push(await api.create({ lane, kind: 'call', tags: { 'app.customer': customer } }));
  const reply = await api.post('/v1/claims', { lanes: [lane], worker_id: 'tester', worker_instance_id: 'tester-1', max_executions: customers.length, lease_ttl_ms: 600_000 });
  return { ids, lane, running: reply.executions };
}
