// Budgets: the list, the page of one with its accounts, what can be done to both, what holds an execution back, hostile names, many accounts.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { checkAccessibility } from './support/browser.mjs';
import { createFor, setBudget, setLimit, spend, spending, tokens, useOf, waiting } from './support/budgets.mjs';
import { flowfabric } from './support/server.mjs';
import { stage, withTab } from './support/stage.mjs';
import { until } from './support/work.mjs';

const live = (page) => page.getByRole('button', { name: 'Live updates: Live' });
const dialog = (page) => page.getByRole('dialog');
const table = (page) => page.getByRole('table', { name: 'Budgets' });
const row = (page, name) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const panel = (page, title) => page.locator('section.panel').filter({ has: page.getByRole('heading', { level: 2, name: title }) });
const field = (page, label) => dialog(page).locator('.field').filter({ hasText: label });
const press = (page, name) => dialog(page).getByRole('button', { name, exact: true }).click();
const account = (page, name) => page.getByRole('table', { name: 'Accounts' }).getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const unit = (page, name) => page.getByRole('table', { name: 'What is counted' }).getByRole('row').filter({ has: page.locator('td:first-child', { hasText: new RegExp(`^${name}$`) }) });
const refused = { expected: [/status of 4\d\d/] };

async function open(page, go, name, query = '') {
  await go(`/ui/budgets/${encodeURIComponent(name)}${query}`);
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  await live(page).waitFor();
}

describe('the list of budgets', () => {
  const here = stage();

  it('says how to make one while there are none, and shows one that is made elsewhere', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'slots', { lane: 'slots', concurrency: 1 });
    await go('/ui/budgets');
    await page.getByText('There are no budgets yet').waitFor();
    await page.getByText(/^flowfabric budgets set tokens --per /).waitFor();
    await live(page).waitFor();
    await setBudget(here.api, 'daily', tokens(1_000_000, { period: '1d' }, { soft: 800_000 }));
    await row(page, 'daily').getByText('per day', { exact: true }).waitFor();
    await row(page, 'daily').getByText(/^0 of 1.000.000$/).waitFor();
    await row(page, 'daily').getByText('open', { exact: true }).waitFor();
    assert.equal(await row(page, 'slots').count(), 0, 'a limit without a budget is not listed');
  }));

  it('shows the account that is fullest, with its state, its forecast and who waits', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'calls', { dimensions: [{ name: 'tokens', hard: 1000, soft: 500 }, { name: 'cents', hard: 50 }], period: '1d' });
    await spending(here.api, 'calls', 'acme', { tokens: 600 });
    await go('/ui/budgets?text=calls');
    const of = (name) => row(page, 'calls').filter({ hasText: name });
    await of('tokens').getByText(/^600 of 1.000/).waitFor();
    await of('tokens').getByText('above soft limit', { exact: true }).waitFor();
    await of('tokens').getByText('acme', { exact: true }).waitFor();
    await of('tokens').getByText(/^in \d+ (s|min|h)$/).waitFor();
    await of('cents').getByText('open', { exact: true }).waitFor();
    await spending(here.api, 'calls', 'other', { tokens: 1, cents: 50 });
    await of('cents').getByText('used up', { exact: true }).first().waitFor();
    await of('cents').getByText('other', { exact: true }).waitFor();
    await waiting(here.api, 'calls', 'other');
    await of('cents').getByRole('cell', { name: '1', exact: true }).waitFor();
    await of('cents').getByRole('cell', { name: '2', exact: true }).waitFor();
    await page.getByText('1 of 2 budgets', { exact: true }).waitFor();
  }));

  it('filters by words and namespace, and opens with keys', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'shop', tokens(5), { namespace: 'shop', per: [] });
    await go('/');
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('b');
    await page.waitForURL('**/ui/budgets');
    await row(page, 'shop').waitFor();
    await page.locator('input[name="namespace"]').fill('other');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/budgets?namespace=other');
    await row(page, 'shop').waitFor({ state: 'detached' });
    await row(page, 'daily').waitFor();
    await page.getByRole('button', { name: 'Clear filters', exact: true }).click();
    await page.locator('input[name="text"]').fill('namespace SHOP');
    await page.keyboard.press('Enter');
    await page.getByText('1 of 3 budgets', { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'Budgets', exact: true }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('o');
    await page.waitForURL('**/ui/budgets/shop?namespace=shop');
    await page.getByText('5 tokens in all', { exact: true }).first().waitFor();
    await go('/ui/budgets?text=nothing');
    await page.getByText('No budget matches these filters').waitFor();
  }));
});

