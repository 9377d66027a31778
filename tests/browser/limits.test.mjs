// Limits: the list, the page of one, what can be done to them, the check, what holds an execution back, hostile names, many keys.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { checkAccessibility } from './support/browser.mjs';
import { makeHeld, setLimit, useOf } from './support/limits.mjs';
import { flowfabric } from './support/server.mjs';
import { stage, withTab } from './support/stage.mjs';

const live = (page) => page.getByRole('button', { name: 'Live updates: Live' });
const dialog = (page) => page.getByRole('dialog');
const table = (page) => page.getByRole('table', { name: 'Limits' });
const row = (page, name) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const panel = (page, title) => page.locator('section.panel').filter({ has: page.getByRole('heading', { level: 2, name: title }) });
const field = (page, label) => dialog(page).locator('.field').filter({ hasText: label });
const press = (page, name) => dialog(page).getByRole('button', { name, exact: true }).click();
const key = (page, name) => panel(page, /^(Keys|In use)/).getByRole('row').filter({ has: page.locator('td:first-child', { hasText: new RegExp(`^${name}$`) }) });
const refused = { expected: [/status of 4\d\d/] };

async function open(page, go, name, query = '') {
  await go(`/ui/limits/${encodeURIComponent(name)}${query}`);
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  await live(page).waitFor();
}

describe('the list of limits', () => {
  const here = stage();

  it('says how to make one while there are none, and shows one that is made elsewhere', withTab(here, async (page, { go }) => {
    await go('/ui/limits');
    await page.getByText('There are no limits yet').waitFor();
    await page.getByText(/^curl -s -X PUT .*\/v1\/limits\/customers$/).waitFor();
    await live(page).waitFor();
    await setLimit(here.api, 'mails', { lane: 'mail', rate: { count: 100, period_ms: 60_000 } });
    await row(page, 'mails').getByText('100 per min', { exact: true }).waitFor();
    await row(page, 'mails').getByText('executions of lane mail in all namespaces', { exact: true }).waitFor();
    await row(page, 'mails').getByText('not in use', { exact: true }).waitFor();
  }));

  it('shows how full the fullest key is, and how many are held back', withTab(here, async (page, { go }) => {
    const held = await makeHeld(here.api, 'calls', ['acme', 'acme', 'acme', 'other']);
    assert.equal(held.running.length, 2);
    await go('/ui/limits');
    const calls = row(page, 'calls');
    await calls.getByText('1 of 1').waitFor();
    await calls.getByText('acme', { exact: true }).waitFor();
    await calls.getByText('2 keys, 2 full', { exact: true }).waitFor();
    await calls.getByRole('cell', { name: '2', exact: true }).waitFor();
    for (const one of held.running) await here.api.complete(one);
    await calls.getByText('0 of 1').waitFor();
  }));

  it('filters by words and namespace, and opens with keys', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'shop', { namespace: 'shop', concurrency: 2 });
    await go('/');
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.waitForURL('**/ui/limits');
    await row(page, 'shop').waitFor();
    await page.locator('input[name="namespace"]').fill('other');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/limits?namespace=other');
    await row(page, 'shop').waitFor({ state: 'detached' });
    await row(page, 'mails').waitFor();
    await page.getByRole('button', { name: 'Clear filters', exact: true }).click();
    await page.locator('input[name="text"]').fill('namespace SHOP');
    await page.keyboard.press('Enter');
    await page.getByText('1 of 3 limits', { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'Limits', exact: true }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('o');
    await page.waitForURL('**/ui/limits/shop?namespace=shop');
    await page.getByText('2 at a time', { exact: true }).first().waitFor();
    await go('/ui/limits?text=nothing');
    await page.getByText('No limit matches these filters').waitFor();
  }));
});

