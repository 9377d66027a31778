// Budgets for the tests, and executions that spend.
import { setLimit } from './limits.mjs';

export { setLimit, useOf } from './limits.mjs';

export const tokens = (hard, more = {}, dimension = {}) => ({ dimensions: [{ name: 'tokens', hard, ...dimension }], ...more });
/** Each customer apart, on a lane of its own. */
export const setBudget = (api, name, budget, more = {}) => setLimit(api, name, { lane: `lane-of-${name}`, per: ['tags.app.customer'], budget, ...more });

export const createFor = (api, name, customer, more = {}) => api.create({ lane: `lane-of-${name}`, kind: 'answer', tags: { 'app.customer': customer }, ...more });
export const spend = (api, claimed, amounts, more = {}) => api.post('/v1/leases/spend', { handle: claimed.handle, amounts, ...more });

/** An execution of this customer that has spent so much and runs on. */
export async function spending(api, name, customer, amounts, more = {}) {
  const id = await createFor(api, name, customer);
  const claimed = await api.claim(`lane-of-${name}`);
  if (claimed?.execution_id !== id) throw new Error(`${name}: another execution was claimed`);
  await spend(api, claimed, amounts, more);
  return claimed;
}

/** One that is held back: it has asked for a claim, and waits. */
export async function waiting(api, name, customer) {
  const id = await createFor(api, name, customer);
  if (await api.claim(`lane-of-${name}`)) throw new Error(`${name}: it was not held back`);
  return id;
}