describe('the page of a budget', () => {
  const here = stage();

  it('shows the accounts, and of one of them units, forecast, usage, and who runs and waits', withTab(here, async (page, { go }) => {
    const { api } = here;
    await setBudget(api, 'calls', { dimensions: [{ name: 'tokens', hard: 1000, soft: 500, reserve: 100 }, { name: 'cents' }], period: '1d' });
    await spending(api, 'calls', 'acme', { tokens: 40, cents: 7 });
    const running = await spending(api, 'calls', 'full', { tokens: 950 });
    const held = await waiting(api, 'calls', 'full');
    await open(page, go, 'calls');
    await page.getByText(/^1.000 tokens and any cents per day$/).waitFor();
    await account(page, 'full').getByText('above soft limit', { exact: true }).waitFor();
    await account(page, 'full').getByRole('link', { name: '1', exact: true }).waitFor();
    await account(page, 'acme').getByText('open', { exact: true }).waitFor();
    // The account that needs somebody is open.
    const chosen = panel(page, 'Account full');
    await unit(page, 'tokens').getByRole('cell', { name: '50', exact: true }).waitFor();
    await unit(page, 'tokens').getByText(/^950 of 1.000$/).waitFor();
    await unit(page, 'tokens').getByText('soft limit 500', { exact: true }).waitFor();
    await unit(page, 'tokens').getByText(/^in \d+ (s|min|h)$/).waitFor();
    await unit(page, 'cents').getByText('not in this period', { exact: true }).waitFor();
    await chosen.getByText('no report was over a hard limit', { exact: true }).waitFor();
    const runs = panel(page, 'Executions');
    await runs.locator(`a[title="${running.execution_id}"]`).waitFor();
    await runs.locator(`a[title="${held}"]`).waitFor();
    const usage = page.getByRole('figure', { name: 'Usage of tokens' });
    await usage.getByText(/950 in /).waitFor();
    assert.equal(await usage.locator('.bu-chart i').count() >= 1, true);
    assert.equal(await usage.locator('.bu-chart > span').count(), 24);
    await page.getByRole('link', { name: 'acme', exact: true }).click();
    await panel(page, 'Account acme').waitFor();
    await unit(page, 'tokens').getByRole('cell', { name: '60', exact: true }).waitFor();
    await unit(page, 'cents').getByText('7', { exact: true }).waitFor();
    // What comes back, and what is raised, is followed.
    await api.complete(running);
    await setBudget(api, 'calls', { dimensions: [{ name: 'tokens', hard: 5000, soft: 500, reserve: 100 }, { name: 'cents' }], period: '1d' });
    await account(page, 'full').getByText(/^950 of 5.000/).waitFor();
    await account(page, 'full').getByRole('cell', { name: '0', exact: true }).waitFor();
  }));

  it('of a budget with one account shows it at once; of one for each execution, the execution', withTab(here, async (page, { go }) => {
    const { api } = here;
    await setBudget(api, 'whole', tokens(100), { per: [] });
    await open(page, go, 'whole');
    await page.getByText('Nothing is spent', { exact: true }).waitFor();
    await spending(api, 'whole', 'acme', { tokens: 100 });
    await panel(page, 'Spent').getByText('used up', { exact: true }).first().waitFor();
    await page.getByText('lifetime', { exact: true }).waitFor({ state: 'detached' });
    await setBudget(api, 'single', tokens(100), { per: ['execution'] });
    const one = await spending(api, 'single', 'acme', { tokens: 10 });
    await open(page, go, 'single');
    await panel(page, 'Execution').locator(`a[title="${one.execution_id}"]`).waitFor();
    await setBudget(api, 'people', tokens(100), { per: ['creator'] });
    await createFor(api, 'people', 'x', { creator: 'ada' });
    await spend(api, await api.claim('lane-of-people'), { tokens: 1 });
    await open(page, go, 'people');
    await panel(page, 'Account ada').waitFor();
    await page.getByText('A filter cannot select those of this account alone.', { exact: false }).waitFor();
  }));

  it('is changed; what the server refuses is said at its field; the rest of its limit stays', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'changed', { lane: 'x', concurrency: 3, budget: tokens(10) });
    await open(page, go, 'changed');
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    const units = dialog(page).getByRole('group', { name: 'Unit 1' });
    await units.locator('input[name="dimension-0-soft"]').fill('20');
    await press(page, 'Save');
    await units.locator('.field').filter({ hasText: 'Soft limit' }).getByRole('alert').getByText(/soft/).waitFor();
    await units.locator('input[name="dimension-0-hard"]').fill('0');
    await press(page, 'Save');
    await units.locator('.field').filter({ hasText: 'Hard limit' }).getByRole('alert').getByText(/hold back everything/).waitFor();
    await units.locator('input[name="dimension-0-hard"]').fill('500');
    await dialog(page).locator('input[name="period"]').fill('a while');
    await press(page, 'Save');
    await field(page, 'Period').getByRole('alert').getByText(/lifetime/).waitFor();
    await dialog(page).locator('input[name="period"]').fill('1w');
    await dialog(page).locator('input[name="time_zone"]').fill('Mars/Olympus');
    await press(page, 'Save');
    await field(page, 'Time zone').getByRole('alert').getByText(/Mars\/Olympus/).waitFor();
    await dialog(page).locator('input[name="time_zone"]').fill('Europe/Berlin');
    await dialog(page).getByRole('button', { name: 'Count something else, too', exact: true }).click();
    await dialog(page).locator('input[name="dimension-1-name"]').fill('tokens');
    await press(page, 'Save');
    await dialog(page).getByRole('group', { name: 'Unit 2' }).getByRole('alert').getByText(/repeats/).waitFor();
    await dialog(page).locator('input[name="dimension-1-name"]').fill('cents');
    await dialog(page).locator('select[name="on_hard_limit"]').selectOption('pause');
    await dialog(page).locator('input[name="reason"]').fill('the contract');
    await press(page, 'Save');
    await page.locator('.run-title').getByText('500 tokens and any cents per week', { exact: true }).waitFor();
    const { info } = await useOf(here.api, 'changed');
    assert.deepEqual([info.concurrency, info.revision], [3, 2]);
    assert.deepEqual(info.budget, { dimensions: [{ name: 'tokens', hard: 500, soft: 20, reserve: 0 }, { name: 'cents', reserve: 0 }], period: '1w', time_zone: 'Europe/Berlin', on_hard_limit: 'pause' });
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await dialog(page).getByRole('button', { name: 'Do not count unit 1', exact: true }).click();
    await press(page, 'Save');
    await page.locator('.run-title').getByText('any cents per week', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await press(page, 'Save');
    await page.getByText('Nothing was changed: it is like this already', { exact: true }).waitFor();
    // The form of the limit leaves the budget as it is.
    await page.getByRole('link', { name: '3 at a time', exact: true }).click();
    await page.waitForURL('**/ui/limits/changed');
    await page.getByRole('link', { name: 'any cents per week', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await dialog(page).locator('input[name="concurrency"]').fill('4');
    await press(page, 'Save');
    await page.locator('.run-title').getByText('4 at a time, a budget of cents', { exact: true }).waitFor();
    assert.deepEqual((await useOf(here.api, 'changed')).info.budget.dimensions, [{ name: 'cents', reserve: 0 }]);
  }, refused));

  it('does not overwrite what somebody else has changed meanwhile', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'shared', tokens(10));
    await open(page, go, 'shared');
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await setBudget(here.api, 'shared', tokens(70));
    await dialog(page).locator('input[name="dimension-0-hard"]').fill('1');
    await press(page, 'Save');
    await dialog(page).getByRole('alert').getByText(/has revision 2/).waitFor();
    assert.equal((await useOf(here.api, 'shared')).info.budget.dimensions[0].hard, 70);
  }, refused));

  it('is removed after a question, and leaves the rest of its limit', withTab(here, async (page, { go }) => {
    const remove = async (name) => {
      await open(page, go, name);
      await page.getByRole('button', { name: 'Remove …', exact: true }).click();
      await dialog(page).getByLabel(/Reason/).fill('not needed');
      await press(page, 'Remove budget');
      await page.waitForURL('**/ui/budgets');
      await row(page, 'shared').waitFor();
      await row(page, name).waitFor({ state: 'detached' });
    };
    await setLimit(here.api, 'half', { lane: 'half', concurrency: 2, budget: tokens(5) });
    await remove('half');
    const { info } = await useOf(here.api, 'half');
    assert.deepEqual([info.concurrency, info.budget, info.lane], [2, undefined, 'half']);
    await go('/ui/budgets/half');
    await page.getByText('This budget cannot be shown').waitFor();
    await setBudget(here.api, 'doomed', tokens(5));
    await remove('doomed');
    await assert.rejects(useOf(here.api, 'doomed'), /404/);
    await go('/ui/budgets/doomed');
    await page.getByText('This budget cannot be shown').waitFor();
  }, refused));

  it('is created in a form, and never over another one', withTab(here, async (page, { go }) => {
    await go('/ui/budgets');
    await page.getByRole('button', { name: 'Create budget …', exact: true }).click();
    await dialog(page).locator('input[name="name"]').fill('shared');
    await dialog(page).locator('input[name="dimension-0-name"]').fill('tokens');
    await dialog(page).locator('input[name="dimension-0-hard"]').fill('5');
    await dialog(page).locator('input[name="per"]').fill('customer');
    await press(page, 'Create budget');
    await field(page, 'Counted apart').getByRole('alert').getByText(/customer/).waitFor();
    await dialog(page).locator('input[name="per"]').fill('creator, kind');
    await press(page, 'Create budget');
    await dialog(page).getByRole('alert').getByText(/has revision/).waitFor();
    await dialog(page).locator('input[name="name"]').fill('made');
    await press(page, 'Create budget');
    await page.waitForURL('**/ui/budgets/made');
    await page.getByText('5 tokens per day', { exact: true }).first().waitFor();
    assert.deepEqual((await useOf(here.api, 'made')).info.per, ['creator', 'kind']);
  }, refused));
});

