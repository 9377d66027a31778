// What every test file does around its tests.
import { after, before } from 'node:test';
import { Api } from './work.mjs';
import { cleanUp, startServer } from './server.mjs';
import { closeBrowser, openTab } from './browser.mjs';

/** One server for some tests. The fields are set when the first of them runs; `stop`, if it is set, is called before the server ends. */
export function stage(options = {}) {
  const here = {};
  before(async () => {
    here.server = await startServer(options);
    here.url = here.server.url;
    here.api = new Api(here.url, options.key?.(here.server.prepared));
    here.tab = (more) => openTab(here.url, more);
  });
  after(async () => {
    await here.stop?.();
    await closeBrowser();
    await cleanUp();
  });
  return here;
}

/** A test body with a tab of its own that is checked at the end. */
export const withTab = (here, body, options) => async () => {
  const tab = await here.tab(options);
  try {
    await body(tab.page, tab);
  } catch (error) {
    if (process.env.FF_BROWSER_FAILURES) await tab.page.screenshot({ path: `${process.env.FF_BROWSER_FAILURES}/failure-${Date.now()}.png` }).catch(() => undefined);
    throw error;
  }
  await tab.check();
};
