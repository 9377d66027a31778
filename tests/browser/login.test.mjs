// Servers with API keys: signing in and out, what each role sees, keys of one namespace, keys that are revoked.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { flowfabric } from './support/server.mjs';
import { stage, withTab } from './support/stage.mjs';

const secretOf = (output) => output.trim().split(/\s+/).find((word) => word.length > 30);

async function makeKeys(store) {
  const make = (name, role, ...more) => secretOf(flowfabric('api-keys', 'create', name, '--role', role, '--store', store, ...more));
  return { admin: make('ada', 'admin'), operator: make('olga', 'operator'), viewer: make('vera', 'viewer'), tenant: make('tina', 'operator', '--namespace', 'tenant'), doomed: make('dora', 'viewer') };
}

async function signIn(page, go, key, path = '/') {
  await go(path);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

describe('login and roles', () => {
  const here = stage({ options: ['--auth', 'keys'], prepare: makeKeys, key: (keys) => keys.admin });
  const keys = () => here.server.prepared;
  const refused = { expected: [/status of 401/] };

  it('a wrong key is refused with the reason, a right one opens the page that was asked for', withTab(here, async (page, { go, context }) => {
    await go('/ui/lanes');
    await page.getByLabel('API key').fill('ff_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('unauthenticated').waitFor();
    await page.getByLabel('API key').fill(keys().operator);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Lanes', exact: true }).waitFor();
    await page.getByText('olga · operator').waitFor();
    const cookie = (await context.cookies()).find((entry) => entry.name === 'flowfabric_session');
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, 'Strict');
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.equal(kept.includes(keys().operator), false);
    assert.equal(cookie.value.includes(keys().operator), false);
    await page.reload();
    await page.getByRole('heading', { name: 'Lanes', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    assert.equal((await context.cookies()).some((entry) => entry.name === 'flowfabric_session' && entry.value !== ''), false);
    await page.reload();
    await page.getByLabel('API key').waitFor();
  }, refused));

  it('a viewer sees everything and no button that would be refused', withTab(here, async (page, { go }) => {
    const waiting = await here.api.create({ lane: 'mail', kind: 'send' });
    const failed = await here.api.failed({ lane: 'broken', kind: 'send' }, { message: 'no such user' });
    await here.api.post('/v1/workers', { worker_id: 'mailer', worker_instance_id: 'mailer-1', lanes: ['mail'] });
    const { flow_id: flow } = await here.api.post('/v1/flows', { kind: 'media', nodes: [{ name: 'fetch', kind: 'fetch', lane: 'films' }] });
    await signIn(page, go, keys().viewer);
    const actions = /Cancel|Run again|Priority|Revoke|Actions on|Pause$|Resume$|Drain|Mark dead|Create key|Rotate|Edit|Add settings|Remove ended/;
    for (const path of [`/ui/executions/${waiting}`, `/ui/executions/${failed}`, '/ui/executions', `/ui/flows/${flow}?node=fetch`, '/ui/flows', '/ui/lanes', '/ui/workers', '/ui/settings', '/ui/settings/namespaces']) {
      await go(path);
      await page.locator('h1').first().waitFor();
      await page.locator('.panel, .vtable-body .vrow, .wk').first().waitFor();
      assert.equal(await page.getByRole('button', { name: actions }).count(), 0, path);
    }
    assert.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0);
    await go('/ui/settings/api-keys');
    await page.getByText('This needs the role admin').waitFor();
  }));

  it('an operator acts, and only an admin manages keys', withTab(here, async (page, { go }) => {
    const id = await here.api.create({ lane: 'mail', kind: 'send' });
    await signIn(page, go, keys().operator, `/ui/executions/${id}`);
    await page.getByRole('button', { name: 'Cancel …' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel execution' }).click();
    await page.locator('.run-title .badge', { hasText: 'cancelled' }).waitFor();
    await page.locator('.run-reasons').getByText('olga').waitFor();
    await go('/ui/settings');
    assert.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, go, keys().admin, '/ui/settings/api-keys');
    await page.getByRole('row', { name: /vera/ }).waitFor();
  }, refused));

  it('a key of one namespace sees its namespace', withTab(here, async (page, { go }) => {
    await here.api.create({ lane: 'shared', kind: 'mine', namespace: 'tenant' });
    await here.api.create({ lane: 'shared', kind: 'theirs', namespace: 'default' });
    await signIn(page, go, keys().tenant, '/ui/executions');
    await page.getByRole('table').getByText('mine').waitFor();
    assert.equal(await page.getByText('theirs').count(), 0);
    assert.equal(await page.locator('input[name="namespace"]').count(), 0);
    for (const path of ['/', '/ui/lanes', '/ui/workers', '/ui/events', '/ui/settings/namespaces']) {
      await go(path);
      await page.locator('h1').first().waitFor();
      await page.getByRole('button', { name: 'Live updates: Live' }).waitFor();
      assert.equal(await page.getByRole('alert').count(), 0, path);
    }
  }));

  it('a revoked key leads to the login page', withTab(here, async (page, { go }) => {
    await signIn(page, go, keys().doomed, '/ui/executions');
    await page.getByRole('button', { name: 'Live updates: Live' }).waitFor();
    await here.api.call('DELETE', '/v1/api-keys/dora');
    await page.getByLabel('API key').waitFor();
    assert.match(page.url(), /\/ui\/executions$/);
  }, refused));
});