describe('what operators do to an account', () => {
  const here = stage();
  const reasonsOf = async (type) => (await here.api.get(`/v1/events?type=${type}&cursor=earliest`)).events.map((event) => event.reason);

  it('adjust: what the server refuses is said at its field', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'calls', tokens(100));
    await spending(here.api, 'calls', 'acme', { tokens: 30 });
    await open(page, go, 'calls');
    await panel(page, 'Account acme').getByRole('button', { name: 'Adjust …', exact: true }).click();
    await field(page, 'tokens').getByText('30 spent now', { exact: false }).waitFor();
    await press(page, 'Adjust');
    await dialog(page).getByRole('alert').first().waitFor();
    await dialog(page).locator('input[name="amounts.tokens"]').fill('-50');
    await press(page, 'Adjust');
    await field(page, 'tokens').getByRole('alert').getByText(/only 30 are spent/).waitFor();
    await dialog(page).locator('input[name="amounts.tokens"]').fill('-10');
    await dialog(page).locator('input[name="reason"]').fill('counted twice');
    await press(page, 'Adjust');
    await unit(page, 'tokens').getByText('20 of 100', { exact: true }).waitFor();
    assert.deepEqual(await reasonsOf('budget_adjusted'), ['calls of acme; -10 tokens: counted twice']);
  }, refused));

  it('reset: nothing counts as spent', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'reset', tokens(100), { per: [] });
    await spending(here.api, 'reset', 'acme', { tokens: 100 });
    const held = await waiting(here.api, 'reset', 'acme');
    await open(page, go, 'reset');
    await panel(page, 'Spent').getByText('used up', { exact: true }).first().waitFor();
    await panel(page, 'Spent').getByRole('button', { name: 'Reset …', exact: true }).click();
    await dialog(page).getByLabel(/Reason/).fill('a new contract');
    await press(page, 'Reset');
    await unit(page, 'tokens').getByText('0 of 100', { exact: true }).waitFor();
    await panel(page, 'Spent').getByText('open', { exact: true }).waitFor();
    assert.deepEqual(await reasonsOf('budget_reset'), ['reset: a new contract']);
    await until('what was held back can be claimed', async () => (await here.api.claim('lane-of-reset', 'tester-1', { wait_ms: 500 }))?.execution_id === held);
  }));

  it('resume: an account that is paused goes on', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'strict', tokens(100, { on_hard_limit: 'pause' }));
    const running = await spending(here.api, 'strict', 'acme', { tokens: 30 });
    await open(page, go, 'strict');
    await panel(page, 'Account acme').getByRole('button', { name: 'Reset …', exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Resume …' }).count(), 0);
    await assert.rejects(spend(here.api, running, { tokens: 300 }), /budget_exceeded/);
    await account(page, 'acme').getByText('paused', { exact: true }).waitFor();
    await panel(page, 'Account acme').getByText('No execution starts until it is resumed, or the budget is changed.', { exact: true }).waitFor();
    await panel(page, 'Account acme').getByText('1 reports over a hard limit', { exact: true }).waitFor();
    await go('/ui/budgets');
    await row(page, 'strict').getByText('paused', { exact: true }).waitFor();
    await open(page, go, 'strict');
    await panel(page, 'Account acme').getByRole('button', { name: 'Resume …', exact: true }).click();
    await dialog(page).getByLabel(/Reason/).fill('looked at');
    await press(page, 'Resume');
    await account(page, 'acme').getByText('open', { exact: true }).waitFor();
    assert.deepEqual(await reasonsOf('budget_resumed'), ['strict of acme: looked at']);
  }));

  it('adjust an account that does not exist yet', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'fresh', tokens(100), { per: [] });
    await open(page, go, 'fresh');
    await page.getByRole('button', { name: 'Adjust …', exact: true }).click();
    await dialog(page).locator('input[name="amounts.tokens"]').fill('60');
    await press(page, 'Adjust');
    await unit(page, 'tokens').getByText('60 of 100', { exact: true }).waitFor();
  }));
});

