// Dead letters: groups, the page of one, redrives of groups, executions and filters, their list and pages, roles, hostile messages, many groups.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { checkAccessibility } from './support/browser.mjs';
import { failAll, groupsOf, redrivesOf, slow } from './support/dead-letters.mjs';
import { failNode, submit } from './support/flows.mjs';
import { flowfabric } from './support/server.mjs';
import { stage, withTab } from './support/stage.mjs';
import { until } from './support/work.mjs';

const live = (page) => page.getByRole('button', { name: 'Live updates: Live' });
const dialog = (page) => page.getByRole('dialog');
const table = (page, name = 'Dead letters') => page.getByRole('table', { name, exact: true });
const row = (page, message) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name: message, exact: true }) });
const redriveRow = (page, of) => table(page, 'Redrives').getByRole('row').filter({ has: page.getByRole('link', { name: of, exact: true }) });
const panel = (page, title) => page.locator('section.panel').filter({ has: page.getByRole('heading', { level: 2, name: title }) });
const field = (page, label) => dialog(page).locator('.field').filter({ hasText: label });
const press = (page, name) => dialog(page).getByRole('button', { name, exact: true }).click();
const figure = (page, name, value) => page.locator('.ex-figures > div').filter({ hasText: new RegExp(`^${value}${name}$`) }).waitFor();
const state = (page, text) => page.locator('.run-title .badge', { hasText: text }).waitFor();
const waited = (page) => page.getByText('What fails from now on is not replayed', { exact: false }).waitFor();
const refused = { expected: [/status of 4\d\d/] };
const late = 'no answer from <n> after <n> ms';

async function openGroup(page, go, group, namespace = 'default') {
  await go(`/ui/dead-letters/groups/${group.fingerprint}${namespace === 'default' ? '' : `?namespace=${namespace}`}`);
  await page.getByRole('region', { name: 'What went wrong' }).waitFor();
  await live(page).waitFor();
}