describe('the page of a limit', () => {
  const here = stage();
  before(async () => { here.held = await makeHeld(here.api, 'calls', ['acme', 'acme', 'acme', 'other']); });

  it('shows the keys with those that have the slots, and follows', withTab(here, async (page, { go }) => {
    const { running } = here.held;
    await open(page, go, 'calls');
    await page.getByText('executions of lane lane-of-calls in all namespaces, for each value of tag app.customer').waitFor();
    await key(page, 'acme').getByText('1 of 1', { exact: true }).waitFor();
    await key(page, 'acme').getByText('when one ends', { exact: true }).waitFor();
    await key(page, 'acme').locator(`a[title="${running[0].execution_id}"]`).waitFor();
    await key(page, 'other').getByRole('cell', { name: '0', exact: true }).first().waitFor();
    await panel(page, 'Keys (2)').getByText('2 held back', { exact: true }).waitFor();
    await key(page, 'acme').getByRole('link', { name: '2', exact: true }).click();
    await page.waitForURL(/state=waiting.*tag=app\.customer%3Dacme/);
    await page.getByText('2 rows loaded', { exact: false }).waitFor();
    await page.goBack();
    await here.api.complete(running[1]);
    await key(page, 'other').getByText('0 of 1', { exact: true }).waitFor();
    await setLimit(here.api, 'calls', { lane: here.held.lane, per: ['tags.app.customer'], concurrency: 4 });
    await key(page, 'acme').getByText('1 of 4', { exact: true }).waitFor();
    await page.locator('.run-title').getByText('4 at a time', { exact: true }).waitFor();
  }));

  it('is changed; what the server refuses is said at its field', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'changed', { lane: 'x', concurrency: 3 });
    await open(page, go, 'changed');
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await dialog(page).locator('input[name="concurrency"]').fill('999999999');
    await press(page, 'Save');
    await field(page, 'At the same time').getByRole('alert').getByText(/concurrency/).waitFor();
    await dialog(page).locator('input[name="concurrency"]').fill('2');
    await dialog(page).locator('input[name="rate"]').fill('10');
    await dialog(page).locator('input[name="period"]').fill('a while');
    await press(page, 'Save');
    await field(page, 'In a period of').getByRole('alert').getByText(/is not a duration/).waitFor();
    await dialog(page).locator('input[name="period"]').fill('2m');
    await dialog(page).locator('input[name="burst"]').fill('20');
    await dialog(page).locator('input[name="reason"]').fill('the contract');
    await press(page, 'Save');
    await page.locator('.run-title').getByText('2 at a time, 10 per 2 min, up to 20 at once', { exact: true }).waitFor();
    const { info } = await useOf(here.api, 'changed');
    assert.deepEqual([info.lane, info.concurrency, info.rate, info.revision], ['x', 2, { count: 10, period_ms: 120_000, burst: 20 }, 2]);
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await press(page, 'Save');
    await page.getByText('Nothing was changed: it is like this already', { exact: true }).waitFor();
  }, refused));

  it('does not overwrite what somebody else has changed meanwhile', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'shared', { concurrency: 3, lane: 'y' });
    await open(page, go, 'shared');
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await setLimit(here.api, 'shared', { concurrency: 7, lane: 'y' });
    await dialog(page).locator('input[name="concurrency"]').fill('1');
    await press(page, 'Save');
    await dialog(page).getByRole('alert').getByText(/has revision 2/).waitFor();
    assert.equal((await useOf(here.api, 'shared')).info.concurrency, 7);
  }, refused));

  it('is removed after a question', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'doomed', { concurrency: 3, lane: 'z' });
    await open(page, go, 'doomed');
    await page.getByRole('button', { name: 'Remove …', exact: true }).click();
    await dialog(page).getByLabel(/Reason/).fill('not needed');
    await press(page, 'Remove limit');
    await page.waitForURL('**/ui/limits');
    await row(page, 'calls').waitFor();
    await row(page, 'doomed').waitFor({ state: 'detached' });
    await go('/ui/limits/doomed');
    await page.getByText('This limit cannot be shown').waitFor();
  }, refused));

  it('is created in a form, and never over another one', withTab(here, async (page, { go }) => {
    await go('/ui/limits');
    await page.getByRole('button', { name: 'Create limit …', exact: true }).click();
    await dialog(page).locator('input[name="name"]').fill('calls');
    await press(page, 'Create limit');
    await dialog(page).getByRole('alert').first().waitFor();
    await dialog(page).locator('input[name="per"]').fill('customer');
    await dialog(page).locator('input[name="concurrency"]').fill('5');
    await press(page, 'Create limit');
    await field(page, 'Counted apart').getByRole('alert').getByText(/customer/).waitFor();
    await dialog(page).locator('input[name="per"]').fill('creator, kind');
    await press(page, 'Create limit');
    await dialog(page).getByRole('alert').getByText(/has revision/).waitFor();
    await dialog(page).locator('input[name="name"]').fill('people');
    await press(page, 'Create limit');
    await page.waitForURL('**/ui/limits/people');
    await page.getByText('5 at a time', { exact: true }).first().waitFor();
    assert.deepEqual((await useOf(here.api, 'people')).info.per, ['creator', 'kind']);
  }, refused));
});

