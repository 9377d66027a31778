// axe finds nothing serious on any page, light and dark, wide and narrow, nor in dialogs and menus.
import { before, describe, it } from 'node:test';
import { checkAccessibility } from './support/browser.mjs';
import { makeScene } from './support/scene.mjs';
import { stage, withTab } from './support/stage.mjs';

describe('accessibility', () => {
  const here = stage();
  before(async () => { here.scene = await makeScene(here.url); });
  const paths = () => ['/', '/ui/executions', '/ui/executions?state=failed', `/ui/executions/${here.scene.story}`, '/ui/flows', '/ui/schedules', '/ui/limits', '/ui/budgets', '/ui/dead-letters', '/ui/dead-letters/redrives', '/ui/lanes', '/ui/workers', '/ui/events', '/ui/settings', '/ui/settings/api-keys', '/ui/settings/signing-keys', '/ui/settings/namespaces'];

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390, height: 844 }]])
    it(`every page, ${name}`, withTab(here, async (page, { go }) => {
      for (const path of paths()) {
        await go(path);
        await page.locator('h1').first().waitFor();
        await page.getByRole('button', { name: /Live updates: (Live|Not live)/ }).waitFor();
        await page.locator('.panel, .vtable-body .vrow, .wk, .empty').first().waitFor();
        await checkAccessibility(page, `${path} ${name}`);
      }
    }, options));

  it('dialogs, menus and the palette', withTab(here, async (page, { go }) => {
    await go(`/ui/executions/${here.scene.story}`);
    await page.getByRole('button', { name: 'Run again' }).first().click();
    await checkAccessibility(page, 'confirmation');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'More' }).click();
    await checkAccessibility(page, 'menu');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await checkAccessibility(page, 'palette');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await checkAccessibility(page, 'keys');
  }));
});
