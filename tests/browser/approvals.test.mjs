// The page of a signed link, the inbox, and what an execution waits for on its run page.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { awaitApproval, decisionsOf, linkFor, suspended, text, waitsOf } from './support/approvals.mjs';
import { browser, checkAccessibility, openTab } from './support/browser.mjs';
import { stage, withTab } from './support/stage.mjs';
import { flowfabric } from './support/server.mjs';
import { Api, until } from './support/work.mjs';

const form = 'application/x-www-form-urlencoded';
const decide = (here, link, fields, headers = {}) =>
  fetch(here.url + link, { method: 'POST', headers: { 'Content-Type': form, ...headers }, body: new URLSearchParams(fields) });
const eventsOf = async (here, id) => (await here.api.get(`/v1/executions/${id}/history`)).events.map((event) => event.type);
const isOver = (here, id) => until('the wait is over', async () => !(await waitsOf(here.api, id)).wait);
const keyOf = (store, name, role) => flowfabric('api-keys', 'create', name, '--role', role, '--store', store).trim().split(/\s+/).find((word) => word.length > 30);
const refused = [/status of 4\d\d/];

describe('the page of a signed link', () => {
  const here = stage();

  it('shows the request, and reading it changes nothing', withTab(here, async (page, { go }) => {
    const { id, link } = await awaitApproval(here.api, { needed: 2, approvers: ['anna', 'bob'] });
    const before = [await waitsOf(here.api, id), await eventsOf(here, id)];
    for (const method of ['GET', 'HEAD', 'GET', 'HEAD']) assert.equal((await fetch(here.url + link, { method })).status, 200);
    for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { Purpose: 'prefetch' }, { Origin: 'https://mail.example.com' }]) assert.equal((await fetch(here.url + link, { headers })).status, 200);
    await go(link);
    await page.getByRole('heading', { name: 'Deploy 4.2', level: 1 }).waitFor();
    assert.equal(await page.locator('pre').textContent(), 'Changes:\n  - faster start');
    await page.getByText('2 approvals, 0 so far; 1 rejection ends it').waitFor();
    await page.getByText('anna, bob').waitFor();
    await page.getByText('Nobody has decided yet.').waitFor();
    await page.reload();
    assert.deepEqual([await waitsOf(here.api, id), await eventsOf(here, id)], before);
  }));

  it('sends what protects it', async () => {
    const { link } = await awaitApproval(here.api);
    for (const path of [link, '/approve/forged']) {
      const response = await fetch(here.url + path);
      assert.match(response.headers.get('content-security-policy'), /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/);
      assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.equal(response.headers.get('set-cookie'), null);
      const html = await response.text();
      assert.doesNotMatch(html, /<script|style=|href=|src=/);
      assert.ok(!html.includes(path.split('/').pop()), 'the token is not in the page');
    }
  });

  it('approves with a comment, and a second visit shows the decision', withTab(here, async (page, { go }) => {
    const { id, link } = await awaitApproval(here.api);
    await go(link);
    await page.getByLabel('Your name').fill('Jürgen');
    await page.getByLabel('Comment').fill('tests are green\n<b>& more</b>');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Approved' }).waitFor();
    await page.getByText('the wait is over').waitFor();
    await isOver(here, id);
    const [signal] = (await waitsOf(here.api, id)).last_wait.signals;
    assert.equal(signal.name, 'approve');
    assert.equal(signal.source, 'Jürgen');
    assert.equal(signal.payload_encoding, 'text/plain');
    assert.equal(Buffer.from(signal.payload_base64, 'base64').toString(), 'tests are green\n<b>& more</b>');
    await go(link);
    await page.getByRole('heading', { name: 'Deploy 4.2', level: 1 }).waitFor();
    await page.getByText('This approval is closed').waitFor();
    assert.match(await page.getByRole('listitem').textContent(), /Jürgen approved.*tests are green/s);
    assert.equal(await page.getByRole('button').count(), 0);
  }));

  it('rejects', withTab(here, async (page, { go }) => {
    const { id } = await awaitApproval(here.api);
    const link = await linkFor(here.api, id, 'anna');
    await go(link);
    await page.getByText('You decide as').waitFor();
    assert.equal(await page.getByLabel('Your name').count(), 0);
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.getByRole('heading', { name: 'Rejected' }).waitFor();
    await isOver(here, id);
    assert.equal((await waitsOf(here.api, id)).last_wait.cause, 'veto');
    await go(link);
    await page.getByText('You have rejected.').waitFor();
  }));

  it('counts several people, each once', withTab(here, async (page, { go, allow }) => {
    const { id, link } = await awaitApproval(here.api, { needed: 2 });
    await go(link);
    await page.getByLabel('Your name').fill('anna');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('More decisions are needed').waitFor();
    await go(link);
    await page.getByText('1 so far').waitFor();
    allow(/status of 409/);
    await page.getByLabel('Your name').fill('anna');
    await page.getByLabel('Comment').fill('again');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('alert').getByText('anna has decided already').waitFor();
    assert.equal(await page.getByLabel('Comment').inputValue(), 'again', 'what was written is not lost');
    assert.equal((await decisionsOf(here.api, id)).length, 1);
    await go(await linkFor(here.api, id, 'anna'));
    await page.getByText('You have approved already.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
  }));

  it('takes a decision only from approvers', withTab(here, async (page, { go }) => {
    const { id, link } = await awaitApproval(here.api, { approvers: ['bob'] });
    await go(await linkFor(here.api, id, 'mallory'));
    await page.getByText('mallory is not one of those who may decide').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
    // A link for nobody in particular shows the request and takes no decision, under no name.
    await go(link);
    await page.getByText('Only the people named above may decide').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
    const claimed = await decide(here, link, { decision: 'approve', name: 'bob' });
    assert.equal(claimed.status, 403);
    assert.match(await claimed.text(), /role="alert"/);
    assert.deepEqual(await decisionsOf(here.api, id), []);
    // A link for bob speaks for bob, whatever is sent.
    const reply = await decide(here, await linkFor(here.api, id, 'bob'), { decision: 'approve', name: 'mallory' });
    assert.equal(reply.status, 200);
    assert.equal((await waitsOf(here.api, id)).last_wait.signals[0].source, 'bob');
  }));

  it('needs a name and a decision, and no endless comment', async () => {
    const { id, link } = await awaitApproval(here.api);
    const cases = [[{ decision: 'approve' }, 400], [{ decision: 'approve', name: '  ' }, 400], [{ name: 'anna' }, 400], [{ decision: 'maybe', name: 'anna' }, 400],
      [{ decision: 'approve', name: 'an\u0007na' }, 400], [{ decision: 'approve', name: 'a'.repeat(257) }, 400],
      [{ decision: 'approve', name: 'anna', comment: 'x'.repeat(4097) }, 413], [{ decision: 'approve', name: 'anna', comment: 'x'.repeat(200_000) }, 413]];
    for (const [fields, status] of cases) {
      const response = await decide(here, link, fields);
      assert.equal(response.status, status, JSON.stringify(fields).slice(0, 80));
      assert.match(await response.text(), /role="alert"/);
    }
    for (const body of ['decision=approve&decision=reject&name=a', 'decision=%', 'decision=approve&name=%00']) {
      const response = await fetch(here.url + link, { method: 'POST', headers: { 'Content-Type': form }, body });
      assert.equal(response.status, 400, body);
    }
    assert.deepEqual(await decisionsOf(here.api, id), []);
    assert.equal((await decide(here, link, { decision: 'approve', name: 'anna', comment: 'x'.repeat(4096) })).status, 200);
  });

  it('does not approve with the Enter key', withTab(here, async (page, { go }) => {
    const { id, link } = await awaitApproval(here.api);
    await go(link);
    await page.getByLabel('Your name').fill('anna');
    await page.getByLabel('Your name').press('Enter');
    await page.getByLabel('Comment').fill('still here');
    assert.deepEqual(await decisionsOf(here.api, id), []);
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Deploy 4.2');
  }));

  it('is the same page for every token that is not accepted', async () => {
    const { id, link, tokens } = await awaitApproval(here.api);
    const [token] = tokens;
    const other = `${token[20] === 'A' ? 'B' : 'A'}`;
    await linkFor(here.api, id, 'anna', { revoke_earlier: true });
    const plain = await suspended(here.api, [{ name: 'paid' }]);
    const bad = ['forged', token.slice(0, -1), `${token}A`, token.slice(0, 20) + other + token.slice(21), token, plain.tokens[0], 'x'.repeat(3000), '-'];
    const pages = new Set();
    for (const one of bad) {
      const response = await fetch(`${here.url}/approve/${one}`);
      assert.equal(response.status, 403, one.slice(0, 60));
      pages.add(await response.text());
      const sent = await decide(here, `/approve/${one}`, { decision: 'approve', name: 'anna' });
      assert.equal(sent.status === 403 || sent.status === 409, true, `${sent.status} ${one.slice(0, 60)}`);
      if (one !== plain.tokens[0]) pages.add(await sent.text());
    }
    assert.equal(pages.size, 1);
    assert.ok(link.endsWith(token));
    assert.deepEqual(await decisionsOf(here.api, id), []);
  });

  it('of a closed approval says so, whatever closed it', async () => {
    const resumed = await awaitApproval(here.api);
    await here.api.post(`/v1/executions/${resumed.id}/resume`, { reason: 'not needed' });
    const cancelled = await awaitApproval(here.api);
    await here.api.post(`/v1/executions/${cancelled.id}/cancel`, { reason: 'stopped' });
    for (const { link } of [resumed, cancelled]) {
      const shown = await fetch(here.url + link);
      assert.equal(shown.status, 200);
      assert.match(await shown.text(), /closed/);
      const sent = await decide(here, link, { decision: 'approve', name: 'anna' });
      assert.equal(sent.status, 409);
      assert.match(await sent.text(), /closed/);
    }
  });

  it('of an earlier approval does not show the decisions of a later one', async () => {
    const first = await awaitApproval(here.api, { title: 'first' });
    await decide(here, first.link, { decision: 'approve', name: 'anna', comment: 'one' });
    const claimed = await until('it can be claimed', () => here.api.claim(first.lane));
    const reply = await here.api.post('/v1/leases/suspend', { handle: claimed.handle, waitpoints: [{ name: 'approve', approval: { title: 'second' } }], idempotency_key: 'second' });
    assert.match(await (await fetch(here.url + first.link)).text(), /first[\s\S]*anna/, 'no other wait has ended yet');
    await decide(here, `/approve/${reply.tokens[0].token}`, { decision: 'reject', name: 'bob', comment: 'two' });
    const html = await (await fetch(here.url + first.link)).text();
    assert.match(html, /closed/);
    assert.doesNotMatch(html, /second|bob|two/);
  });

  it('works without JavaScript', async () => {
    const context = await (await browser()).newContext({ javaScriptEnabled: false });
    const tab = await openTab(here.url, { context });
    const { id, link } = await awaitApproval(here.api);
    await tab.go(link);
    await tab.page.getByLabel('Your name').fill('anna');
    await tab.page.getByRole('button', { name: 'Reject' }).click();
    await tab.page.getByRole('heading', { name: 'Rejected' }).waitFor();
    await isOver(here, id);
    await tab.check();
    await context.close();
  });

  it('takes no form of another page', async () => {
    const { id, link } = await awaitApproval(here.api);
    const fields = { decision: 'approve', name: 'anna' };
    for (const headers of [{ Origin: 'https://evil.example.com' }, { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }, { Origin: here.url.replace(/\d+$/, '1') }])
      assert.equal((await decide(here, link, fields, headers)).status, 403, JSON.stringify(headers));
    for (const type of ['text/plain', 'application/json', 'multipart/form-data; boundary=x'])
      assert.equal((await fetch(here.url + link, { method: 'POST', headers: { 'Content-Type': type }, body: 'decision=approve&name=anna' })).status, 415, type);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) assert.equal((await fetch(here.url + link, { method })).status, 405, method);
    const page = `<!doctype html><form method="post" action="${here.url}${link}"><input name="decision" value="approve"><input name="name" value="anna"><button>Win</button></form>`;
    // The second one has an opaque origin, as a page without a referrer would have.
    for (const policy of ['', 'sandbox allow-forms allow-top-navigation']) {
      const evil = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html', ...(policy ? { 'Content-Security-Policy': policy } : { 'Referrer-Policy': 'no-referrer' }) }).end(page));
      await new Promise((resolve) => { evil.listen(0, '127.0.0.1', resolve); });
      const context = await (await browser()).newContext();
      const tab = await context.newPage();
      await tab.goto(`http://localhost:${evil.address().port}/`);
      await tab.getByRole('button', { name: 'Win' }).click();
      await tab.getByText('Another page has sent this form').waitFor();
      await context.close();
      evil.closeAllConnections();
      evil.close();
    }
    assert.deepEqual(await decisionsOf(here.api, id), []);
  });

  it('shows markup as text everywhere', withTab(here, async (page, { go, allow }) => {
    const markup = '</title></textarea></pre><img src=x onerror=alert(1)><script>alert(2)</script>"\'><svg/onload=alert(3)>';
    const { id } = await awaitApproval(here.api, { title: markup, needed: 3, rejections: 3, ...text(`${markup}\u001b[31m\u202egnp.exe`) });
    const link = await linkFor(here.api, id, '');
    const intruders = () => page.locator('img, script, svg').count();
    await go(link);
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), markup);
    assert.equal(await page.title(), markup);
    assert.equal(await page.locator('pre').textContent(), `${markup}\ufffd[31m\ufffdgnp.exe`);
    await page.getByLabel('Your name').fill(markup);
    await page.getByLabel('Comment').fill(markup);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Approved' }).waitFor();
    assert.equal(await intruders(), 0);
    await go(link);
    await page.getByRole('listitem').getByText(markup).first().waitFor();
    assert.equal(await intruders(), 0);
    // And in the form, when it comes back.
    allow(/status of 409/);
    await page.getByLabel('Your name').fill(markup);
    await page.getByLabel('Comment').fill(markup);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('alert').waitFor();
    assert.equal(await page.getByLabel('Your name').inputValue(), markup);
    assert.equal(await page.getByLabel('Comment').inputValue(), markup);
    assert.equal(await intruders(), 0);
    await go(await linkFor(here.api, id, markup));
    await page.getByText('You have approved already').waitFor();
    assert.equal(await intruders(), 0);
  }));

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['on a phone', { width: 360, height: 740 }]])
    it(`is accessible, ${name}`, withTab(here, async (page, { go, allow }) => {
      allow(/status of 40\d/);
      const { id, link } = await awaitApproval(here.api, { needed: 2 });
      const wide = () => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      await go(link);
      await checkAccessibility(page, `form ${name}`);
      assert.equal(await wide(), false, 'nothing is cut off');
      await page.getByLabel('Your name').fill('anna');
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('heading', { name: 'Approved' }).waitFor();
      await checkAccessibility(page, `decided ${name}`);
      await go(await linkFor(here.api, id, 'anna'));
      await checkAccessibility(page, `decided already ${name}`);
      await decide(here, link, { decision: 'reject', name: 'bob', comment: 'no' });
      await go(link);
      await checkAccessibility(page, `closed ${name}`);
      await go('/approve/forged');
      await page.getByRole('heading', { name: 'This link is not accepted' }).waitFor();
      await checkAccessibility(page, `refused ${name}`);
    }, options));

  it('is printed by the command line', async () => {
    const { id } = await awaitApproval(here.api);
    const printed = flowfabric('approvals', 'link', id, 'approve', '--for', 'anna', '--store', here.url).trim();
    assert.ok(printed.startsWith(`${here.url}/approve/`), printed);
    assert.match(await (await fetch(printed)).text(), /<b>anna<\/b>/);
    assert.match(flowfabric('approvals', 'link', id, 'approve', '--base', 'https://jobs.example.com/', '--store', here.url), /^https:\/\/jobs\.example\.com\/approve\/[\w-]+\n$/);
  });
});