describe('the list of dead letters', () => {
  const here = stage();

  it('is empty at first, and shows groups as they come', withTab(here, async (page, { go }) => {
    await go('/ui/dead-letters');
    await page.getByText('There are no dead letters').waitFor();
    await live(page).waitFor();
    await failAll(here.api, slow(3));
    await row(page, late).getByRole('cell', { name: '3', exact: true }).waitFor();
    await row(page, late).getByText('timeout', { exact: true }).waitFor();
    await page.getByText('3 failed executions in 1 group', { exact: true }).waitFor();
    await failAll(here.api, ['cannot read /var/in/7.png', 'cannot read /var/in/8.png'], { lane: 'images', kind: 'thumb' }, { category: 'input' });
    await row(page, 'cannot read <path>').getByRole('cell', { name: '2', exact: true }).waitFor();
    await row(page, 'cannot read <path>').getByText('images', { exact: true }).waitFor();
    await failAll(here.api, slow(2));
    await row(page, late).getByRole('cell', { name: '5', exact: true }).waitFor();
  }));

  it('filters by lane, kind, category and namespace, and opens with keys', withTab(here, async (page, { go }) => {
    await failAll(here.api, ['out of paper'], { namespace: 'shop', lane: 'print', kind: 'label' }, { category: 'paper' });
    await go('/');
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.waitForURL('**/ui/dead-letters');
    await page.getByText('8 failed executions in 3 groups', { exact: true }).waitFor();
    const narrowed = async (name, value, foot) => {
      await page.locator(`input[name="${name}"]`).fill(value);
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/ui/dead-letters?${name}=${value}`);
      await page.getByText(foot, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Clear filters', exact: true }).click();
      await page.getByText('8 failed executions in 3 groups', { exact: true }).waitFor();
    };
    await narrowed('lane', 'images', '2 failed executions in 1 group');
    await narrowed('kind', 'mail', '5 failed executions in 1 group');
    await narrowed('category', 'paper', '1 failed execution in 1 group');
    await narrowed('namespace', 'shop', '1 failed execution in 1 group');
    await go('/ui/dead-letters?lane=nothing');
    await page.getByText('No dead letter matches these filters').waitFor();
    await go('/ui/dead-letters');
    await row(page, late).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('o');
    await page.waitForURL(/\/ui\/dead-letters\/groups\/[0-9a-f]{16}$/);
    await page.getByRole('heading', { level: 1, name: 'mail', exact: true }).waitFor();
  }));

  it('is reached from the overview, from failed executions, and from one that has failed', withTab(here, async (page, { go }) => {
    await go('/');
    await page.getByRole('link', { name: 'by cause', exact: true }).click();
    await page.waitForURL('**/ui/dead-letters');
    await go('/ui/executions?state=failed&kind=thumb');
    await page.getByRole('link', { name: 'By cause', exact: true }).click();
    await page.waitForURL('**/ui/dead-letters?kind=thumb');
    await row(page, 'cannot read <path>').waitFor();
    await page.getByText('2 failed executions in 1 group', { exact: true }).waitFor();
    const [id] = await failAll(here.api, ['cannot read /var/in/9.png'], { lane: 'images', kind: 'thumb' }, { category: 'input' });
    await go(`/ui/executions/${id}`);
    await page.getByRole('link', { name: 'Executions that failed in the same way', exact: true }).click();
    await page.getByRole('region', { name: 'What went wrong' }).getByText('cannot read <path>', { exact: true }).waitFor();
    await page.getByRole('table', { name: 'Executions' }).locator(`a[title="${id}"]`).waitFor();
  }));
});

describe('the page of a group', () => {
  const here = stage();

  it('shows what went wrong, how often and where, with the executions, and follows', withTab(here, async (page, { go }) => {
    const ids = await failAll(here.api, slow(2));
    await failAll(here.api, slow(1), { lane: 'letters' });
    const [group] = await groupsOf(here.api);
    await openGroup(page, go, group);
    await page.getByText('3 failed', { exact: true }).waitFor();
    await page.getByText(late, { exact: true }).waitFor();
    await page.getByText('The last: no answer from 10.0.0.0 after 1000 ms', { exact: true }).waitFor();
    const executions = page.getByRole('table', { name: 'Executions' });
    for (const id of ids) await executions.locator(`a[title="${id}"]`).waitFor();
    await executions.getByText('no answer from 10.0.0.1 after 1001 ms', { exact: true }).waitFor();
    await executions.getByText('0 of 10', { exact: true }).first().waitFor();
    await panel(page, 'Facts').getByRole('link', { name: 'letters', exact: true }).waitFor();
    await failAll(here.api, slow(1));
    await page.getByText('4 failed', { exact: true }).waitFor();
    await here.api.post(`/v1/executions/${ids[0]}/replay`);
    await executions.locator(`a[title="${ids[0]}"]`).waitFor({ state: 'detached' });
    await page.getByText('3 failed', { exact: true }).waitFor();
  }));

  it('ends with its last execution', withTab(here, async (page, { go }) => {
    const [id] = await failAll(here.api, ['alone'], { lane: 'alone', kind: 'alone' });
    const group = (await groupsOf(here.api, '?kind=alone'))[0];
    await openGroup(page, go, group);
    await here.api.post(`/v1/executions/${id}/replay`);
    await page.getByText('There are no such dead letters').waitFor();
    await go('/ui/dead-letters/groups/nonsense');
    await page.getByRole('alert').getByText(/16 hexadecimal digits/).waitFor();
  }, refused));

  it('of many executions shows a hundred, and more on demand', withTab(here, async (page, { go }) => {
    await failAll(here.api, slow(150), { lane: 'many', kind: 'many' });
    const [group] = await groupsOf(here.api, '?kind=many');
    await openGroup(page, go, group);
    await panel(page, 'Executions (100 of 150)').waitFor();
    await page.getByRole('button', { name: 'Show more executions', exact: true }).click();
    await panel(page, 'Executions (150)').waitFor();
    assert.equal(await page.getByRole('table', { name: 'Executions' }).locator('tbody tr').count(), 150);
  }));
});

describe('redrives', () => {
  const here = stage();
  const stateOf = async (id) => (await here.api.get(`/v1/redrives/${id}`)).state;
  const idIn = (page) => decodeURIComponent(new URL(page.url()).pathname.split('/').pop());
  const ofKind = (kind, count, failure = {}, more = {}) => failAll(here.api, slow(count), { lane: kind, kind, ...more }, failure);

  it('of a group: counted, refused at its field, paused first, resumed, completed', withTab(here, async (page, { go }) => {
    const ids = await ofKind('mail', 3);
    const [group] = await groupsOf(here.api);
    await openGroup(page, go, group);
    await page.getByRole('button', { name: 'Redrive all 3 …', exact: true }).click();
    await dialog(page).getByText('3 failed executions', { exact: true }).waitFor();
    await dialog(page).locator('input[name="rate"]').fill('fast');
    await press(page, 'Redrive');
    await field(page, 'Rate').getByRole('alert').getByText(/100\/1m/).waitFor();
    await dialog(page).locator('input[name="rate"]').fill('100/1s');
    await dialog(page).locator('input[name="reason"]').fill('the server is back');
    await dialog(page).getByRole('checkbox').check();
    await press(page, 'Redrive');
    await page.waitForURL(/\/ui\/dead-letters\/redrives\/[0-9a-f-]{36}$/);
    await state(page, 'paused');
    await figure(page, 'left', 3);
    await panel(page, 'Facts').getByText('the server is back', { exact: true }).waitFor();
    await panel(page, 'Facts').getByRole('link', { name: group.fingerprint, exact: true }).waitFor();
    const id = idIn(page);
    assert.equal(await stateOf(id), 'paused');
    await live(page).waitFor();
    await page.getByRole('button', { name: 'Resume …', exact: true }).click();
    await dialog(page).getByText('It goes on: at most 3 executions left to replay, 100/1s.', { exact: true }).waitFor();
    await dialog(page).getByLabel(/Reason/).fill('looked at');
    await press(page, 'Resume');
    await state(page, 'completed');
    await figure(page, 'replayed', 3);
    await figure(page, 'left', 0);
    assert.equal(await page.getByRole('button', { name: /Pause …|Resume …|Cancel …/ }).count(), 0);
    for (const one of ids) assert.equal(await here.api.state(one), 'waiting');
    // Those that fail again are told, and the execution names the redrive.
    await here.api.fail(await here.api.claim('mail'), { category: 'timeout', retryable: 'never', message: 'again' });
    await figure(page, 'failed again', 1);
    const [again] = (await here.api.get('/v1/executions?state=failed&kind=mail')).executions;
    await go(`/ui/executions/${again.execution_id}`);
    await page.locator(`a[title="${id}"]`).click();
    await page.waitForURL(`**/ui/dead-letters/redrives/${id}`);
  }, refused));

  it('of selected groups, in a list that follows, with links from the event log', withTab(here, async (page, { go }) => {
    await ofKind('one', 2);
    await ofKind('two', 3);
    await ofKind('three', 1);
    await go('/ui/dead-letters');
    const fingerprint = async (kind) => (await groupsOf(here.api, `?kind=${kind}`))[0].fingerprint;
    for (const kind of ['one', 'two']) await table(page).getByRole('checkbox', { name: `Select group ${await fingerprint(kind)}` }).check();
    await page.getByText('2 selected', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: 'Redrive 2 selected …', exact: true }).click();
    await dialog(page).getByText('5 failed executions', { exact: true }).waitFor();
    await press(page, 'Redrive');
    await state(page, 'completed');
    const id = idIn(page);
    assert.equal((await here.api.get(`/v1/redrives/${id}`)).replayed, 5);
    assert.equal((await groupsOf(here.api, '?kind=three')).length, 1);
    await go('/ui/dead-letters/redrives');
    await redriveRow(page, '2 groups').getByText('completed', { exact: true }).waitFor();
    await redriveRow(page, '2 groups').getByRole('img', { name: '5 replayed, 0 left' }).waitFor();
    await live(page).waitFor();
    const made = await here.api.post('/v1/redrives', { kind: 'three', paused: true });
    await redriveRow(page, 'kind three').getByText('paused', { exact: true }).waitFor();
    await page.getByRole('group', { name: 'States' }).getByRole('button', { name: 'paused', exact: true }).click();
    await page.waitForURL('**/ui/dead-letters/redrives?state=paused');
    await redriveRow(page, '2 groups').waitFor({ state: 'detached' });
    await here.api.post(`/v1/redrives/${made.redrive_id}/cancel`);
    await page.getByText('No redrive matches these filters').waitFor();
    await go('/ui/events?type=redrive_created,redrive_cancelled');
    await page.getByRole('button', { name: 'Oldest first', exact: true }).click();
    await page.getByRole('table', { name: 'Events' }).locator(`a[title="${made.redrive_id}"]`).first().click();
    await page.waitForURL(`**/ui/dead-letters/redrives/${made.redrive_id}`);
    await state(page, 'cancelled');
  }));

  it('of selected executions', withTab(here, async (page, { go }) => {
    const ids = await ofKind('some', 4);
    const [group] = await groupsOf(here.api, '?kind=some');
    await openGroup(page, go, group);
    for (const id of ids.slice(0, 2)) await page.getByRole('checkbox', { name: `Select ${id}` }).check();
    await page.getByRole('button', { name: 'Redrive 2 selected ones …', exact: true }).click();
    await dialog(page).getByText('2 failed executions', { exact: true }).waitFor();
    assert.equal(await dialog(page).getByText('Only some of them').count(), 0, 'named executions are not narrowed down');
    await press(page, 'Redrive');
    await state(page, 'completed');
    await figure(page, 'replayed', 2);
    assert.deepEqual(await Promise.all(ids.map((id) => here.api.state(id))), ['waiting', 'waiting', 'failed', 'failed']);
  }));

  it('of a filter, narrowed down by a tag and a time; a rate makes it last, and it is paused and cancelled', withTab(here, async (page, { go }) => {
    await ofKind('tagged', 3, { category: 'x' }, { tags: { 'app.customer': 'acme' } });
    await ofKind('tagged', 2, { category: 'x' }, { tags: { 'app.customer': 'other' } });
    await ofKind('tagged', 1, { category: 'y' }, { tags: { 'app.customer': 'acme' } });
    await go('/ui/dead-letters?kind=tagged&category=x');
    await page.getByRole('button', { name: 'Redrive all …', exact: true }).click();
    await dialog(page).getByRole('heading', { name: 'Redrive kind tagged, category x', exact: true }).waitFor();
    await dialog(page).getByText('5 failed executions', { exact: true }).waitFor();
    await dialog(page).getByText(/Those that failed under an earlier version/).waitFor();
    assert.equal(await dialog(page).getByText(/It replays at most/).count(), 0);
    await dialog(page).getByText('Only some of them').click();
    await dialog(page).locator('input[name="tag"]').fill('app.customer=acme');
    await dialog(page).getByText(/It replays at most/).waitFor();
    await dialog(page).locator('input[name="failed_from"]').fill('2030-01-01T00:00');
    await dialog(page).locator('input[name="failed_before"]').fill('2020-01-01T00:00');
    await press(page, 'Redrive');
    await field(page, 'Failed before').getByRole('alert').getByText(/failed_from/).waitFor();
    await dialog(page).locator('input[name="failed_from"]').fill('2020-01-01T00:00');
    await dialog(page).locator('input[name="failed_before"]').fill('');
    await dialog(page).locator('input[name="rate"]').fill('1/1h');
    await press(page, 'Redrive');
    await state(page, 'running');
    await figure(page, 'replayed', 1);
    await page.getByText(/^It goes on /).waitFor();
    const id = idIn(page);
    const { selection } = await here.api.get(`/v1/redrives/${id}`);
    assert.deepEqual([selection.kind, selection.category, selection.tag, selection.failed_from], ['tagged', 'x', { 'app.customer': 'acme' }, new Date('2020-01-01T00:00:00+01:00').getTime()]);
    await page.getByRole('button', { name: 'Pause …', exact: true }).click();
    await press(page, 'Pause');
    await state(page, 'paused');
    assert.equal(await stateOf(id), 'paused');
    await page.getByRole('button', { name: 'Cancel …', exact: true }).click();
    await press(page, 'Cancel redrive');
    await state(page, 'cancelled');
    await figure(page, 'replayed', 1);
  }, refused));

  it('of everything, in one namespace; what cannot be replayed is named', withTab(here, async (page, { go }) => {
    const [worn] = await failAll(here.api, ['worn out'], { namespace: 'shop', lane: 'worn', kind: 'worn', policy: { max_replays: 0 } });
    const flow = await submit(here.api, { namespace: 'shop', kind: 'pair', nodes: [{ name: 'one', kind: 'one', lane: 'pair.one' }], edges: [] });
    await failNode(here.api, 'pair', 'one');
    const [{ execution_id: node }] = (await here.api.get(`/v1/flows/${flow}/nodes`)).nodes;
    await go('/ui/dead-letters');
    await row(page, 'worn out').waitFor();
    await row(page, 'one is broken').waitFor();
    await page.getByRole('button', { name: 'Redrive all', exact: true }).click();
    await page.getByRole('heading', { name: 'A redrive is of one namespace' }).waitFor();
    await page.getByRole('button', { name: 'in shop …', exact: true }).click();
    await dialog(page).getByRole('heading', { name: 'Redrive all of the namespace', exact: true }).waitFor();
    await dialog(page).getByText('2 failed executions', { exact: true }).waitFor();
    assert.equal(await dialog(page).getByText(/Those that failed under an earlier version/).count(), 0);
    await press(page, 'Redrive');
    await state(page, 'completed');
    await figure(page, 'refused', 2);
    const refusals = page.getByRole('table', { name: 'Not replayed' });
    const of = (id) => refusals.getByRole('row').filter({ has: page.locator(`a[title="${id}"]`) });
    await of(worn).getByText('its policy allows no more replays', { exact: true }).waitFor();
    await of(node).getByText('it is a node of a flow, which is replayed instead', { exact: true }).waitFor();
    const [group] = await groupsOf(here.api, '?namespace=shop&kind=one');
    await openGroup(page, go, group, 'shop');
    await page.getByRole('link', { name: 'node of a flow', exact: true }).waitFor();
    assert.equal(await here.api.state(worn), 'failed');
  }));

  it('the same call sent twice makes one redrive', withTab(here, async (page, { go }) => {
    await ofKind('twice', 1);
    const [group] = await groupsOf(here.api, '?kind=twice');
    await openGroup(page, go, group);
    // The answer to the first call is lost.
    let lost = 0;
    await page.route('**/v1/redrives', async (route) => {
      if (lost > 0) return route.continue();
      lost += 1;
      await route.fetch();
      return route.abort();
    });
    await page.getByRole('button', { name: 'Redrive all 1 …', exact: true }).click();
    await dialog(page).getByRole('checkbox').check();
    await press(page, 'Redrive');
    await dialog(page).getByRole('alert').getByText('The server cannot be reached.', { exact: true }).waitFor();
    await press(page, 'Redrive');
    await state(page, 'paused');
    assert.equal((await redrivesOf(here.api, '?state=paused')).length, 1);
  }, { expected: [/ERR_FAILED/] }));

  it('one that does not exist is said to be missing', withTab(here, async (page, { go }) => {
    await go('/ui/dead-letters/redrives/01929b1c-7a52-8000-8000-0123456789ab');
    await page.getByText('This redrive cannot be shown').waitFor();
    await go('/ui/dead-letters/redrives/nonsense');
    await page.getByRole('alert').getByText(/is not the id of a redrive/).waitFor();
  }, refused));
});

describe('dead letters for keys of one namespace and for viewers', () => {
  const secretOf = (output) => output.trim().split(/\s+/).find((word) => word.length > 30);
  const makeKeys = async (store) => {
    const make = (name, role, ...more) => secretOf(flowfabric('api-keys', 'create', name, '--role', role, '--store', store, ...more));
    return { admin: make('ada', 'admin'), viewer: make('vera', 'viewer'), tenant: make('tina', 'operator', '--namespace', 'tenant') };
  };
  const here = stage({ options: ['--auth', 'keys'], prepare: makeKeys, key: (keys) => keys.admin });
  const signIn = async (page, go, secret, path) => {
    await go(path);
    await page.getByLabel('API key').fill(secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  };
  before(async () => {
    await failAll(here.api, slow(2), { namespace: 'tenant', lane: 'theirs' });
    await failAll(here.api, ['something else'], { lane: 'ours' });
    await here.api.post('/v1/redrives', { all: true, paused: true });
  });

  it('a viewer looks', withTab(here, async (page, { go }) => {
    await signIn(page, go, here.server.prepared.viewer, '/ui/dead-letters');
    await row(page, 'something else').waitFor();
    assert.equal(await page.getByRole('button', { name: /Redrive/ }).count(), 0);
    assert.equal(await table(page).getByRole('checkbox').count(), 0);
    await row(page, late).getByRole('link', { name: late, exact: true }).click();
    await page.getByText('2 failed', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Redrive/ }).count(), 0);
    await go('/ui/dead-letters/redrives');
    await redriveRow(page, 'all of the namespace').getByRole('link').click();
    await state(page, 'paused');
    assert.equal(await page.getByRole('button', { name: /Resume …|Cancel …/ }).count(), 0);
  }, refused));

  it('a key of one namespace sees and redrives its own', withTab(here, async (page, { go }) => {
    await signIn(page, go, here.server.prepared.tenant, '/ui/dead-letters');
    await page.getByText('2 failed executions in 1 group', { exact: true }).waitFor();
    assert.equal(await row(page, 'something else').count(), 0);
    assert.equal(await page.locator('input[name="namespace"]').count(), 0);
    await page.getByRole('button', { name: 'Redrive all …', exact: true }).click();
    await dialog(page).getByText('tenant', { exact: true }).waitFor();
    await press(page, 'Redrive');
    await state(page, 'completed');
    await figure(page, 'replayed', 2);
    await go('/ui/dead-letters/redrives');
    await redriveRow(page, 'all of the namespace').waitFor();
    assert.equal(await table(page, 'Redrives').getByRole('link').count(), 1, 'those of others are not listed');
    const [foreign] = await redrivesOf(here.api, '?namespace=default');
    await go(`/ui/dead-letters/redrives/${foreign.redrive_id}`);
    await page.getByText('This redrive cannot be shown').waitFor();
  }, refused));
});

describe('hostile failures, many groups, and every screen', () => {
  const here = stage();
  const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const control = '\u001b[31mred\u0000\u202egnp.exe\u0007';

  it('messages, kinds and categories with markup are texts', withTab(here, async (page, { go }) => {
    const kind = markup.slice(0, 100);
    await failAll(here.api, [`${markup}\n${control}`], { lane: '<b>lane</b>', kind, namespace: 'hostile' }, { category: '<i>cat</i>' });
    const [group] = await groupsOf(here.api, '?namespace=hostile');
    const made = await here.api.post('/v1/redrives', { namespace: 'hostile', kind, category: '<i>cat</i>', tag: { 'app.note': markup }, paused: true, reason: markup });
    for (const path of ['/ui/dead-letters', `/ui/dead-letters?category=${encodeURIComponent('<i>cat</i>')}`, `/ui/dead-letters/groups/${group.fingerprint}?namespace=hostile`, '/ui/dead-letters/redrives', `/ui/dead-letters/redrives/${made.redrive_id}`]) {
      await go(path);
      await page.locator('h1').first().waitFor();
      await live(page).waitFor();
      await page.getByText('onerror=alert(1)', { exact: false }).first().waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll('#main img, #main script, #main i[src]').length), 0, path);
      assert.doesNotMatch(await page.locator('#main').textContent(), /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u202e\u2066]/, path);
    }
    await here.api.post(`/v1/redrives/${made.redrive_id}/cancel`);
    await go('/ui/dead-letters?namespace=hostile');
    await page.getByRole('button', { name: 'Redrive all …', exact: true }).click();
    await waited(page);
    assert.equal(await page.evaluate(() => document.querySelectorAll('dialog img, dialog script').length), 0);
  }));

  it('of many groups two hundred are shown, and more on demand; a category is looked for in more', withTab(here, async (page, { go }) => {
    const word = (n) => `${String.fromCharCode(97 + (n % 26))}${String.fromCharCode(97 + Math.floor(n / 26))}x`;
    await failAll(here.api, Array.from({ length: 230 }, (_, n) => `broken in ${word(n)}`), { lane: 'wide', kind: 'wide', namespace: 'wide' });
    await failAll(here.api, ['a rare one'], { lane: 'wide', kind: 'wide', namespace: 'wide' }, { category: 'rare' });
    await go('/ui/dead-letters?namespace=wide');
    await page.getByText('231 failed executions in 231 groups', { exact: true }).waitFor();
    await page.waitForFunction(() => document.querySelector('[aria-label="Dead letters"][role="table"]').getAttribute('aria-rowcount') === '201');
    await page.getByRole('button', { name: 'Redrive all …', exact: true }).click();
    await dialog(page).getByText('231 failed executions', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Show more groups', exact: true }).click();
    await page.waitForFunction(() => document.querySelector('[aria-label="Dead letters"][role="table"]').getAttribute('aria-rowcount') === '232');
    await page.getByRole('button', { name: 'Show more groups', exact: true }).waitFor({ state: 'detached' });
    await go('/ui/dead-letters?namespace=wide&category=rare');
    await row(page, 'a rare one').waitFor();
    await page.getByText('1 failed execution in 1 group', { exact: true }).waitFor();
  }));

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390, height: 844 }]])
    it(`are accessible, ${name}`, withTab(here, async (page, { go }) => {
      const namespace = `all-${name}`;
      const [worn] = await failAll(here.api, ['worn out'], { namespace, lane: 'worn', kind: 'worn', policy: { max_replays: 0 } });
      await failAll(here.api, slow(5), { namespace, lane: 'screens', kind: 'screens' });
      const fits = async (what) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${what} does not scroll sideways`);
      const made = await here.api.post('/v1/redrives', { namespace, kind: 'worn', reason: 'to see what happens' });
      await until('the redrive ends', async () => (await here.api.get(`/v1/redrives/${made.redrive_id}`)).state === 'completed');
      await here.api.post('/v1/redrives', { namespace, kind: 'screens', rate: '1/1h' });
      await go(`/ui/dead-letters?namespace=${namespace}`);
      await row(page, late).waitFor();
      await checkAccessibility(page, `list ${name}`);
      await fits('the list');
      await page.getByRole('button', { name: 'Redrive all …', exact: true }).click();
      await dialog(page).getByText('Only some of them').click();
      await checkAccessibility(page, `form ${name}`);
      assert.ok(await dialog(page).evaluate((element) => element.scrollWidth <= element.clientWidth + 1), 'the form does not scroll sideways');
      await page.keyboard.press('Escape');
      const [group] = await groupsOf(here.api, `?namespace=${namespace}&kind=screens`);
      await openGroup(page, go, group, namespace);
      await page.getByRole('table', { name: 'Executions' }).waitFor();
      await checkAccessibility(page, `group ${name}`);
      await fits('the group');
      await go(`/ui/dead-letters/redrives?namespace=${namespace}`);
      await redriveRow(page, 'kind worn').waitFor();
      await checkAccessibility(page, `redrives ${name}`);
      await fits('the redrives');
      await go(`/ui/dead-letters/redrives/${made.redrive_id}`);
      await page.getByRole('table', { name: 'Not replayed' }).locator(`a[title="${worn}"]`).waitFor();
      await checkAccessibility(page, `redrive ${name}`);
      await fits('the redrive');
    }, options));
});
