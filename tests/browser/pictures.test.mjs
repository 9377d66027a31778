// Pictures of the pages. They are taken in every run, to see that they can be, and with FF_UPDATE_PICTURES=1 they become those in
// docs/images, which README.md and docs/dashboard.md show.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { before, describe, it } from 'node:test';
import { setBudget, spending, waiting } from './support/budgets.mjs';
import { failAll, slow } from './support/dead-letters.mjs';
import { makeFlows } from './support/flows.mjs';
import { makeHeld, setLimit } from './support/limits.mjs';
import { makeScene, work } from './support/scene.mjs';
import { makeHistory } from './support/schedules.mjs';
import { stage, withTab } from './support/stage.mjs';

const update = process.env.FF_UPDATE_PICTURES === '1';
const target = update ? fileURLToPath(new URL('../../docs/images/', import.meta.url)) : mkdtempSync(path.join(tmpdir(), 'ff-pictures-'));
const mostBytes = 150_000;

async function makeBudget(api) {
  await setBudget(api, 'tokens', { dimensions: [{ name: 'tokens', hard: 1_000_000, soft: 800_000, reserve: 60_000 }, { name: 'cents', hard: 5000 }], period: '1d' });
  for (const [customer, spent] of [['globex', 240_000], ['initech', 640_000], ['umbrella', 30_000], ['acme', 960_000]]) await spending(api, 'tokens', customer, { tokens: spent, cents: spent / 250 }, { force: true });
  await waiting(api, 'tokens', 'acme');
}

async function makeLetters(api) {
  await failAll(api, slow(40), { lane: 'post', kind: 'send-letter' });
  await failAll(api, ['cannot read /var/in/7.png', 'cannot read /var/in/8.png'], { lane: 'scans', kind: 'read-scan' }, { category: 'input' });
  await api.post('/v1/redrives', { category: 'input', lane: 'scans', rate: '100/1m', paused: true, reason: 'the disk is mounted again' });
}

describe('pictures', () => {
  const here = stage();
  before(async () => {
    mkdirSync(target, { recursive: true });
    here.scene = await makeScene(here.url);
    here.flows = await makeFlows(here.api);
    await makeHistory(here.api, 'nightly-report', { overlap: 'skip', execution: { payload: { month: '2026-11' }, tags: { 'report.format': 'pdf' } } });
    await makeHeld(here.api, 'calls-of-customers', ['acme', 'acme', 'acme', 'acme', 'globex', 'initech', 'initech'], { concurrency: 2 });
    await setLimit(here.api, 'newsletters', { lane: 'newsletters', rate: { count: 100, period_ms: 60_000, burst: 200 } });
    await setLimit(here.api, 'exports', { namespace: 'shop', kind: 'export', concurrency: 4 });
    await makeBudget(here.api);
    await makeLetters(here.api);
    // Work goes on while the pictures are taken, so that the views are caught moving.
    let busy = true;
    const load = (async () => {
      for (let n = 1000; busy; n += 1) {
        await work(here.api, n, 1);
        for (const instance of ['mailer-1', 'mailer-2', 'biller-1', 'imager-1', 'imager-2']) await here.api.post('/v1/workers/heartbeat', { worker_instance_id: instance });
        await new Promise((resolve) => setTimeout(resolve, 150 + (n % 20) * 15));
      }
    })();
    here.stop = async () => {
      busy = false;
      await load;
      if (!update) rmSync(target, { recursive: true, force: true });
    };
    // Charts need some intervals of five seconds.
    if (update) await new Promise((resolve) => setTimeout(resolve, 90_000));
  });
  const picture = (name, route, ready, options = {}) => it(name, withTab(here, async (page, { go }) => {
    await go(route());
    await ready(page);
    await page.getByRole('button', { name: 'Live updates: Live' }).waitFor();
    await page.evaluate(() => document.fonts.ready);
    const file = path.join(target, `${name}.png`);
    await page.screenshot({ path: file });
    const { size } = statSync(file);
    assert.ok(size > 10_000 && size < mostBytes, `${name}.png has ${size} bytes`);
  }, { width: 1240, height: 780, ...options }));

  const rows = (page) => page.locator('.vtable-body .vrow').nth(5).waitFor();
  picture('overview', () => '/', async (page) => {
    await page.locator('.ov-failure').first().waitFor();
    // The chart has drawn something: not all of its pixels are empty.
    await page.waitForFunction(() => {
      const canvas = document.querySelector('.chart canvas');
      return canvas?.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0);
    });
  });
  picture('executions', () => '/ui/executions', rows, { height: 620 });
  picture('execution', () => `/ui/executions/${here.scene.story}`, (page) => page.getByRole('region', { name: 'Why it failed' }).waitFor());
  picture('execution-dark', () => `/ui/executions/${here.scene.story}`, (page) => page.getByRole('region', { name: 'Why it failed' }).waitFor(), { dark: true });
  picture('flow', () => `/ui/flows/${here.flows.running}?node=publish`, (page) => page.getByRole('complementary', { name: 'Node' }).waitFor());
  picture('schedule', () => '/ui/schedules/nightly-report', (page) => page.getByText('Europe/Berlin', { exact: true }).first().waitFor());
  picture('limits', () => '/ui/limits', (page) => page.getByText('acme', { exact: true }).first().waitFor(), { height: 420 });
  picture('budget', () => '/ui/budgets/tokens', (page) => page.getByRole('figure', { name: 'Usage of tokens' }).waitFor());
  picture('dead-letters', () => '/ui/dead-letters', (page) => page.getByText('no answer from <n> after <n> ms', { exact: true }).waitFor(), { height: 420 });
  picture('lanes', () => '/ui/lanes', (page) => page.getByRole('link', { name: 'reports' }).waitFor(), { height: 420 });
  picture('workers', () => '/ui/workers', (page) => page.getByRole('article', { name: 'Worker mailer-2' }).waitFor(), { height: 620 });
  picture('events', () => '/ui/events', rows, { dark: true, height: 620 });
});