describe('what budgets do to an execution', () => {
  const here = stage();

  it('its page says which budget holds it back, and when that is over', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'single', tokens(100, {}, { reserve: 60 }));
    const running = await spending(here.api, 'single', 'acme', { tokens: 10 });
    const held = await waiting(here.api, 'single', 'acme');
    await go(`/ui/executions/${held}`);
    const why = page.getByRole('region', { name: 'Why it is not running' });
    await why.getByText(/Budget "single" of acme has too little left/).waitFor();
    const limits = panel(page, 'Limits and budgets that it is under');
    await limits.getByText('holds it back', { exact: true }).waitFor();
    await limits.getByText(/10 of 100/).waitFor();
    await limits.getByText(/50 reserved/).waitFor();
    await limits.getByRole('link', { name: 'single', exact: true }).click();
    await page.waitForURL('**/ui/budgets/single');
    await page.goBack();
    await limits.waitFor();
    await here.api.complete(running);
    await limits.waitFor({ state: 'detached' });
  }));

  it('its page names a budget that counts each flow apart', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'each-flow', { lane: 'nodes', per: ['flow'], budget: tokens(10) });
    const node = (name) => ({ name, kind: 'step', lane: 'nodes' });
    const { flow_id: flow } = await here.api.post('/v1/flows', { kind: 'pair', nodes: [node('one'), node('two')], edges: [] });
    const first = await here.api.claim('nodes');
    await spend(here.api, first, { tokens: 10 });
    assert.equal(await here.api.claim('nodes'), undefined);
    const { nodes } = await here.api.get(`/v1/flows/${flow}/nodes`);
    const held = nodes.map((one) => one.execution_id).find((id) => id !== first.execution_id);
    await go(`/ui/executions/${held}`);
    await page.getByRole('region', { name: 'Why it is not running' }).getByText(/Budget "each-flow" of /).waitFor();
    await panel(page, 'Limits and budgets that it is under').getByRole('link', { name: 'each-flow', exact: true }).click();
    await page.waitForURL('**/ui/budgets/each-flow');
    await page.getByRole('link', { name: 'the flow', exact: true }).click();
    await page.waitForURL(`**/ui/flows/${encodeURIComponent(flow)}*`);
  }));

  it('a check shows what is left of budgets', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'checked', tokens(100), { per: [] });
    await spending(here.api, 'checked', 'acme', { tokens: 100 });
    await go('/ui/limits');
    await page.getByRole('button', { name: 'Check …', exact: true }).click();
    await dialog(page).locator('input[name="lane"]').fill('lane-of-checked');
    await press(page, 'Check');
    const result = dialog(page).getByRole('status', { name: 'Result' });
    await result.getByText('It would be held back.', { exact: true }).waitFor();
    await result.getByText('100 of 100 tokens', { exact: true }).waitFor();
    await result.getByText('used up', { exact: true }).waitFor();
  }));

  it('events of budgets have their group, and lead to their pages', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'told', tokens(100));
    await spending(here.api, 'told', 'acme', { tokens: 5 });
    for (const [body, text] of [[{ change: 'adjust', amounts: { tokens: 1 } }, 'told of acme; +1 tokens'], [{ change: 'reset', reason: 'why' }, 'told of acme: why']]) {
      await here.api.post('/v1/limits/told/budget', { ...body, account: ['acme'] });
      await go('/ui/events?type=budget_adjusted,budget_reset');
      await page.getByRole('button', { name: 'Oldest first', exact: true }).click();
      await page.getByRole('row').filter({ hasText: text }).getByRole('link', { name: 'told', exact: true }).click();
      await page.waitForURL('**/ui/budgets/told');
    }
    await go('/ui/events');
    await page.getByRole('button', { name: 'All types', exact: true }).click();
    await page.getByRole('heading', { level: 3, name: 'Budgets', exact: true }).waitFor();
    assert.equal(await page.getByRole('heading', { level: 3, name: 'Others', exact: true }).count(), 0, 'every type of event has its group');
  }));
});

