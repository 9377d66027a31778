// Flows: the list, the graph, the gates of a node, live changes, growing and sealing, cancelling, replaying, flows of two thousand nodes, hostile names.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { checkAccessibility } from './support/browser.mjs';
import { chain, claimNode, failNode, finishNode, large, laneOf, makeFlows, media, nodeOf, submit } from './support/flows.mjs';
import { stage, withTab } from './support/stage.mjs';
import { until } from './support/work.mjs';

const live = (page) => page.getByRole('button', { name: 'Live updates: Live' });
const canvas = (page) => page.getByRole('application');
const drawing = (page) => page.locator('.fg-canvas svg');
const drawn = (page, name) => page.locator(`.fg-node[data-node=${JSON.stringify(name)}]`);
const panel = (page) => page.getByRole('complementary', { name: 'Node' });
const title = (page, state) => page.locator('.run-title .badge', { hasText: new RegExp(`^${state}$`) });
const scale = async (page) => Number(await drawing(page).getAttribute('data-scale'));
/** How far the drawing is moved and zoomed. */
const transform = (page) => page.locator('.fg-canvas svg > g').getAttribute('transform');

async function open(page, go, flow, query = '') {
  await go(`/ui/flows/${flow}${query}`);
  await page.locator('.run-title h1').waitFor();
  await live(page).waitFor();
}

async function clickNode(page, name) {
  const box = await drawn(page, name).boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await panel(page).getByRole('heading', { level: 2, name, exact: true }).waitFor();
}

describe('the list of flows', () => {
  const here = stage();
  const table = (page) => page.getByRole('table', { name: 'Flows' });
  const row = (page, kind) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name: kind, exact: true }) });

  it('says how to submit one while there are none', withTab(here, async (page, { go }) => {
    await go('/ui/flows');
    await page.getByText('There are no flows yet').waitFor();
    await page.getByText(/^curl -s -X POST .*\/v1\/flows$/).waitFor();
    await here.api.post('/v1/flows', chain('first', ['only']));
    await page.getByRole('button', { name: '1 new, show', exact: true }).click();
    await row(page, 'chain').waitFor();
  }));

  it('shows states and counts, filters by the address, and opens a flow by key', withTab(here, async (page, { go }) => {
    const flows = await makeFlows(here.api);
    await go('/ui/flows');
    const failed = row(page, 'media').filter({ hasText: 'cancelling' });
    await failed.getByRole('img', { name: /1 succeeded, 1 failed/ }).waitFor();
    const states = page.getByRole('group', { name: 'States' });
    await states.getByRole('button', { name: 'completed', exact: true }).click();
    await page.waitForURL('**/ui/flows?state=completed');
    await row(page, 'chain').waitFor();
    await row(page, 'media').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Clear filters', exact: true }).click();
    await page.locator('input[name="tag"]').fill('app.film=film');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/flows?tag=app.film%3Dfilm');
    await page.getByText('1 flow loaded, all there are').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('input[name="kind"]').fill('nothing');
    await page.keyboard.press('Enter');
    await page.getByText('No flow matches these filters').waitFor();
    await page.getByRole('link', { name: 'show all flows', exact: true }).click();
    await page.getByRole('button', { name: 'Time', exact: true }).click();
    await page.locator('input[name="created_before"]').fill('2020-01-01T00:00:01');
    await page.locator('input[name="created_before"]').blur();
    await page.waitForURL(/created_before=\d+/);
    await page.getByText('No flow matches these filters').waitFor();
    await go('/ui/flows?kind=media&state=running');
    await page.getByText('1 flow loaded, all there are').waitFor();
    await page.getByRole('heading', { level: 1, name: 'Flows', exact: true }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('o');
    await page.waitForURL(`**/ui/flows/${flows.running}`);
  }));

  it('changes its rows as flows go on', withTab(here, async (page, { go }) => {
    const flow = await submit(here.api, chain('rows', ['one', 'two'], { kind: 'moving' }));
    await go('/ui/flows?kind=moving&state=running');
    await live(page).waitFor();
    await row(page, 'moving').getByText('0 of 2', { exact: true }).waitFor();
    await finishNode(here.api, 'rows', 'one');
    await row(page, 'moving').getByText('1 of 2', { exact: true }).waitFor();
    await finishNode(here.api, 'rows', 'two');
    await row(page, 'moving').locator('.badge', { hasText: 'completed' }).waitFor();
    await row(page, 'moving').getByText('2 of 2', { exact: true }).waitFor();
    assert.equal((await here.api.get(`/v1/flows/${flow}`)).summary.state, 'completed');
  }));

  it('is reached with keys, from the palette and from events', withTab(here, async (page, { go }) => {
    await go('/');
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('f');
    await page.waitForURL('**/ui/flows');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill('Flows: failed');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/flows?state=failed');
    await page.keyboard.press('Control+k');
    const known = await submit(here.api, chain('known', ['only']));
    await page.getByRole('combobox', { name: 'Command' }).fill(known);
    await page.getByRole('option').filter({ hasText: known }).filter({ has: page.getByText('flow', { exact: true }) }).click();
    await page.waitForURL(`**/ui/flows/${known}`);
    await go('/ui/events?type=flow_submitted');
    await live(page).waitFor();
    const flow = await submit(here.api, chain('told', ['only']));
    await page.getByRole('table', { name: 'Events' }).locator(`a[title="${flow}"]`).click();
    await page.waitForURL(`**/ui/flows/${flow}`);
  }));
});

