// Clients of the HTTP API for the tests: they create executions, work on them and watch them.

/** Resolves with what `probe` returns as soon as that is true; fails with `what` after `patience` milliseconds. */
export async function until(what, probe, patience = 30_000) {
  const end = Date.now() + patience;
  let last;
  for (;;) {
    try {
      const found = await probe();
      if (found) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited in vain: ${what}${last ? ` (${last.message})` : ''}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Api {
  constructor(url, key) {
    this.url = url;
    this.key = key;
  }

  async call(method, path, body) {
    const headers = {};
    if (method !== 'GET') headers['Content-Type'] = 'application/json';
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    const response = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  get(path) { return this.call('GET', path); }
  post(path, body = {}) { return this.call('POST', path, body); }

  async create(request) { return (await this.post('/v1/executions', request)).execution_id; }

  /** As many as asked for, in calls of a thousand. */
  async createMany(count, make) {
    const ids = [];
    for (let from = 0; from < count; from += 1000) {
      const executions = Array.from({ length: Math.min(1000, count - from) }, (_, index) => make(from + index));
      const reply = await this.post('/v1/executions/batch', { executions });
      for (const item of reply.results) ids.push(item.value.execution_id);
    }
    return ids;
  }

  async claim(lane, worker = 'tester-1', more = {}) {
    const reply = await this.post('/v1/claims', { lanes: [lane], worker_id: worker.replace(/-\d+$/, ''), worker_instance_id: worker, max_executions: 1, lease_ttl_ms: 600_000, ...more });
    return reply.executions[0];
  }

  complete(claimed, body = {}) { return this.post('/v1/leases/complete', { handle: claimed.handle, ...body }); }
  fail(claimed, body = {}) { return this.post('/v1/leases/fail', { handle: claimed.handle, ...body }); }

  /** An execution that has failed for good. */
  async failed(request, failure) {
    const id = await this.create(request);
    const claimed = await this.claim(request.lane);
    await this.fail(claimed, { retryable: 'never', ...failure });
    return id;
  }

  async state(id) { return (await this.get(`/v1/executions/${id}/state`)).public_state; }
}
