// Every page, as a person uses it.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { makeScene } from './support/scene.mjs';
import { stage, withTab } from './support/stage.mjs';

describe('pages', () => {
  const here = stage();
  before(async () => { here.scene = await makeScene(here.url); });

  it('the overview shows counts, charts, lanes and what needs attention', withTab(here, async (page, { go }) => {
    await go('/');
    await page.locator('.ov-count[data-state="completed"] b').waitFor();
    const lanes = page.locator('section', { has: page.getByRole('heading', { name: 'Lanes', exact: true }) });
    for (const lane of ['billing', 'images', 'mail', 'reports']) await lanes.getByRole('link', { name: lane, exact: true }).waitFor();
    assert.equal(await page.locator('.chart canvas').count(), 2);
    await page.getByText(/paused/).first().waitFor();
    await page.getByText('sqlite ready').or(page.getByText('postgres ready')).waitFor();
    await page.locator('.ov-count[data-state="failed"]').click();
    await page.waitForURL('**/ui/executions?state=failed');
  }));

  it('filters are in the address, both ways', withTab(here, async (page, { go }) => {
    await go('/ui/executions?state=failed&lane=billing');
    const table = page.getByRole('table', { name: 'Executions' });
    await table.locator('.badge', { hasText: 'failed' }).first().waitFor();
    assert.equal(await table.locator('.badge', { hasNotText: 'failed' }).count(), 0);
    assert.equal(await page.getByRole('button', { name: /^failed/ }).getAttribute('aria-pressed'), 'true');
    assert.equal(await page.locator('input[name="lane"]').inputValue(), 'billing');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.waitForURL((url) => url.pathname === '/ui/executions' && url.search === '');
    await page.locator('input[name="kind"]').fill('send-newsletter');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/executions?kind=send-newsletter');
    await table.locator('.badge', { hasText: 'cancelled' }).waitFor();
    await page.goBack();
    await page.waitForURL((url) => url.search === '');
    await page.waitForFunction(() => document.querySelector('input[name="kind"]').value === '');
    await page.locator('input[name="tag"]').fill('mail.campaign=spring');
    await page.keyboard.press('Enter');
    await table.getByText('send-welcome').first().waitFor();
    await page.locator('input[name="namespace"]').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No execution matches these filters').waitFor();
    await page.getByRole('link', { name: 'show all executions' }).click();
    await page.getByRole('button', { name: 'Time and flow' }).click();
    await page.getByRole('button', { name: 'created in the last hour' }).click();
    await page.waitForURL(/created_from=\d+/);
    await page.locator('input[name="created_before"]').fill('2020-01-01T00:00:01');
    await page.locator('input[name="created_before"]').blur();
    await page.getByText('No execution matches these filters').waitFor();
  }));

  it('views are saved and columns are chosen, and both survive', withTab(here, async (page, { go }) => {
    await go('/ui/executions?state=failed&kind=charge-card');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Broken cards');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('priority').check();
    await page.reload();
    await page.getByRole('columnheader', { name: 'priority' }).waitFor();
    await page.getByRole('link', { name: 'All', exact: true }).click();
    await page.getByRole('link', { name: 'Broken cards' }).click();
    await page.waitForURL('**/ui/executions?state=failed&kind=charge-card');
  }));

  it('the run page shows the whole story', withTab(here, async (page, { go }) => {
    await go(`/ui/executions/${here.scene.story}`);
    const why = page.getByRole('region', { name: 'Why it failed' });
    await why.getByText('the bank declined the charge').waitFor();
    await why.getByText('ask for another card').waitFor();
    assert.equal(await page.locator('.tl-title', { hasText: 'Attempt' }).count(), 3);
    assert.ok(await page.locator('.tl-bar').count() >= 6);
    await page.getByLabel('payload', { exact: true }).getByText('40999').waitFor();
    await page.getByRole('button', { name: 'Hex' }).click();
    await page.getByText(/7b 22 69 6e/).waitFor();
    await page.getByText('retry scheduled').first().waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Raw JSON' }).click();
    await page.getByRole('dialog').getByText('"execution_id"').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Copy as CLI' }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`^flowfabric executions show ${here.scene.story}`));
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl -s http:\/\/127\.0\.0\.1:\d+\/v1\/executions\/fp/);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    assert.match((await download).suggestedFilename(), /payload\.json$/);
  }));

  it('times have an exact tooltip and can be shown in UTC', withTab(here, async (page, { go }) => {
    await go(`/ui/executions/${here.scene.story}`);
    const created = page.locator('.run-facts time').first();
    const title = await created.getAttribute('title');
    assert.match(title, /\+0[12]:00\n.*Z\n\d{13}$/);
    const local = await created.textContent();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill('UTC');
    await page.keyboard.press('Enter');
    await page.waitForFunction((before) => document.querySelector('.run-facts time')?.textContent !== before, local);
    assert.ok(title.includes((await created.textContent()).slice(0, 8)));
  }));

  it('everything can be reached with the keyboard', withTab(here, async (page, { go }) => {
    await go('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    await page.waitForURL('**/ui/executions');
    await page.locator('.vtable-body .vrow').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    const row = page.locator('.vrow.at');
    assert.equal(await row.getAttribute('aria-rowindex'), '2');
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Actions on 1 selected' }).waitFor();
    await page.keyboard.press('o');
    await page.waitForURL(/\/ui\/executions\/fp/);
    await page.keyboard.press('/');
    await page.keyboard.type('state:failed lane:billing');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/executions?state=failed&lane=billing');
    await page.keyboard.press('/');
    await page.keyboard.type(here.scene.story);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/ui/executions/${here.scene.story}`);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('command palette').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('mail');
    await page.getByRole('option', { name: /Lane mail/ }).click();
    await page.waitForURL('**/ui/executions?lane=mail');
    await page.keyboard.press('t');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  }));

  it('the palette takes the key that follows the shortcut, however soon', withTab(here, async (page, { go }) => {
    await go('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    // One task later and before the next frame: no key can arrive sooner.
    const focused = await page.evaluate(async () => {
      document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));
      await new Promise((done) => { const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
      return document.activeElement?.getAttribute('role');
    });
    assert.equal(focused, 'combobox');
  }));

  it('workers show what they hold', withTab(here, async (page, { go }) => {
    await go('/ui/workers');
    const card = page.getByRole('article', { name: 'Worker imager-2' });
    await card.getByText('gpu, large-memory').waitFor();
    await page.getByLabel('Find a worker').fill('mailer');
    await page.getByRole('article', { name: 'Worker mailer-1' }).waitFor();
    await card.waitFor({ state: 'detached' });
  }));

  it('what does not exist says so, with the request id', withTab(here, async (page, { go }) => {
    await go('/ui/executions/fp7-01890000-0000-7000-8000-000000000001');
    await page.getByText('This execution cannot be shown').waitFor();
    await page.getByRole('alert').getByText('not_found').waitFor();
    assert.match(await page.getByRole('alert').locator('code').textContent(), /^[0-9a-f-]{36}$/);
    await go('/ui/nowhere');
    await page.getByText('There is no such page').waitFor();
  }, { expected: [/404/] }));

  it('narrow screens lose no function', withTab(here, async (page, { go }) => {
    for (const path of ['/', '/ui/executions', `/ui/executions/${here.scene.story}`, '/ui/flows', '/ui/lanes', '/ui/workers', '/ui/events', '/ui/settings']) {
      await go(path);
      await page.locator('h1').first().waitFor();
      await page.locator('.panel, .vtable-body .vrow, .wk, .empty').first().waitFor();
      const tooWide = () => document.querySelector('#main').scrollWidth - document.querySelector('#main').clientWidth;
      // Rows that arrive later may be laid out in two steps.
      await page.waitForFunction(() => document.querySelector('#main').scrollWidth <= document.querySelector('#main').clientWidth)
        .catch(async () => assert.fail(`${path} is ${await page.evaluate(tooWide)} pixels too wide`));
    }
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Executions' }).click();
    await page.locator('.vtable-body .vrow').first().waitFor();
  }, { width: 390, height: 844 }));

  it('a newcomer finds a failed execution, why it failed, and how to run it again', withTab(here, async (page, { go }) => {
    await go('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const recent = page.locator('section', { has: page.getByRole('heading', { name: 'Recent failures' }) });
    await recent.getByRole('link', { name: 'charge-card' }).first().click();
    await page.getByRole('region', { name: 'Why it failed' }).getByText(/the bank declined|503 Service/).waitFor();
    await page.getByRole('button', { name: 'Run again' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('status').getByText(/Started again/).waitFor();
    await page.locator('.run-title .badge', { hasText: /waiting|resumable/ }).waitFor();
  }));
});

describe('an empty store', () => {
  const here = stage();
  it('says what to do next on every page', withTab(here, async (page, { go }) => {
    for (const [path, text] of [['/', 'There are no executions yet'], ['/ui/executions', 'flowfabric executions create'], ['/ui/flows', 'There are no flows yet'], ['/ui/lanes', 'There are no lanes yet'], ['/ui/workers', 'No worker is registered'],
      ['/ui/events', 'Waiting for events'], ['/ui/settings/api-keys', 'There are no API keys'], ['/ui/settings/namespaces', 'No namespace has settings']]) {
      await go(path);
      await page.getByText(text).first().waitFor();
    }
  }));
});