describe('the page of a flow', () => {
  const here = stage();
  before(async () => { here.flows = await makeFlows(here.api); });

  it('draws the graph with states as text, and the critical path', withTab(here, async (page, { go }) => {
    await open(page, go, here.flows.running);
    await title(page, 'running').waitFor();
    assert.equal(await page.locator('.fg-node').count(), 8);
    await drawn(page, 'fetch').getByText('completed', { exact: true }).waitFor();
    await drawn(page, 'cut').getByText('active', { exact: true }).waitFor();
    await drawn(page, 'publish').getByText('waiting children', { exact: true }).waitFor();
    await page.locator('.fg-canvas path.fg-edge.critical').waitFor();
    assert.equal(await page.locator('.fg-node.critical').count(), 2);
    await page.getByRole('button', { name: 'Critical path', exact: true }).click();
    await page.locator('.fg-canvas path.fg-edge.critical').waitFor({ state: 'detached' });
    await page.locator('.fg-legend').getByText('waiting children').waitFor();
    await page.locator('.fl-progress').getByText('2 succeeded, 6 not ended of 8 nodes').waitFor();
  }));

  it('tells what a node waits for, which checks have won, and which inputs are missing', withTab(here, async (page, { go }) => {
    await open(page, go, here.flows.running);
    await clickNode(page, 'publish');
    await page.waitForURL(`**/ui/flows/${here.flows.running}?node=publish`);
    const checks = panel(page).getByRole('region', { name: 'Group checks', exact: true });
    await checks.getByText('Wants 2 of 3: 1 satisfied, 2 open. 1 more needed.', { exact: true }).waitFor();
    await checks.getByRole('listitem').filter({ hasText: 'check-2' }).getByText('on success: satisfied, winner', { exact: true }).waitFor();
    assert.equal(await checks.getByText('on success: open', { exact: true }).count(), 2);
    const usual = panel(page).getByRole('region', { name: 'Default group', exact: true });
    await usual.getByText('optional: open', { exact: true }).waitFor();
    assert.equal(await panel(page).locator('dl[aria-label="Inputs"]').textContent(), 'givencheck-2missingcheck-1, check-3, cut, subtitles');
    await usual.getByRole('button', { name: 'cut', exact: true }).click();
    await panel(page).getByRole('heading', { level: 2, name: 'cut', exact: true }).waitFor();
    await panel(page).getByText('on the critical path', { exact: true }).waitFor();
    await panel(page).getByRole('link', { name: 'Open the execution', exact: true }).click();
    const cut = await nodeOf(here.api, here.flows.running, 'cut');
    await page.waitForURL(`**/ui/executions/${cut.execution_id}`);
    // The execution names its flow and its node, and leads back.
    await page.locator('.run-facts').getByRole('link', { name: 'cut', exact: true }).last().click();
    await page.waitForURL(`**/ui/flows/${here.flows.running}?node=cut`);
    await panel(page).getByRole('button', { name: 'Close the node', exact: true }).click();
    await panel(page).waitFor({ state: 'detached' });
  }));

  it('says why a flow fails, with the node and its message', withTab(here, async (page, { go }) => {
    await open(page, go, here.flows.failed);
    const why = page.getByRole('region', { name: 'About its state', exact: true });
    await why.getByText('first failure', { exact: true }).waitFor();
    await why.getByRole('link', { name: 'cut', exact: true }).click();
    await panel(page).getByText('the file is damaged at byte 4711', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await panel(page).waitFor({ state: 'detached' });
    await clickNode(page, 'publish');
    const checks = panel(page).getByRole('region', { name: 'Group checks', exact: true });
    await checks.getByText(/cannot fire any more: .* unsatisfiable\. The node is skipped\./).waitFor();
    await panel(page).getByText('will not come', { exact: true }).waitFor();
  }));

  it('can be walked with keys', withTab(here, async (page, { go }) => {
    await open(page, go, here.flows.running);
    await canvas(page).focus();
    const selected = (name) => page.waitForURL((url) => url.searchParams.get('node') === name);
    await page.keyboard.press('ArrowRight');
    await selected('fetch');
    await page.keyboard.press('ArrowRight');
    await page.waitForURL((url) => url.searchParams.get('node') !== 'fetch');
    await page.keyboard.press('ArrowRight');
    await selected('publish');
    await page.locator('.fg [aria-live]').getByText(/^publish, waiting children, waits for .*cut/).waitFor();
    await page.keyboard.press('ArrowRight');
    await selected('cleanup');
    await page.keyboard.press('ArrowLeft');
    await selected('publish');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement?.tagName === 'H2' && document.activeElement.textContent === 'publish');
    await page.keyboard.press('Escape');
    await panel(page).waitFor({ state: 'detached' });
    const before = await scale(page);
    await page.keyboard.press('+');
    await until('the drawing is larger', async () => await scale(page) > before);
    const larger = await scale(page);
    await page.keyboard.press('0');
    await until('the whole is shown', async () => await scale(page) < larger);
  }));

  it('has its nodes as a table, what it returned and its events', withTab(here, async (page, { go }) => {
    await open(page, go, here.flows.done);
    await page.getByRole('navigation', { name: 'Views of the flow' }).getByRole('link', { name: 'Nodes (3)', exact: true }).click();
    const table = page.getByRole('table', { name: 'Nodes' });
    await table.getByRole('row', { name: /^1 extract completed/ }).waitFor();
    await page.getByLabel('Find a node', { exact: true }).fill('load');
    await page.getByText('1 of 3 nodes', { exact: true }).waitFor();
    await table.getByRole('link', { name: 'load', exact: true }).click();
    await panel(page).getByRole('heading', { level: 2, name: 'load', exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Views of the flow' }).getByRole('link', { name: 'Result', exact: true }).click();
    await page.getByRole('region', { name: 'Result of the flow' }).getByText('"report"', { exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Views of the flow' }).getByRole('link', { name: 'Events', exact: true }).click();
    await page.getByRole('region', { name: 'Events of the flow' }).getByRole('cell', { name: 'flow completed', exact: true }).waitFor();
  }));

  it('follows its flow without moving the drawing', withTab(here, async (page, { go }) => {
    const flow = await submit(here.api, media('follow'));
    await open(page, go, flow, '?node=publish');
    await drawn(page, 'fetch').getByText('waiting', { exact: true }).waitFor();
    await page.keyboard.press('+');
    const view = await transform(page);
    await finishNode(here.api, 'follow', 'fetch');
    await drawn(page, 'fetch').getByText('completed', { exact: true }).waitFor();
    for (const name of ['check-1', 'check-3']) await finishNode(here.api, 'follow', name);
    await panel(page).getByText('Wants 2 of 3 and has fired: 2 satisfied.', { exact: true }).waitFor();
    for (const name of ['cut', 'subtitles', 'publish', 'cleanup']) await finishNode(here.api, 'follow', name);
    await drawn(page, 'publish').getByText('completed', { exact: true }).waitFor();
    // check-2 was not needed, but it goes on: the flow waits for it.
    await finishNode(here.api, 'follow', 'check-2');
    await title(page, 'completed').waitFor();
    await page.locator('.fl-progress').getByText('8 succeeded of 8 nodes').waitFor();
    assert.equal(await transform(page), view);
  }));

  it('cancels with a policy, cleanup and a reason', withTab(here, async (page, { go }) => {
    const flow = await submit(here.api, media('stop'));
    await finishNode(here.api, 'stop', 'fetch');
    const running = await claimNode(here.api, 'stop', 'cut');
    await open(page, go, flow);
    await page.getByRole('button', { name: 'Cancel …', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this flow' });
    await dialog.getByText('7 nodes have not ended.').waitFor();
    await dialog.getByRole('radio', { name: /^Only what has not started/ }).check();
    await dialog.getByRole('checkbox', { name: /^Run cleanup nodes/ }).check();
    await dialog.getByLabel(/^Reason/).fill('no longer wanted');
    await dialog.getByRole('button', { name: 'Copy as CLI', exact: true }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`^flowfabric flows cancel ${flow} --policy cancel_pending --run-cleanup --reason 'no longer wanted' --yes --store`));
    await dialog.getByRole('button', { name: 'Cancel flow', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await title(page, 'cancelling').waitFor();
    const why = page.getByRole('region', { name: 'About its state', exact: true });
    await why.getByText(/^cancel pending, cleanup nodes run; cause: operator.*: no longer wanted$/).waitFor();
    await drawn(page, 'check-1').getByText('cancelled', { exact: true }).waitFor();
    const { cancellation } = await here.api.get(`/v1/flows/${flow}`);
    assert.deepEqual([cancellation.policy, cancellation.run_cleanup, cancellation.reason], ['cancel_pending', true, 'no longer wanted']);
    await here.api.complete(running);
    await finishNode(here.api, 'stop', 'cleanup');
    await title(page, 'cancelled').waitFor();
    await page.getByRole('button', { name: 'Cancel …', exact: true }).waitFor({ state: 'detached' });
  }));

  it('shows an open flow as it grows, and seals it with a reason', withTab(here, async (page, { go }) => {
    const flow = await submit(here.api, { kind: 'growing', open: true });
    await open(page, go, flow);
    await title(page, 'building').waitFor();
    const why = page.getByRole('region', { name: 'About its state', exact: true });
    await why.getByText('It is open: nodes can be added until it is sealed.').waitFor();
    await page.locator('.fl-progress').getByText('no nodes', { exact: true }).waitFor();
    const { nodes, edges } = chain('grow', ['first', 'second']);
    await here.api.post(`/v1/flows/${flow}/nodes`, { nodes, edges });
    await drawn(page, 'second').waitFor();
    await finishNode(here.api, 'grow', 'first');
    await page.locator('.fl-progress').getByText('1 succeeded, 1 not ended of 2 nodes').waitFor();
    await page.getByRole('button', { name: 'Seal …', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Seal this flow' });
    await dialog.getByText(/1 node has not ended; the flow ends with the last of them\./).waitFor();
    await dialog.getByLabel(/^Reason/).fill('nothing more comes');
    await dialog.getByRole('button', { name: 'Copy as CLI', exact: true }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`^flowfabric flows seal ${flow} --reason 'nothing more comes' --store`));
    await checkAccessibility(page, 'seal');
    await dialog.getByRole('button', { name: 'Seal flow', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await title(page, 'running').waitFor();
    await page.getByRole('button', { name: 'Seal …', exact: true }).waitFor({ state: 'detached' });
    const events = (await here.api.get(`/v1/flows/${flow}/history`)).events;
    assert.deepEqual(events.filter((event) => event.type !== 'flow_submitted').map((event) => [event.type, event.reason]), [['flow_extended', '2 nodes, 1 edge'], ['flow_sealed', 'nothing more comes']]);
    await finishNode(here.api, 'grow', 'second');
    await title(page, 'completed').waitFor();
  }));

  it('replays an ended flow from its failure, and from a node', withTab(here, async (page, { go }) => {
    const flow = await submit(here.api, chain('again', ['first', 'second', 'third']));
    await finishNode(here.api, 'again', 'first');
    await failNode(here.api, 'again', 'second');
    await open(page, go, flow);
    await title(page, 'failed').waitFor();
    await page.getByRole('button', { name: 'Replay …', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay this flow' });
    await dialog.getByText('2 nodes have not succeeded.').waitFor();
    await dialog.getByLabel(/^Reason/).fill('mended');
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await title(page, 'running').waitFor();
    for (const name of ['second', 'third']) await finishNode(here.api, 'again', name);
    await title(page, 'completed').waitFor();
    await page.getByRole('button', { name: 'Replay …', exact: true }).waitFor({ state: 'detached' });
    await go(`/ui/flows/${flow}?node=third`);
    await panel(page).getByRole('button', { name: 'Replay from here …', exact: true }).click();
    const from = page.getByRole('dialog', { name: 'Replay from this node' });
    await from.getByRole('checkbox', { name: /^Only this node/ }).check();
    await from.getByRole('button', { name: 'Replay', exact: true }).click();
    await from.waitFor({ state: 'detached' });
    await finishNode(here.api, 'again', 'third');
    await title(page, 'completed').waitFor();
  }));

  it('says when there is no such flow', withTab(here, async (page, { go }) => {
    await go('/ui/flows/fp7-01890000-0000-7000-8000-000000000001');
    await page.getByText('This flow cannot be shown').waitFor();
    await page.getByRole('alert').getByText('not_found').waitFor();
  }, { expected: [/404/] }));

  it('shows markup and control characters in names as text', withTab(here, async (page, { go }) => {
    const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>"\'';
    const other = 'b]"\\<b>\u202egnp';
    const flow = await submit(here.api, { kind: `k${markup}`, nodes: [{ name: markup, kind: 'a', lane: 'odd.a' }, { name: other, kind: markup, lane: 'odd.b' }], edges: [{ from: markup, to: other, group: '<i>g</i>' }],
      groups: [{ node: other, name: '<i>g</i>', policy: 'any' }], tags: { 'app.note': markup } });
    await here.api.fail(await here.api.claim('odd.a'), { category: '<u>c</u>', message: markup, retryable: 'never' });
    const intruders = () => page.evaluate(() => document.querySelectorAll('#main img, #main script, #main i > g, #main b > gnp, #main u').length);
    for (const view of ['', '?view=nodes', '?view=result', '?view=events']) {
      await open(page, go, flow, view);
      await title(page, 'failed').waitFor();
      await page.locator('.fl-body').locator('.fg-node, .vtable-body .vrow, td').first().waitFor();
      assert.equal(await intruders(), 0, view);
      assert.doesNotMatch(await page.locator('#main').textContent(), /[\u202e]/, view);
    }
    await open(page, go, flow, `?node=${encodeURIComponent(other)}`);
    await panel(page).getByRole('region', { name: 'Group <i>g</i>', exact: true }).getByRole('button', { name: markup, exact: true }).click();
    await panel(page).getByRole('heading', { level: 2, name: markup, exact: true }).waitFor();
    await panel(page).getByText(markup, { exact: true }).last().waitFor();
    assert.equal(await intruders(), 0);
  }));

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390, height: 844 }]])
    it(`axe finds nothing serious, ${name}`, withTab(here, async (page, { go }) => {
      await go('/ui/flows');
      await page.locator('.vtable-body .vrow').first().waitFor();
      await live(page).waitFor();
      await checkAccessibility(page, `list ${name}`);
      for (const [flow, query] of [[here.flows.running, '?node=publish'], [here.flows.failed, '?view=nodes&node=publish'], [here.flows.done, '?view=result'], [here.flows.cancelled, '?view=events']]) {
        await open(page, go, flow, query);
        await page.locator('.fl-body').locator('.fg-canvas svg > g > *, .vtable-body .vrow, td').first().waitFor({ state: 'attached' });
        await checkAccessibility(page, `${query} ${name}`);
        const wide = await page.evaluate(() => document.querySelector('#main').scrollWidth - document.querySelector('#main').clientWidth);
        assert.ok(wide <= 0, `${query} is ${wide} pixels too wide`);
      }
      await open(page, go, here.flows.running);
      await page.getByRole('button', { name: 'Cancel …', exact: true }).click();
      await checkAccessibility(page, `dialog ${name}`);
    }, options));
});

describe('a flow of two thousand nodes', () => {
  const here = stage();
  const most = 3200; // elements of a drawing, whatever it shows
  const elements = (page) => page.locator('.fg-canvas svg *').count();
  before(async () => { here.flow = await submit(here.api, large('big', 2000)); });

  it('is drawn with few elements, and pans, zooms and selects', withTab(here, async (page, { go }) => {
    await open(page, go, here.flow);
    await page.locator('.fg-mark').first().waitFor();
    assert.equal(await drawing(page).getAttribute('data-detailed'), 'false');
    assert.ok(await elements(page) < 40, `${await elements(page)} elements`);
    const box = await canvas(page).boundingBox();
    const middle = [box.x + box.width / 2, box.y + box.height / 2];
    // Zoom in until names can be read: a part of the nodes is drawn with all details.
    await page.mouse.move(...middle);
    for (let step = 0; step < 40 && await drawing(page).getAttribute('data-detailed') === 'false'; step += 1) {
      const before = await scale(page);
      await page.mouse.wheel(0, -240);
      await until('the drawing is larger', async () => await scale(page) > before);
    }
    await page.locator('.fg-node').first().waitFor();
    assert.ok(await elements(page) < most, `${await elements(page)} elements`);
    assert.ok(await page.locator('.fg-node').count() < 501);
    // Drag: other nodes come into view.
    const first = await page.locator('.fg-node').first().getAttribute('data-node');
    const before = await transform(page);
    for (let round = 0; round < 4; round += 1) {
      await page.mouse.move(...middle);
      await page.mouse.down();
      await page.mouse.move(middle[0] + 20, middle[1] + 20);
      await page.mouse.move(box.x + 20, box.y + 20);
      await page.mouse.up();
    }
    assert.notEqual(await transform(page), before);
    await until('other nodes are drawn', async () => await page.locator('.fg-node').first().getAttribute('data-node') !== first);
    assert.ok(await elements(page) < most);
    assert.equal(await panel(page).count(), 0);
    // Find a node by its name; a click selects another one.
    await page.getByLabel('Find a node', { exact: true }).fill('store-777');
    await page.keyboard.press('Enter');
    await panel(page).getByRole('heading', { level: 2, name: 'store-777', exact: true }).waitFor();
    await drawn(page, 'store-777').waitFor();
    await panel(page).getByRole('button', { name: 'load-777', exact: true }).click();
    await panel(page).getByRole('heading', { level: 2, name: 'load-777', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Fit', exact: true }).click();
    await page.locator('.fg-mark').first().waitFor();
    assert.ok(await elements(page) < 40);
  }));

  it('marks can be selected, and states change in them', withTab(here, async (page, { go }) => {
    await open(page, go, here.flow);
    await page.locator('.fg-mark[data-state="waiting"]').waitFor({ state: 'attached' });
    const begin = await page.locator('.fg-mark[data-state="waiting"]').boundingBox();
    await page.mouse.click(begin.x + begin.width / 2, begin.y + begin.height / 2);
    await panel(page).getByRole('heading', { level: 2, name: 'begin', exact: true }).waitFor();
    await panel(page).getByRole('button', { name: /^Show all 999 edges$/ }).waitFor();
    await here.api.complete(await here.api.claim(laneOf('big', 'begin')));
    await panel(page).locator('.badge', { hasText: 'completed' }).waitFor();
    await page.locator('.fg-mark[data-state="completed"]').waitFor({ state: 'attached' });
    await page.locator('.fg-legend').getByText('waiting 999', { exact: true }).waitFor();
    await failNode(here.api, 'big', 'load');
    await page.locator('.fg-mark[data-state="failed"]').waitFor({ state: 'attached' });
  }));

  it('has a table of which only the rows in view exist', withTab(here, async (page, { go }) => {
    await open(page, go, here.flow, '?view=nodes');
    const table = page.getByRole('table', { name: 'Nodes' });
    assert.equal(await table.getAttribute('aria-rowcount'), '2001');
    assert.ok(await page.locator('.vtable-body .vrow').count() < 80);
    await page.locator('.vtable-scroll').evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await table.getByRole('link', { name: 'end', exact: true }).waitFor();
  }));
});
