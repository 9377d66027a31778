// Views that follow what happens: two tabs, a server that restarts, a tab that is hidden, more events than anyone can read.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stage, withTab } from './support/stage.mjs';
import { until } from './support/work.mjs';

const live = (page) => page.getByRole('button', { name: 'Live updates: Live' });
const state = (page, text) => page.locator('.run-title .badge', { hasText: text });
const isStream = (request) => request.url().includes('/v1/events') && request.headers().accept === 'text/event-stream';

describe('live', () => {
  const here = stage();

  it('a run page follows its execution', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'follow', kind: 'send' });
    await go(`/ui/executions/${id}`);
    await live(page).waitFor();
    const claimed = await here.api.claim('follow', 'mailer-1');
    await state(page, 'active').waitFor();
    await page.locator('.tl-title', { hasText: 'Attempt 1' }).waitFor();
    await here.api.complete(claimed, { result: { sent: true } });
    await state(page, 'completed').waitFor();
    await page.getByLabel('result', { exact: true }).getByText('"sent"').waitFor();
  }));

  it('two tabs see each other', withTab(here, async (page, { go, context }) => {
    const id = await here.api.create({ lane: 'tabs', kind: 'send' });
    const other = await here.tab({ context });
    await other.go('/ui/executions?lane=tabs');
    await other.page.locator('.vtable-body .badge', { hasText: 'waiting' }).waitFor();
    await live(other.page).waitFor();
    await go(`/ui/executions/${id}`);
    await page.getByRole('button', { name: 'Cancel …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel execution' }).click();
    await other.page.locator('.vtable-body .badge', { hasText: 'cancelled' }).waitFor();
    await here.api.createMany(3, () => ({ lane: 'tabs', kind: 'send' }));
    await other.page.getByRole('button', { name: '3 new, show' }).click();
    await until('there are four rows', async () => await other.page.locator('.vtable-body .vrow').count() === 4);
    await other.check();
  }));

  it('there is one stream per tab, and none while it is hidden', withTab(here, async (page, { go }) => {
    const open = new Set();
    let requests = 0;
    page.on('request', (request) => { requests += 1; if (isStream(request)) open.add(request); });
    for (const event of ['requestfinished', 'requestfailed']) page.on(event, (request) => open.delete(request));
    await page.clock.install();
    await go('/');
    await live(page).waitFor();
    for (const name of ['Executions', 'Events', 'Workers', 'Overview']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await until('one stream is open', () => open.size === 1);
      await live(page).waitFor();
    }
    const setVisibility = (value) => page.evaluate((wanted) => {
      Object.defineProperty(document, 'visibilityState', { value: wanted, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, value);
    await setVisibility('hidden');
    await until('the stream is closed', () => open.size === 0);
    const before = requests;
    await page.clock.runFor(120_000);
    assert.equal(requests, before);
    await setVisibility('visible');
    await until('the stream is open again', () => open.size === 1);
    await until('the figures are loaded again', () => requests > before + 1);
  }, { expected: [/ERR_ABORTED/] }));

  it('pausing closes the stream, and resuming catches up', withTab(here, async (page, { go }) => {
    await go('/ui/executions?lane=paused');
    await live(page).waitFor();
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Live updates: Paused' }).waitFor();
    await here.api.create({ lane: 'paused', kind: 'send' });
    await page.keyboard.press('p');
    await page.locator('.vtable-body .vrow').waitFor();
  }));

  it('a restart of the server is visible and is recovered from', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'restart', kind: 'send' });
    await go(`/ui/executions/${id}`);
    await live(page).waitFor();
    await here.server.stop();
    await page.getByRole('button', { name: /Live updates: Reconnecting/ }).waitFor();
    await state(page, 'waiting').waitFor();
    await here.server.start();
    await here.api.claim('restart', 'mailer-1');
    await live(page).waitFor();
    await state(page, 'active').waitFor();
  }, { expected: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|status of 50\d/] }));

  it('the feed filters by type and lane', withTab(here, async (page, { go }) => {
    await go('/ui/events?lane=feed');
    await live(page).waitFor();
    await here.api.create({ lane: 'elsewhere', kind: 'send' });
    await here.api.create({ lane: 'feed', kind: 'send' });
    await page.locator('.vtable-body .vrow', { hasText: 'created' }).waitFor();
    assert.equal(await page.locator('.vtable-body .vrow').count(), 1);
    await page.getByRole('button', { name: 'All types' }).click();
    await page.getByLabel('completed', { exact: true }).check();
    await page.waitForURL('**/ui/events?type=completed&lane=feed');
    await page.keyboard.press('Escape');
    await live(page).waitFor();
    await here.api.complete(await here.api.claim('feed'));
    await page.locator('.vtable-body .vrow', { hasText: 'completed' }).waitFor();
    assert.equal(await page.locator('.vtable-body .vrow').count(), 1);
  }));

  it('a flood of events is counted in full and shown as a sample', withTab(here, async (page, { go }) => {
    await go('/ui/events?lane=flood&type=created');
    await live(page).waitFor();
    await here.api.createMany(20_000, () => ({ lane: 'flood', kind: 'drop' }));
    await page.getByText('20\u202f000 received').waitFor({ timeout: 60_000 });
    assert.ok(await page.locator('.vtable-body .vrow').count() < 80);
    // The page answers: a row can be opened.
    await page.locator('.vtable-body a.mono').first().click();
    await page.waitForURL(/\/ui\/executions\/fp/);
    await page.getByRole('heading', { name: 'drop' }).waitFor();
  }));
});