describe('budgets for keys of one namespace and for viewers', () => {
  const secretOf = (output) => output.trim().split(/\s+/).find((word) => word.length > 30);
  const makeKeys = async (store) => {
    const make = (name, role, ...more) => secretOf(flowfabric('api-keys', 'create', name, '--role', role, '--store', store, ...more));
    return { admin: make('ada', 'admin'), viewer: make('vera', 'viewer'), tenant: make('tina', 'operator', '--namespace', 'tenant') };
  };
  const here = stage({ options: ['--auth', 'keys'], prepare: makeKeys, key: (keys) => keys.admin });
  const signIn = async (page, go, secret, path) => {
    await go(path);
    await page.getByLabel('API key').fill(secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  };
  before(async () => {
    await setBudget(here.api, 'everybody', tokens(50), { per: [] });
    await spending(here.api, 'everybody', 'x', { tokens: 5 });
    await setLimit(here.api, 'own', { namespace: 'tenant', budget: tokens(20) });
    await setLimit(here.api, 'theirs', { namespace: 'rival', budget: tokens(20) });
  });

  it('a viewer looks', withTab(here, async (page, { go }) => {
    await signIn(page, go, here.server.prepared.viewer, '/ui/budgets');
    await row(page, 'theirs').waitFor();
    assert.equal(await page.getByRole('button', { name: /Create budget/ }).count(), 0);
    await row(page, 'everybody').getByRole('link', { name: 'everybody', exact: true }).click();
    await unit(page, 'tokens').getByText('5 of 50', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Change …|Remove …|Adjust …|Reset …/ }).count(), 0);
  }, refused));

  it('a key of one namespace sees its own budgets and those for all, without what others spend, and changes its own', withTab(here, async (page, { go }) => {
    await signIn(page, go, here.server.prepared.tenant, '/ui/budgets');
    await row(page, 'everybody').getByText('not shown to a key of one namespace').waitFor();
    await row(page, 'own').waitFor();
    assert.equal(await row(page, 'theirs').count(), 0);
    await row(page, 'everybody').getByRole('link', { name: 'everybody', exact: true }).click();
    await page.getByText('What is spent is not shown').waitFor();
    assert.equal(await page.getByRole('button', { name: /Change …|Remove …|Adjust …|Reset …/ }).count(), 0);
    await page.goBack();
    await row(page, 'own').getByRole('link', { name: 'own', exact: true }).click();
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await dialog(page).locator('input[name="dimension-0-hard"]').fill('30');
    await press(page, 'Save');
    await page.locator('.run-title').getByText('30 tokens in all', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Adjust …', exact: true }).click();
    await dialog(page).locator('input[name="amounts.tokens"]').fill('3');
    await press(page, 'Adjust');
    await unit(page, 'tokens').getByText('3 of 30', { exact: true }).waitFor();
  }, refused));
});

