// A small company at work, for pictures and for tests that want data of every kind: four lanes, workers that finish, fail and
// retry, something delayed, something cancelled, a paused lane.
import { Api } from './work.mjs';

const people = ['ada', 'bob', 'carol', 'dan', 'erin', 'frank', 'grace', 'heidi'];
const pick = (list, n) => list[n % list.length];

const jobs = [
  (n) => ({ lane: 'mail', kind: 'send-welcome', payload: { to: `${pick(people, n)}@example.com`, template: 'welcome', locale: pick(['en', 'de', 'fr'], n) }, tags: { 'mail.campaign': pick(['spring', 'autumn'], n) } }),
  (n) => ({ lane: 'billing', kind: 'charge-card', payload: { invoice: 40_000 + n, amount_cents: 1999 + (n % 7) * 500, currency: 'EUR' }, tags: { 'billing.plan': pick(['team', 'solo'], n), 'billing.region': 'eu' }, priority: 5, policy: { retry: { max_retries: 2, initial_delay_ms: 200 } } }),
  (n) => ({ lane: 'images', kind: 'make-thumbnail', payload: { image: `photo-${n}.jpg`, sizes: [64, 256, 1024] }, required_capabilities: n % 3 === 0 ? ['gpu'] : [] }),
  (n) => ({ lane: 'reports', kind: 'monthly-report', payload: { month: '2026-10', customer: 700 + (n % 50) }, tags: { 'report.format': 'pdf' } }),
];
const failures = [
  { category: 'card_declined', message: 'the bank declined the charge: insufficient funds', detail: { bank_code: 51, retry_advice: 'ask for another card' }, retryable: 'never' },
  { category: 'upstream', message: 'POST https://payments.example.com/charge: 503 Service Unavailable after 3 tries' },
];

async function workOn(api, claimed, n) {
  if (claimed.kind === 'charge-card' && n % 6 === 0) return api.fail(claimed, pick(failures, Math.floor(n / 6)));
  return api.complete(claimed, { result: claimed.kind === 'make-thumbnail' ? { bytes: 20_000 + n, files: 3 } : { ok: true, message_id: `m-${n}` } });
}

export const sceneWorkers = ['mailer-1', 'mailer-2', 'biller-1', 'imager-1', 'imager-2'];
const lanesOf = { mailer: ['mail'], biller: ['billing'], imager: ['images'] };

async function registerWorkers(api) {
  for (const instance of sceneWorkers) {
    const pool = instance.replace(/-\d+$/, '');
    await api.post('/v1/workers', { worker_id: pool, worker_instance_id: instance, lanes: lanesOf[pool], capabilities: pool === 'imager' ? ['gpu', 'large-memory'] : [], liveness_ttl_ms: 120_000 });
  }
}

/** Does `rounds` rounds of work; the numbers continue from `from`. */
export async function work(api, from, rounds) {
  for (let n = from; n < from + rounds; n += 1) {
    await api.createMany(8, (index) => pick(jobs, index)(n * 8 + index));
    for (const instance of sceneWorkers.slice(0, 4)) {
      const pool = instance.replace(/-\d+$/, '');
      const reply = await api.post('/v1/claims', { lanes: lanesOf[pool], worker_id: pool, worker_instance_id: instance, capabilities: ['gpu', 'large-memory'], max_executions: 4, lease_ttl_ms: 600_000 });
      for (const [index, claimed] of reply.executions.entries()) await workOn(api, claimed, n * 4 + index);
    }
  }
}

export async function makeScene(url, key) {
  const api = new Api(url, key);
  await registerWorkers(api);
  await work(api, 0, 12);
  await api.create({ lane: 'reports', kind: 'monthly-report', payload: { month: '2026-11' }, delay_ms: 3_600_000 });
  const unwanted = await api.create({ lane: 'mail', kind: 'send-newsletter', payload: { issue: 12 }, tags: { 'mail.campaign': 'spring' } });
  await api.post(`/v1/executions/${unwanted}/cancel`, { reason: 'sent by hand' });
  await api.call('PUT', '/v1/lanes/reports', { state: 'paused', reason: 'the printer is being repaired' });
  await api.create({ lane: 'images', kind: 'render-video', payload: { clip: 7 } });
  await api.claim('images', 'imager-2', { capabilities: ['gpu', 'large-memory'] });
  // Three attempts and a good story: the bank was down twice, then the card was refused.
  const story = await api.create({ lane: 'billing', kind: 'charge-card', priority: 50, payload: { invoice: 40_999, amount_cents: 4900, currency: 'EUR' }, tags: { 'billing.plan': 'team' }, policy: { retry: { max_retries: 5, initial_delay_ms: 300 } } });
  const steps = [{ position: 1, name: 'load-invoice', duration_ms: 30, result: { open: true } }, { position: 2, name: 'check-fraud', duration_ms: 60, result: { risk: 0.02 } }];
  for (const failure of [failures[1], failures[1], failures[0]]) {
    const reply = await api.post('/v1/claims', { lanes: ['billing'], worker_id: 'biller', worker_instance_id: 'biller-1', wait_ms: 20_000, lease_ttl_ms: 600_000 });
    const claimed = reply.executions[0];
    if (!claimed) throw new Error('the execution did not come back for its retry');
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (claimed.execution_id !== story) await api.complete(claimed);
    else {
      for (const step of steps.splice(0)) await api.post('/v1/leases/steps', { handle: claimed.handle, ...step });
      await api.fail(claimed, failure);
    }
  }
  return { api, story };
}

if (process.argv[1]?.endsWith('scene.mjs')) {
  const [url, rounds = '0'] = process.argv.slice(2);
  const { api, story } = await makeScene(url);
  console.log(story);
  for (let n = 0; n < Number(rounds); n += 1) {
    await work(api, 100 + n, 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
