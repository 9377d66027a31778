// Every action, with its confirmation, checked through the API.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stage, withTab } from './support/stage.mjs';
import { until } from './support/work.mjs';

const dialog = (page) => page.getByRole('dialog');
/** Fills in the reason and presses the button of the open dialog. */
async function confirm(page, button, reason = 'a test') {
  await dialog(page).getByLabel(/Reason/).fill(reason);
  await dialog(page).getByRole('button', { name: button, exact: true }).click();
  await dialog(page).waitFor({ state: 'detached' });
}

describe('actions on one execution', () => {
  const here = stage();

  it('cancel, with its reason in the history', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'mail', kind: 'send' });
    await go(`/ui/executions/${id}`);
    await page.getByText('Why it is not running').waitFor();
    await page.getByRole('button', { name: 'Cancel …' }).click();
    await confirm(page, 'Cancel execution', 'sent by hand');
    await page.locator('.run-title .badge', { hasText: 'cancelled' }).waitFor();
    await page.getByText('sent by hand').first().waitFor();
    assert.equal(await here.api.state(id), 'cancelled');
  }));

  it('run again', withTab(here, async (page, { go }) => {
    const id = await here.api.failed({ lane: 'replay', kind: 'send' }, { message: 'no such user' });
    await go(`/ui/executions/${id}`);
    await page.getByText('no such user').first().waitFor();
    await page.getByRole('button', { name: 'Run again' }).first().click();
    await confirm(page, 'Run again');
    await page.locator('.run-title .badge', { hasText: 'waiting' }).waitFor();
    assert.equal(await here.api.state(id), 'waiting');
  }));

  it('run again from a step', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'steps', kind: 'order' });
    const claimed = await here.api.claim('steps');
    await go(`/ui/executions/${id}`);
    await page.locator('.run-title .badge', { hasText: 'active' }).waitFor();
    for (const [index, name] of ['reserve', 'charge', 'ship'].entries()) await here.api.post('/v1/leases/steps', { handle: claimed.handle, position: index + 1, name, duration_ms: 5, result: index });
    await page.getByRole('row', { name: /charge succeeded/ }).waitFor();
    await here.api.fail(claimed, { retryable: 'never' });
    await page.getByRole('row', { name: /charge succeeded/ }).getByRole('button', { name: 'Run again from here …' }).click();
    await dialog(page).getByText('charge').first().waitFor();
    await confirm(page, 'Run again');
    await page.locator('.run-title .badge', { hasText: 'waiting' }).waitFor();
    const kept = (await here.api.get(`/v1/executions/${id}/steps`)).steps.map((step) => step.name);
    assert.deepEqual(kept, ['reserve']);
  }));

  it('set the priority, and refuse a wrong one in the form', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'mail', kind: 'send' });
    await go(`/ui/executions/${id}`);
    await page.getByRole('button', { name: 'Priority …' }).click();
    await dialog(page).getByLabel(/^Priority/).fill('99999');
    await dialog(page).getByRole('button', { name: 'Set priority' }).click();
    await dialog(page).getByLabel(/^Priority/).fill('7');
    await confirm(page, 'Set priority');
    await until('the priority is 7', async () => (await here.api.get(`/v1/executions/${id}`)).summary.priority === 7);
    await page.locator('.run-facts dd', { hasText: /^7$/ }).waitFor();
  }));

  it('revoke the lease of the worker that is shown', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'leases', kind: 'send' });
    await here.api.claim('leases', 'slow-1');
    await go(`/ui/executions/${id}`);
    await page.getByRole('button', { name: 'Revoke lease …' }).click();
    await dialog(page).getByText('slow-1').waitFor();
    await confirm(page, 'Revoke lease');
    await page.locator('.run-title .badge', { hasText: 'waiting' }).waitFor();
    await page.getByText('lease revoked').first().waitFor();
  }));

  it('edit the tags', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'mail', kind: 'send', tags: { 'app.old': '1', 'app.keep': '2' } });
    await go(`/ui/executions/${id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog(page).getByLabel('Tags').fill('app.keep=3\napp.team=billing');
    await confirm(page, 'Save');
    await page.getByRole('link', { name: 'app.team=billing' }).waitFor();
    assert.deepEqual((await here.api.get(`/v1/executions/${id}/tags`)).tags, { 'app.keep': '3', 'app.team': 'billing' });
  }));

  it('show a refusal in the dialog, with its request id', withTab(here, async (page, { go }) => {
    const id = await here.api.failed({ lane: 'norep', kind: 'send', policy: { max_replays: 0 } }, {});
    await go(`/ui/executions/${id}`);
    await page.getByRole('button', { name: 'Run again' }).first().click();
    await dialog(page).getByRole('button', { name: 'Run again' }).click();
    await dialog(page).getByRole('alert').getByText('max_replays_exhausted').waitFor();
    assert.match(await dialog(page).getByRole('alert').locator('code').textContent(), /^[0-9a-f-]{36}$/);
  }, { expected: [/409/] }));
});

describe('actions on many executions', () => {
  const here = stage();

  it('a filter is counted first, then cancelled with progress', withTab(here, async (page, { go }) => {
    await here.api.createMany(700, () => ({ lane: 'bulk', kind: 'one' }));
    await here.api.createMany(5, () => ({ lane: 'other', kind: 'two' }));
    await go('/ui/executions?lane=bulk');
    await page.getByRole('button', { name: 'Actions on all' }).click();
    await page.getByRole('button', { name: 'Cancel …' }).click();
    await dialog(page).getByRole('heading', { name: 'Cancel: 700 executions' }).waitFor();
    assert.equal((await here.api.get('/v1/executions?lane=bulk&state=cancelled&limit=1')).executions.length, 0);
    await dialog(page).getByRole('button', { name: 'Cancel 700' }).click();
    await dialog(page).locator('.ex-figures div', { hasText: 'cancelled' }).getByText('700').waitFor();
    await dialog(page).getByRole('button', { name: 'Close' }).click();
    const counts = Object.fromEntries((await here.api.get('/v1/counts')).lanes.map((lane) => [lane.lane, lane.counts]));
    assert.deepEqual(counts, { bulk: { cancelled: 700 }, other: { waiting: 5 } });
    await page.getByRole('table').locator('.badge', { hasText: 'cancelled' }).first().waitFor();
  }));

  it('marked rows get a priority, and failed ones run again', withTab(here, async (page, { go }) => {
    await here.api.createMany(3, () => ({ lane: 'marked', kind: 'three' }));
    const failed = await here.api.failed({ lane: 'broken', kind: 'four' }, {});
    await go('/ui/executions?lane=marked');
    const boxes = page.getByRole('table').getByRole('checkbox');
    await boxes.nth(0).check();
    await boxes.nth(2).check();
    await page.getByRole('button', { name: 'Actions on 2 selected' }).click();
    await page.getByRole('button', { name: 'Set priority …' }).click();
    await dialog(page).getByLabel(/New priority/).fill('3');
    await dialog(page).getByRole('button', { name: 'Set priority 2' }).click();
    await dialog(page).locator('.ex-figures div', { hasText: 'changed' }).first().getByText('2').waitFor();
    await dialog(page).getByRole('button', { name: 'Close' }).click();
    const priorities = (await here.api.get('/v1/executions?lane=marked')).executions.map((row) => row.priority).sort();
    assert.deepEqual(priorities, [0, 3, 3]);
    await go('/ui/executions?state=failed');
    await page.getByRole('button', { name: 'Actions on all' }).click();
    await page.getByRole('button', { name: 'Run again …' }).click();
    await dialog(page).getByRole('button', { name: 'Run again 1' }).click();
    await dialog(page).locator('.ex-figures').getByText('1').first().waitFor();
    assert.equal(await here.api.state(failed), 'waiting');
  }));
});

describe('actions on lanes, workers, keys and namespaces', () => {
  const here = stage();

  it('a lane is paused, resumed, drained and disabled', withTab(here, async (page, { go }) => {
    await here.api.create({ lane: 'mail', kind: 'send' });
    const state = async () => (await here.api.get('/v1/lanes/mail')).state;
    await go('/ui/lanes');
    await page.getByRole('button', { name: 'Pause' }).click();
    await confirm(page, 'Pause', 'smtp is down');
    await page.getByText('smtp is down').waitFor();
    assert.equal(await state(), 'paused');
    await page.getByRole('button', { name: 'Resume' }).click();
    await confirm(page, 'Resume');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    for (const [button, after] of [['Drain', 'draining'], ['Disable', 'disabled']]) {
      await page.getByRole('button', { name: 'More for lane mail' }).click();
      await page.getByRole('button', { name: `${button} …` }).click();
      await confirm(page, button);
      await page.locator('td .badge', { hasText: after }).waitFor();
      assert.equal(await state(), after);
    }
  }));

  it('a worker is drained and marked dead', withTab(here, async (page, { go }) => {
    await here.api.post('/v1/workers', { worker_id: 'mailer', worker_instance_id: 'mailer-1', lanes: ['fleet'], liveness_ttl_ms: 600_000 });
    await go('/ui/workers');
    const card = page.getByRole('article', { name: 'Worker mailer-1' });
    await page.getByRole('button', { name: 'Live updates: Live' }).waitFor();
    await here.api.create({ lane: 'fleet', kind: 'carry' });
    await here.api.claim('fleet', 'mailer-1');
    await card.getByRole('link', { name: 'carry' }).waitFor();
    await card.getByRole('button', { name: 'Drain …' }).click();
    await confirm(page, 'Drain');
    await card.getByText('draining').waitFor();
    await card.getByRole('button', { name: 'Mark dead …' }).click();
    await confirm(page, 'Mark dead', 'the host is gone');
    await page.getByText('No worker is registered').waitFor();
    await page.getByRole('button', { name: 'Show ended' }).click();
    await card.getByText('the host is gone').waitFor();
  }));

  it('an API key is created, shown once and revoked', withTab(here, async (page, { go }) => {
    await go('/ui/settings/api-keys');
    await page.getByRole('button', { name: 'Create key …' }).first().click();
    await dialog(page).locator('input[name="name"]').fill('reader');
    await dialog(page).getByLabel('Role').selectOption('viewer');
    await dialog(page).getByRole('button', { name: 'Create key' }).click();
    const secret = await dialog(page).locator('.secret').textContent();
    assert.ok(secret.length > 20);
    await dialog(page).getByRole('button', { name: 'I have copied it' }).click();
    const row = page.getByRole('row', { name: /reader/ });
    await row.getByText('viewer').waitFor();
    assert.equal((await page.content()).includes(secret), false);
    await row.getByRole('button', { name: 'Revoke …' }).click();
    await dialog(page).getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('There are no API keys').waitFor();
    assert.deepEqual((await here.api.get('/v1/api-keys')).keys, []);
  }));

  it('signing keys are rotated; a wrong duration is explained', withTab(here, async (page, { go }) => {
    await go('/ui/settings/signing-keys');
    const before = (await here.api.get('/v1/signing-keys')).keys.length;
    await page.getByRole('button', { name: 'Rotate …' }).click();
    await dialog(page).getByLabel(/Grace period/).fill('soon');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    await dialog(page).getByText('written like 30m').waitFor();
    await dialog(page).getByLabel(/Grace period/).fill('2h');
    await confirm(page, 'Rotate');
    await until('there is another key', async () => (await here.api.get('/v1/signing-keys')).keys.length === before + 1);
    await page.getByText('signs now').waitFor();
  }));

  it('the retention of a namespace is set, and ended executions are removed', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'old', kind: 'send', namespace: 'billing' });
    await here.api.post(`/v1/executions/${id}/cancel`);
    await go('/ui/settings/namespaces');
    await page.getByRole('button', { name: 'Add settings …' }).click();
    await dialog(page).getByLabel('Namespace').fill('billing');
    await dialog(page).getByLabel('completed').fill('2h');
    await confirm(page, 'Save');
    await page.getByRole('row', { name: /billing/ }).getByText('2h').waitFor();
    assert.deepEqual((await here.api.get('/v1/namespaces/billing')).retention, { completed_ms: 7_200_000 });
    await page.getByRole('button', { name: 'Remove ended executions …' }).click();
    await dialog(page).getByLabel('Ended longer ago than').fill('0s');
    await dialog(page).getByLabel('Lane').fill('old');
    await dialog(page).getByRole('button', { name: 'Count' }).click();
    await dialog(page).getByRole('heading', { name: 'Remove 1 execution' }).waitFor();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('status').getByText('1 execution removed').waitFor();
  }));
});
