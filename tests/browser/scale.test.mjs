// Fifty thousand executions: the list stays short in the page and complete for the reader.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { stage, withTab } from './support/stage.mjs';
import { until } from './support/work.mjs';

const many = 50_000;

describe('fifty thousand executions', () => {
  const here = stage();
  before(async () => { await here.api.createMany(many, (n) => ({ lane: `lane-${n % 20}`, kind: n % 1000 === 7 ? 'rare' : 'common', tags: n % 2 === 0 ? { 'app.half': 'even' } : {} })); });

  it('can be counted, scrolled and searched', withTab(here, async (page, { go }) => {
    await go('/');
    await page.locator('.ov-count[data-state="waiting"] b', { hasText: '50\u202f000' }).waitFor();
    await go('/ui/executions');
    const rows = page.locator('.vtable-body .vrow');
    await rows.first().waitFor();
    await page.getByRole('button', { name: /^waiting 50/ }).waitFor();
    // Scrolls to the end again and again; each time another page is loaded.
    const loaded = () => page.getByRole('table').getAttribute('aria-rowcount').then(Number);
    for (let round = 0; round < 15; round += 1) {
      const before = await loaded();
      await page.locator('.vtable-scroll').evaluate((element) => { element.scrollTop = element.scrollHeight; });
      await until('more rows are loaded', async () => await loaded() > before);
      assert.ok(await rows.count() < 80);
    }
    assert.ok(await loaded() > 1500);
    await page.locator('input[name="kind"]').fill('rare');
    await page.keyboard.press('Enter');
    await page.getByText('50 rows loaded, all there are').waitFor();
  }));

  it('can be changed at once', withTab(here, async (page, { go }) => {
    await go('/ui/executions?tag=app.half=even&lane=lane-4');
    await page.getByRole('button', { name: 'Actions on all' }).click();
    await page.getByRole('button', { name: 'Cancel …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Cancel 2.500$/ }).click();
    await dialog.locator('.ex-figures b').first().getByText(/^2.500$/).waitFor({ timeout: 60_000 });
  }));
});