describe('what limits do to an execution', () => {
  const here = stage();

  it('a check tells whether it could start, without making anything', withTab(here, async (page, { go }) => {
    const held = await makeHeld(here.api, 'checked', ['acme']);
    await go('/ui/limits');
    await page.getByRole('button', { name: 'Check …', exact: true }).click();
    await dialog(page).locator('input[name="kind"]').fill('call');
    await dialog(page).locator('input[name="lane"]').fill(held.lane);
    await press(page, 'Check');
    await dialog(page).getByText('No limit is for it: it could start now.', { exact: true }).waitFor();
    await dialog(page).locator('textarea[name="tags"]').fill('app.customer=other');
    await press(page, 'Check');
    await dialog(page).getByText('It could start now.', { exact: true }).waitFor();
    await dialog(page).locator('textarea[name="tags"]').fill('app.customer=acme');
    await press(page, 'Check');
    const result = dialog(page).getByRole('status', { name: 'Result' });
    await result.getByText('It would be held back.', { exact: true }).waitFor();
    await result.getByText('1 of 1', { exact: true }).waitFor();
    await result.locator(`a[title="${held.running[0].execution_id}"]`).waitFor();
    assert.equal((await here.api.get(`/v1/executions?lane=${held.lane}`)).executions.length, 1);
    await dialog(page).locator('textarea[name="tags"]').fill('no such=key');
    await press(page, 'Check');
    await field(page, 'Tags').getByRole('alert').waitFor();
  }, refused));

  it('its page says which limit holds it back, who has the slots, and when it is over', withTab(here, async (page, { go }) => {
    const held = await makeHeld(here.api, 'single', ['acme', 'acme']);
    const [running, waiting] = held.ids;
    await go(`/ui/executions/${waiting}`);
    const why = page.getByRole('region', { name: 'Why it is not running' });
    await why.getByText(/Limit "single" .* 1 wait for it; its slots are held by/).waitFor();
    await why.locator(`a[title="${running}"]`).waitFor();
    const limits = panel(page, 'Limits that it is under');
    await limits.getByText('holds it back', { exact: true }).waitFor();
    await limits.getByText('1 of 1', { exact: true }).waitFor();
    await limits.locator(`a[title="${running}"]`).waitFor();
    await page.getByRole('row', { name: /limited/ }).first().waitFor();
    await here.api.complete(held.running[0]);
    await limits.waitFor({ state: 'detached' });
    await go(`/ui/executions/${waiting}`);
    await page.locator('.run-title .badge', { hasText: 'waiting' }).waitFor();
    assert.equal(await page.getByText('Limits that it is under').count(), 0);
  }));

  it('a rate tells when the next one may start', withTab(here, async (page, { go }) => {
    const held = await makeHeld(here.api, 'slow', ['acme', 'acme'], { concurrency: undefined, rate: { count: 1, period_ms: 86_400_000 } });
    await open(page, go, 'slow');
    await key(page, 'acme').getByText('0 may start now', { exact: true }).waitFor();
    const { keys } = await useOf(here.api, 'slow');
    await key(page, 'acme').locator(`time[datetime="${new Date(keys[0].next_start_at).toISOString()}"]`).waitFor();
    await go(`/ui/executions/${held.ids[1]}`);
    await page.getByRole('region', { name: 'Why it is not running' }).getByText(/left$/).waitFor();
  }));

  it('events of limits lead to their pages', withTab(here, async (page, { go }) => {
    await go('/ui/events?type=limit_created,limit_changed');
    await live(page).waitFor();
    await setLimit(here.api, 'told', { concurrency: 1, lane: 'told', reason: 'the contract' });
    await page.getByRole('table', { name: 'Events' }).getByRole('link', { name: 'told', exact: true }).click();
    await page.waitForURL('**/ui/limits/told');
    await go('/ui/events');
    await page.getByRole('button', { name: 'All types', exact: true }).click();
    await page.getByRole('heading', { level: 3, name: 'Limits', exact: true }).waitFor();
    await page.getByLabel('limited', { exact: true }).waitFor();
    assert.equal(await page.getByRole('heading', { level: 3, name: 'Others', exact: true }).count(), 0, 'every type of event has its group');
  }));
});