describe('the page of a signed link on a server that logs all and asks for keys', () => {
  const here = stage({
    options: ['--auth', 'keys', '--log-level', 'debug'],
    prepare: (store) => keyOf(store, 'worker', 'admin'),
    key: (prepared) => prepared,
  });

  it('needs no key, and the token is in no log', withTab(here, async (page, { go }) => {
    const { tokens, link } = await awaitApproval(here.api);
    await go(link);
    await page.getByLabel('Your name').fill('anna');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Approved' }).waitFor();
    await fetch(`${here.url}${link}/more`);
    await fetch(`${here.url}/%61pprove/${tokens[0]}`);
    await until('the requests are logged', () => here.server.output.split('/approve/{token}').length >= 5);
    assert.ok(!here.server.output.includes(tokens[0]));
    assert.ok(!here.server.output.includes(tokens[0].slice(0, 40)));
  }));
});

describe('the inbox', () => {
  const here = stage();

  it('is empty, fills, and an approval can be decided with a comment', withTab(here, async (page, { go }) => {
    await go('/ui/approvals');
    await page.getByText('Nothing waits for a decision').waitFor();
    await page.getByRole('button', { name: 'Live updates: Live' }).waitFor();
    const { id } = await awaitApproval(here.api, { title: 'Deploy to production', needed: 2 });
    const item = page.getByRole('region', { name: 'Deploy to production' });
    await item.getByText('0 of 2 approved').waitFor();
    await item.getByText('What it is about').click();
    await item.getByText('- faster start').waitFor();
    await item.getByRole('button', { name: 'Approve' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Your name').fill('anna');
    await dialog.getByLabel('Comment').fill('looks good');
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    await item.getByText('1 of 2 approved').waitFor();
    await item.getByText('looks good').waitFor();
    const [decision] = await decisionsOf(here.api, id);
    assert.deepEqual([decision.actor, decision.decision, decision.comment], ['anna', 'approve', 'looks good']);
    // Others decide elsewhere, and the page follows without a reload.
    await decide(here, await linkFor(here.api, id, 'bob'), { decision: 'approve', comment: 'fine' });
    await page.getByText('Nothing waits for a decision').waitFor();
  }));

  it('shows two people the same, without reloading', async () => {
    const { id } = await awaitApproval(here.api, { title: 'Shared', needed: 3, rejections: 2 });
    const [one, two] = [await here.tab(), await here.tab()];
    for (const { page, go } of [one, two]) {
      await go('/ui/approvals');
      await page.getByRole('button', { name: 'Live updates: Live' }).waitFor();
      await page.getByRole('region', { name: 'Shared' }).waitFor();
    }
    await one.page.getByRole('region', { name: 'Shared' }).getByRole('button', { name: 'Reject' }).click();
    await one.page.getByRole('dialog').getByLabel('Your name').fill('carol');
    await one.page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }).click();
    await two.page.getByRole('region', { name: 'Shared' }).getByText('carol').waitFor();
    assert.equal((await decisionsOf(here.api, id)).length, 1);
    await one.check();
    await two.check();
  });

  it('waits are listed by age', withTab(here, async (page, { go }) => {
    const old = await suspended(here.api, [{ name: 'paid-first' }], { reason: 'the bank' });
    await suspended(here.api, [{ name: 'paid-second' }]);
    await go('/ui/waits');
    await page.getByRole('cell', { name: 'paid-second' }).waitFor();
    const names = await page.locator('tbody tr td:first-child').allTextContents();
    assert.ok(names.indexOf('paid-first') < names.indexOf('paid-second'), names.join());
    await page.getByRole('row', { name: /paid-first/ }).getByText('the bank').waitFor();
    await page.getByRole('row', { name: /paid-first/ }).getByRole('link').click();
    await page.waitForURL(`${here.url}/ui/executions/${old.id}`);
  }));

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390, height: 844 }]])
    it(`is accessible, ${name}`, withTab(here, async (page, { go }) => {
      const { id } = await awaitApproval(here.api, { title: `Accessible ${name}`, needed: 2, approvers: ['anna', 'bob'] }, { reason: 'release day' });
      await decide(here, await linkFor(here.api, id, 'anna'), { decision: 'approve', comment: 'fine' });
      for (const path of ['/ui/approvals', '/ui/waits', `/ui/executions/${id}`]) {
        await go(path);
        await page.getByText('1 of 2 approved').first().waitFor();
        await checkAccessibility(page, `${path} ${name}`);
      }
      await page.getByRole('button', { name: 'Approve …' }).click();
      await checkAccessibility(page, `dialog ${name}`);
    }, options));
});

