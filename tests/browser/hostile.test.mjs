// Markup, scripts and control characters in everything that others can write are shown as text.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stage, withTab } from './support/stage.mjs';

const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>"\'><svg/onload=alert(3)>';
const control = '\u001b[31mred\u0000\u202egnp.exe\u2066\u0007';

/** Elements that only the texts above could have made. */
const intruders = (page) => page.evaluate(() => document.querySelectorAll('#main img[src="x"], #main script, #main svg[onload], .toasts img, dialog img').length);

describe('hostile content', () => {
  const here = stage();

  it('is shown as text on every page', withTab(here, async (page, { go }) => {
    const lane = '<b>lane</b>';
    const request = { lane, kind: `k${markup}`.slice(0, 120), payload: { [markup]: [control, markup] }, tags: { 'app.note': markup, 'app.bell': '\u202ecba' }, creator: markup };
    const failed = await here.api.failed(request, { category: '<i>cat</i>', message: `${markup}\n${control}`, detail: { html: markup } });
    const [group] = (await here.api.get('/v1/dead-letters')).groups;
    await here.api.post('/v1/redrives', { fingerprints: [group.fingerprint], lane, paused: true, reason: markup });
    const done = await here.api.create({ ...request, payload_base64: Buffer.from(`${markup}${control}\u00ff`, 'latin1').toString('base64'), payload: undefined, payload_encoding: '<u>label</u>' });
    await here.api.complete(await here.api.claim(lane, '<s>worker</s>-1'), { result: { [markup]: markup } });
    const cancelled = await here.api.create(request);
    await here.api.post(`/v1/executions/${cancelled}/cancel`, { reason: markup });
    await here.api.post('/v1/workers', { worker_id: '<s>w</s>', worker_instance_id: '<s>w</s>-1', lanes: [lane], capabilities: ['<em>gpu</em>'] });
    await here.api.call('PUT', `/v1/lanes/${encodeURIComponent(lane)}`, { state: 'paused', reason: markup });
    await here.api.post('/v1/api-keys', { name: '<b>key</b>', role: 'viewer' });
    const paths = ['/', '/ui/executions', `/ui/executions?kind=${encodeURIComponent(request.kind)}`, `/ui/executions/${failed}`, `/ui/executions/${done}`, `/ui/executions/${cancelled}`, '/ui/lanes', '/ui/workers',
      '/ui/events', '/ui/dead-letters', `/ui/dead-letters?lane=${encodeURIComponent(markup)}`, `/ui/dead-letters/groups/${group.fingerprint}`, '/ui/dead-letters/redrives', '/ui/settings/api-keys', `/ui/executions?lane=${encodeURIComponent(markup)}`, `/ui/events?lane=${encodeURIComponent(markup)}`, `/ui/executions/${encodeURIComponent(markup)}`];
    for (const path of paths) {
      await go(path);
      await page.locator('h1, .empty').first().waitFor();
      await page.getByRole('button', { name: /Live updates: (Live|Not live)$/ }).waitFor();
      assert.equal(await intruders(page), 0, path);
      const text = await page.locator('#main').textContent();
      assert.doesNotMatch(text, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u202e\u2066]/, path);
    }
  }, { expected: [/status of 40\d/] }));

  it('is shown exactly where it is read', withTab(here, async (page, { go }) => {
    const id = await here.api.failed({ lane: 'plain', kind: 'send', payload: { html: markup, wrong: control, big: 12 }, tags: { 'app.note': markup } }, { category: 'c', message: markup });
    await go(`/ui/executions/${id}`);
    await page.getByRole('region', { name: 'Why it failed' }).getByText(markup).waitFor();
    await page.getByRole('link', { name: `app.note=${markup}` }).waitFor();
    assert.match(await page.getByLabel('payload', { exact: true }).textContent(), /<script>alert\(2\)<\/script>/);
    await page.getByRole('button', { name: 'Edit' }).click();
    assert.equal(await page.getByRole('dialog').getByLabel('Tags').inputValue(), `app.note=${markup}`);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Raw JSON' }).click();
    await page.getByRole('dialog').getByText('onerror=alert(1)').first().waitFor();
    assert.equal(await intruders(page), 0);
  }));

  it('large and odd numbers are shown as they were sent', withTab(here, async (page, { go }) => {
    const response = await fetch(`${here.url}/v1/executions`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"lane":"n","kind":"n","payload":{"id":12345678901234567890,"x":1.10}}' });
    await go(`/ui/executions/${(await response.json()).execution_id}`);
    const payload = page.getByLabel('payload', { exact: true });
    await payload.getByText('12345678901234567890').waitFor();
    await payload.getByText('1.10').waitFor();
  }));
});
