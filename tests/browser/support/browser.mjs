// Debian's Chromium, and pages that notice everything that must not happen.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const executable = process.env.FF_BROWSER_CHROMIUM ?? '/usr/bin/chromium';
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let shared;
export async function browser() {
  shared ??= chromium.launch({ executablePath: executable, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
  return shared;
}
export async function closeBrowser() {
  if (shared) await (await shared).close();
  shared = undefined;
}

/** A tab of a browser of its own. Console errors, uncaught errors, violations of the content security policy and requests to other
 *  origins fail the test in `check`, unless `expected` matches the text. */
export async function openTab(url, { dark = false, width = 1280, height = 820, expected = [], context } = {}) {
  const home = context ?? await (await browser()).newContext({
    viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', locale: 'en-GB', timezoneId: 'Europe/Berlin', permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await home.newPage();
  page.setDefaultTimeout(20_000);
  const problems = [];
  const allowed = [...expected];
  const report = (text) => { if (!allowed.some((pattern) => pattern.test(text))) problems.push(text); };
  page.on('console', (message) => { if (message.type() === 'error') report(`console: ${message.text()}`); });
  page.on('pageerror', (error) => report(`uncaught: ${error.message}`));
  page.on('dialog', (dialog) => { report(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(`${url}/`) && !target.startsWith('blob:') && !target.startsWith('data:')) report(`request to another origin: ${target}`);
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => console.error(`CSP violation: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return {
    page,
    context: home,
    allow: (pattern) => allowed.push(pattern),
    go: (path) => page.goto(url + path),
    /** Call it at the end of a test. */
    check: async () => {
      await page.close();
      if (!context) await home.close();
      assert.deepEqual(problems, []);
    },
  };
}

/** No serious finding of axe, in the page as it is now. */
export async function checkAccessibility(page, what) {
  await page.evaluate(axeSource);
  const findings = await page.evaluate(async () => {
    const results = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return results.violations.filter((finding) => ['serious', 'critical'].includes(finding.impact))
      .map((finding) => `${finding.id}: ${finding.help} (${finding.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join('; ')})`);
  });
  assert.deepEqual(findings, [], what);
}