describe('what an execution waits for', () => {
  const here = stage();
  const panel = (page) => page.locator('section.panel', { has: page.getByRole('heading', { name: /^(What it waits for|Waits)$/ }) });

  it('is said in words, with what has arrived', withTab(here, async (page, { go }) => {
    const both = { all_of: [{ signal: { waitpoint: 'paid' } }, { count: { n: 2, by: 'sources', of: [{ waitpoint: 'checked', name: 'ok' }] } }] };
    const { id } = await suspended(here.api, [{ name: 'paid' }, { name: 'checked' }], { condition: both, reason: 'order 17' });
    await here.api.post(`/v1/executions/${id}/signals`, { waitpoint: 'checked', name: 'ok', source: 'anna' });
    await go(`/ui/executions/${id}`);
    await panel(page).getByText('a signal at “paid” and 2 different senders with “ok” at “checked”').waitFor();
    await panel(page).getByText('order 17').waitFor();
    await panel(page).getByText(/left.*then the execution fails/s).waitFor();
    await panel(page).getByRole('row', { name: /ok.*checked.*anna/ }).waitFor();
  }));

  it('operators send a signal, close a waitpoint and resume', withTab(here, async (page, { go }) => {
    const { id } = await suspended(here.api, [{ name: 'a' }, { name: 'b' }, { name: 'c' }], { condition: { any_of: ['a', 'b', 'c'].map((waitpoint) => ({ count: { n: 2, by: 'signals', of: [{ waitpoint }] } })) } });
    await go(`/ui/executions/${id}`);
    await panel(page).getByRole('button', { name: 'Send a signal' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Waitpoint', { exact: true }).fill('b');
    await dialog.getByLabel('Payload').fill('{"n":1}');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await panel(page).getByRole('table', { name: 'Signals that have arrived' }).waitFor();
    await panel(page).getByRole('button', { name: 'More for waitpoint a' }).click();
    await page.getByRole('button', { name: 'Close …' }).click();
    await dialog.getByLabel('Reason').fill('nobody pays there');
    await dialog.getByRole('button', { name: 'Close waitpoint' }).click();
    await panel(page).getByRole('region', { name: 'Waitpoint a' }).waitFor({ state: 'detached' });
    await panel(page).getByRole('button', { name: 'Resume' }).click();
    await dialog.getByLabel('Reason').fill('paid in cash');
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await panel(page).getByText('an operator ended it').waitFor();
    await panel(page).getByText('paid in cash').waitFor();
    assert.equal((await waitsOf(here.api, id)).last_wait.cause, 'operator');
  }));

  it('an operator makes a link, which works', withTab(here, async (page, { go }) => {
    const { id } = await awaitApproval(here.api);
    await go(`/ui/executions/${id}`);
    await panel(page).getByRole('button', { name: 'More for waitpoint approve' }).click();
    await page.getByRole('button', { name: 'New link …' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: /^For / }).fill('anna');
    await page.getByRole('dialog').getByRole('button', { name: 'Make a link' }).click();
    const link = await page.getByLabel('Link', { exact: true }).textContent();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    assert.equal((await decide(here, new URL(link).pathname, { decision: 'approve', comment: 'by link' })).status, 200);
    await panel(page).getByText('signals were enough').waitFor();
    await panel(page).getByText('anna').waitFor();
  }));

  it('a wait that was a step is on the timeline and in the steps', withTab(here, async (page, { go }) => {
    const { id, link, lane } = await awaitApproval(here.api, {}, { position: 1, step_name: 'ask-people' });
    await decide(here, link, { decision: 'approve', name: 'anna' });
    await here.api.complete(await until('it can be claimed', () => here.api.claim(lane)));
    await go(`/ui/executions/${id}`);
    await page.getByRole('row', { name: /ask-people.*wait.*signals were enough: approve from anna/ }).waitFor();
    await page.getByRole('img', { name: /Steps: ask-people \(suspended\)/ }).waitFor();
    await page.getByRole('row', { name: /signal delivered/ }).first().waitFor();
  }));
});

describe('approvals with API keys', () => {
  const here = stage({
    options: ['--auth', 'keys'],
    prepare: (store) => ({ admin: keyOf(store, 'root', 'admin'), anna: keyOf(store, 'anna', 'worker'), eve: keyOf(store, 'eve', 'viewer') }),
    key: (prepared) => prepared.admin,
  });
  const signIn = async (page, go, key) => {
    await go('/ui/approvals');
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };

  it('the decision is that of the key', withTab(here, async (page, { go }) => {
    const { id } = await awaitApproval(here.api, { title: 'Ours', approvers: ['anna'], needed: 1 });
    await awaitApproval(here.api, { title: 'Theirs', approvers: ['bob'] });
    await signIn(page, go, here.server.prepared.anna);
    await page.getByRole('region', { name: 'Theirs' }).getByText('You are not one of those who may decide.').waitFor();
    await page.getByRole('region', { name: 'Ours' }).getByRole('button', { name: 'Approve' }).click();
    assert.equal(await page.getByLabel('Your name').count(), 0);
    await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('region', { name: 'Ours' }).waitFor({ state: 'detached' });
    assert.equal((await waitsOf(new Api(here.url, here.server.prepared.admin), id)).last_wait.signals[0].source, 'anna');
  }, { expected: refused }));

  it('a viewer sees it and cannot decide', withTab(here, async (page, { go }) => {
    await awaitApproval(here.api, { title: 'Only to see' });
    await signIn(page, go, here.server.prepared.eve);
    await page.getByRole('region', { name: 'Only to see' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
  }, { expected: refused }));
});