describe('hostile budgets, many accounts, and every screen', () => {
  const here = stage();
  const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';

  it('names, units and accounts with markup are texts', withTab(here, async (page, { go }) => {
    const name = '"><img-src=x>&lt;';
    const dimension = '<script>x</script>';
    const lane = '<b>lane</b>';
    const kind = markup.slice(0, 100);
    await setLimit(here.api, name, { lane, kind, per: ['tags.app.note'], budget: { dimensions: [{ name: dimension, hard: 10 }] }, reason: markup });
    await here.api.create({ lane, kind, tags: { 'app.note': markup } });
    await spend(here.api, await here.api.claim(lane), { [dimension]: 10 });
    const waits = await here.api.create({ lane, kind, tags: { 'app.note': markup } });
    assert.equal(await here.api.claim(lane), undefined);
    for (const path of ['/ui/budgets', `/ui/budgets/${encodeURIComponent(name)}`, '/ui/limits', `/ui/limits/${encodeURIComponent(name)}`, `/ui/executions/${waits}`]) {
      await go(path);
      await page.locator('h1').first().waitFor();
      await live(page).waitFor();
      await page.getByText(path.startsWith('/ui/limits') ? dimension : '10 of 10').first().waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll('#main img, #main script').length), 0, path);
    }
    await panel(page, 'Limits and budgets that it is under').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    await panel(page, `Account ${markup}`).waitFor();
    await page.getByRole('button', { name: 'Adjust …', exact: true }).click();
    await field(page, dimension).waitFor();
    assert.equal(await page.evaluate(() => document.querySelectorAll('dialog img, dialog script').length), 0);
  }));

  it('of many accounts a hundred are shown, and more on demand; one that the address names is open', withTab(here, async (page, { go }) => {
    await setBudget(here.api, 'many', tokens(300));
    await here.api.createMany(150, (n) => ({ lane: 'lane-of-many', kind: 'answer', tags: { 'app.customer': `customer-${n}` } }));
    const { executions } = await here.api.post('/v1/claims', { lanes: ['lane-of-many'], worker_id: 'tester', worker_instance_id: 'tester-1', max_executions: 150, lease_ttl_ms: 600_000 });
    for (const [index, claimed] of executions.entries()) await spend(here.api, claimed, { tokens: index + 1 });
    await go('/ui/budgets?text=many');
    await row(page, 'many').getByText('100 …', { exact: true }).waitFor();
    await open(page, go, 'many');
    await panel(page, 'Accounts (100 of more)').waitFor();
    await page.getByRole('button', { name: 'Show more accounts', exact: true }).click();
    await panel(page, 'Accounts (150)').waitFor();
    assert.equal(await page.getByRole('table', { name: 'Accounts' }).locator('tbody tr').count(), 150);
    await page.getByRole('link', { name: 'customer-149', exact: true }).click();
    await page.waitForURL('**/ui/budgets/many?account=*');
    await panel(page, 'Account customer-149').waitFor();
    await go(`/ui/budgets/many?${new URLSearchParams({ account: '["nobody"]' })}`);
    await page.getByText('This account is not in use', { exact: true }).waitFor();
  }));

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390, height: 844 }]])
    it(`are accessible, ${name}`, withTab(here, async (page, { go }) => {
      const budget = `calls-${name}`;
      await setBudget(here.api, budget, { dimensions: [{ name: 'tokens', hard: 1000, soft: 500, reserve: 10 }, { name: 'cents' }], period: '1d' });
      await spending(here.api, budget, 'acme', { tokens: 1000, cents: 3 });
      await spending(here.api, budget, 'other', { tokens: 100 });
      const held = await waiting(here.api, budget, 'acme');
      const fits = async (what) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${what} does not scroll sideways`);
      await go('/ui/budgets');
      await row(page, budget).first().waitFor();
      await checkAccessibility(page, `list ${name}`);
      await open(page, go, budget);
      await account(page, 'acme').waitFor();
      await page.getByRole('figure', { name: 'Usage of tokens' }).waitFor();
      await checkAccessibility(page, `page ${name}`);
      await fits('the page');
      await page.getByRole('button', { name: 'Change …', exact: true }).click();
      await checkAccessibility(page, `form ${name}`);
      assert.ok(await dialog(page).evaluate((element) => element.scrollWidth <= element.clientWidth + 1), 'the form does not scroll sideways');
      await page.keyboard.press('Escape');
      await dialog(page).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Adjust …', exact: true }).click();
      await checkAccessibility(page, `adjustment ${name}`);
      await page.keyboard.press('Escape');
      await go(`/ui/executions/${held}`);
      await panel(page, 'Limits and budgets that it is under').getByText('holds it back').waitFor();
      await checkAccessibility(page, `execution ${name}`);
      await fits('the run page');
    }, options));
});
