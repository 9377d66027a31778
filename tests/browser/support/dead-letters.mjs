// Executions that have failed for good, for the tests.
/** As many of one kind as there are messages; their ids. */
export async function failAll(api, messages, more = {}, failure = {}) {
  const request = { lane: 'mail', kind: 'mail', ...more };
  const ids = await api.createMany(messages.length, () => request);
  for (let from = 0; from < messages.length;) {
    const reply = await api.post('/v1/claims', { lanes: [request.lane], worker_id: 'tester', worker_instance_id: 'tester-1', max_executions: Math.min(100, messages.length - from), lease_ttl_ms: 600_000 });
    if (reply.executions.length === 0) throw new Error(`nothing can be claimed on ${request.lane}`);
    for (const claimed of reply.executions) {
      await api.fail(claimed, { category: 'timeout', retryable: 'never', ...failure, message: messages[from] });
      from += 1;
    }
  }
  return ids;
}

export const slow = (count) => Array.from({ length: count }, (_, n) => `no answer from 10.0.0.${n} after ${1000 + n} ms`);
export const groupsOf = async (api, query = '') => (await api.get(`/v1/dead-letters${query}`)).groups;
export const redrivesOf = async (api, query = '') => (await api.get(`/v1/redrives${query}`)).redrives;