describe('limits for keys of one namespace and for viewers', () => {
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
    await setLimit(here.api, 'everybody', { concurrency: 5 });
    await setLimit(here.api, 'own', { namespace: 'tenant', concurrency: 2 });
    await setLimit(here.api, 'theirs', { namespace: 'rival', concurrency: 2 });
  });

  it('a viewer looks and checks', withTab(here, async (page, { go }) => {
    await signIn(page, go, here.server.prepared.viewer, '/ui/limits');
    await row(page, 'theirs').waitFor();
    assert.equal(await page.getByRole('button', { name: /Create limit/ }).count(), 0);
    await row(page, 'everybody').getByRole('link', { name: 'everybody', exact: true }).click();
    await page.getByText('Nothing is in use').waitFor();
    assert.equal(await page.getByRole('button', { name: /Change …|Remove …/ }).count(), 0);
    await page.getByRole('button', { name: 'Check …', exact: true }).click();
    await press(page, 'Check');
    await dialog(page).getByText('It could start now.', { exact: true }).waitFor();
  }, refused));

  it('a key of one namespace sees its own limits and those for all, without the use of others, and changes its own', withTab(here, async (page, { go }) => {
    await signIn(page, go, here.server.prepared.tenant, '/ui/limits');
    await row(page, 'everybody').getByText('not shown to a key of one namespace').waitFor();
    await row(page, 'own').waitFor();
    assert.equal(await row(page, 'theirs').count(), 0);
    await row(page, 'everybody').getByRole('link', { name: 'everybody', exact: true }).click();
    await page.getByText('What is in use is not shown').waitFor();
    assert.equal(await page.getByRole('button', { name: /Change …|Remove …/ }).count(), 0);
    await page.goBack();
    await row(page, 'own').getByRole('link', { name: 'own', exact: true }).click();
    await page.getByRole('button', { name: 'Change …', exact: true }).click();
    await dialog(page).locator('input[name="concurrency"]').fill('3');
    await press(page, 'Save');
    await page.locator('.run-title').getByText('3 at a time', { exact: true }).waitFor();
  }, refused));
});

describe('hostile limits, many keys, and every screen', () => {
  const here = stage();
  const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';

  it('names and keys with markup are texts', withTab(here, async (page, { go }) => {
    const name = '"><img-src=x>&lt;';
    const lane = '<b>lane</b>';
    await setLimit(here.api, name, { lane, kind: markup.slice(0, 100), concurrency: 1, per: ['tags.app.note'], reason: markup });
    await here.api.create({ lane, kind: markup.slice(0, 100), tags: { 'app.note': markup } });
    const waiting = await here.api.create({ lane, kind: markup.slice(0, 100), tags: { 'app.note': markup } });
    await here.api.claim(lane, 'tester-1', { max_executions: 2 });
    for (const path of ['/ui/limits', `/ui/limits/${encodeURIComponent(name)}`, `/ui/executions/${waiting}`]) {
      await go(path);
      await page.locator('h1').first().waitFor();
      await live(page).waitFor();
      await page.getByText('1 of 1').first().waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll('#main img, #main script').length), 0, path);
    }
    await panel(page, 'Limits that it is under').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    await panel(page, 'Keys (1)').getByText(markup, { exact: true }).waitFor();
  }));

  it('of many keys a hundred are shown, and more on demand', withTab(here, async (page, { go }) => {
    await setLimit(here.api, 'many', { lane: 'many', concurrency: 3, per: ['tags.app.customer'] });
    await here.api.createMany(150, (n) => ({ lane: 'many', kind: 'call', tags: { 'app.customer': `customer-${n}` } }));
    await here.api.claim('many', 'tester-1', { max_executions: 150 });
    await go('/ui/limits?text=many');
    await row(page, 'many').getByText('100 keys …', { exact: true }).waitFor();
    await open(page, go, 'many');
    await panel(page, 'Keys (100 of more)').waitFor();
    await page.getByRole('button', { name: 'Show more keys', exact: true }).click();
    await panel(page, 'Keys (150)').waitFor();
    assert.equal(await panel(page, 'Keys (150)').locator('tbody tr').count(), 150);
    await page.getByRole('button', { name: 'Show more keys', exact: true }).waitFor({ state: 'detached' });
  }));

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390, height: 844 }]])
    it(`are accessible, ${name}`, withTab(here, async (page, { go }) => {
      const limit = `calls-${name}`;
      const held = await makeHeld(here.api, limit, ['acme', 'acme', 'other']);
      await go('/ui/limits');
      await row(page, limit).getByText('1 of 1').waitFor();
      await checkAccessibility(page, `list ${name}`);
      await open(page, go, limit);
      await key(page, 'acme').waitFor();
      await checkAccessibility(page, `page ${name}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'the page does not scroll sideways');
      await page.getByRole('button', { name: 'Change …', exact: true }).click();
      await checkAccessibility(page, `form ${name}`);
      assert.ok(await dialog(page).evaluate((element) => element.scrollWidth <= element.clientWidth + 1), 'the form does not scroll sideways');
      await page.keyboard.press('Escape');
      await dialog(page).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Check …', exact: true }).click();
      await press(page, 'Check');
      await dialog(page).getByRole('status', { name: 'Result' }).waitFor();
      await checkAccessibility(page, `check ${name}`);
      await page.keyboard.press('Escape');
      await go(`/ui/executions/${held.ids[1]}`);
      await panel(page, 'Limits that it is under').getByText('holds it back').waitFor();
      await checkAccessibility(page, `execution ${name}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'the run page does not scroll sideways');
    }, options));
});
