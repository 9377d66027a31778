// Schedules for the tests. None of them comes to a time of its own while a test runs: tests fire them.
export const yearMs = 365 * 86_400_000;

export const makeSchedule = (api, name, more = {}) => {
  const { execution, ...rest } = more;
  const times = rest.cron || rest.every_ms ? {} : { every_ms: yearMs };
  return api.post('/v1/schedules', { name, ...times, ...rest, execution: { kind: 'report', lane: `lane-of-${name.replaceAll(/[^a-z0-9-]/gi, '')}`, ...execution } });
};

export const describeSchedule = (api, name, namespace = 'default') => api.get(`/v1/schedules/${encodeURIComponent(name)}?namespace=${encodeURIComponent(namespace)}`);
export const fire = (api, name, more = {}) => api.post(`/v1/schedules/${encodeURIComponent(name)}/trigger`, more);

/** A schedule with firings of every sort that a test can make: one that has succeeded, one that has failed, a skipped one and one that runs. */
export async function makeHistory(api, name, more = {}) {
  const lane = `lane-of-${name}`;
  await makeSchedule(api, name, { cron: '30 2 * * MON-FRI', time_zone: 'Europe/Berlin', exceptions: ['12-25'], ...more });
  const done = (await fire(api, name)).execution_id;
  await api.complete(await api.claim(lane), { result: { pages: 12 } });
  const failed = (await fire(api, name)).execution_id;
  await api.fail(await api.claim(lane), { category: 'template', message: 'no such template', retryable: 'never' });
  const running = (await fire(api, name)).execution_id;
  const skipped = await fire(api, name);
  return { done, failed, running, skipped };
}
