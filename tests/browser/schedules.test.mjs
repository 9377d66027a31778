// Schedules: the list, the page of one, what can be done to them, the form, live changes, hostile names, a thousand of them.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { checkAccessibility } from './support/browser.mjs';
import { describeSchedule, fire, makeHistory, makeSchedule } from './support/schedules.mjs';
import { flowfabric } from './support/server.mjs';
import { stage, withTab } from './support/stage.mjs';
import { until } from './support/work.mjs';

const live = (page) => page.getByRole('button', { name: 'Live updates: Live' });
const dialog = (page) => page.getByRole('dialog');
const table = (page) => page.getByRole('table', { name: 'Schedules' });
const row = (page, name) => table(page).getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const panel = (page, title) => page.locator('section.panel').filter({ has: page.getByRole('heading', { level: 2, name: title }) });
const state = (page, text) => page.locator('.run-title .badge', { hasText: new RegExp(`^${text}$`) });
const press = (page, name) => dialog(page).getByRole('button', { name, exact: true }).click();
const closed = (page) => dialog(page).waitFor({ state: 'detached' });

async function open(page, go, name) {
  await go(`/ui/schedules/${encodeURIComponent(name)}`);
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  await live(page).waitFor();
}

describe('the list of schedules', () => {
  const here = stage();

  it('says how to make one while there are none, and shows one that is made elsewhere', withTab(here, async (page, { go }) => {
    await go('/ui/schedules');
    await page.getByText('There are no schedules yet').waitFor();
    await page.getByText(/^flowfabric schedules create nightly-report --cron '30 2 \* \* \*' --time-zone Europe\/Berlin --kind report --store http/).waitFor();
    await live(page).waitFor();
    await makeSchedule(here.api, 'first');
    await row(page, 'first').waitFor();
    await page.getByText('1 schedule', { exact: true }).waitFor();
  }));

  it('shows the next time, the last firing and its outcome, and what happens to firings that overlap', withTab(here, async (page, { go }) => {
    const made = await makeHistory(here.api, 'nightly', { overlap: 'skip' });
    const { summary } = await describeSchedule(here.api, 'nightly');
    await go('/ui/schedules');
    const nightly = row(page, 'nightly');
    await nightly.getByText('at 02:30, Monday to Friday', { exact: true }).waitFor();
    await nightly.locator(`time[datetime="${new Date(summary.next_at).toISOString()}"]`).waitFor();
    await nightly.locator('.badge', { hasText: /^skipped$/ }).waitFor();
    await nightly.getByText('skip', { exact: true }).waitFor();
    await here.api.complete(await here.api.claim('lane-of-nightly'));
    const { execution_id: last } = await fire(here.api, 'nightly');
    const link = nightly.getByRole('link', { name: 'not ended', exact: true });
    await link.waitFor();
    assert.equal(await link.getAttribute('href'), `/ui/executions/${last}`);
    await here.api.fail(await here.api.claim('lane-of-nightly'), { retryable: 'never' });
    await nightly.getByRole('link', { name: 'failed', exact: true }).waitFor();
    assert.notEqual(made.done, last);
  }));

  it('filters by state, words and namespace, in the address', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'held', { paused: true });
    await makeSchedule(here.api, 'elsewhere', { namespace: 'team/a', execution: { kind: 'bill' } });
    await go('/ui/schedules');
    await row(page, 'held').getByText('paused', { exact: true }).first().waitFor();
    await page.getByRole('group', { name: 'States' }).getByRole('button', { name: 'paused', exact: true }).click();
    await page.waitForURL('**/ui/schedules?state=paused');
    await page.getByText('1 schedule', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Clear filters', exact: true }).click();
    await page.locator('input[name="text"]').fill('BILL else');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/schedules?text=BILL+else');
    await row(page, 'elsewhere').waitFor();
    await row(page, 'held').waitFor({ state: 'detached' });
    await page.locator('input[name="text"]').fill('nothing like it');
    await page.keyboard.press('Enter');
    await page.getByText('No schedule matches these filters').waitFor();
    await page.getByRole('link', { name: 'show all schedules', exact: true }).click();
    await row(page, 'held').waitFor();
    await page.locator('input[name="namespace"]').fill('team/a');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/schedules?namespace=team%2Fa');
    await row(page, 'held').waitFor({ state: 'detached' });
    await row(page, 'elsewhere').getByRole('link', { name: 'elsewhere', exact: true }).click();
    await page.waitForURL('**/ui/schedules/elsewhere?namespace=team%2Fa');
    await page.getByRole('heading', { level: 1, name: 'elsewhere', exact: true }).waitFor();
  }));

  it('is reached with keys and from the palette; rows are opened with keys', withTab(here, async (page, { go }) => {
    await go('/');
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.waitForURL('**/ui/schedules');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill('Schedules: paused');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/ui/schedules?state=paused');
    await row(page, 'held').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('o');
    await page.waitForURL('**/ui/schedules/held');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).fill('Schedule elsewhere');
    await page.getByRole('option').filter({ hasText: 'schedule in team/a' }).click();
    await page.waitForURL('**/ui/schedules/elsewhere?namespace=team%2Fa');
  }));
});

describe('the page of a schedule', () => {
  const here = stage();
  before(async () => { here.made = await makeHistory(here.api, 'nightly', { overlap: 'skip', execution: { payload: { month: 11 }, tags: { 'report.format': 'pdf' } } }); });

  it('tells in words when it fires and what it does, and shows the next times', withTab(here, async (page, { go }) => {
    await open(page, go, 'nightly');
    await state(page, 'active').waitFor();
    const definition = panel(page, 'Definition');
    await definition.getByText('at 02:30, Monday to Friday').waitFor();
    await definition.getByText('30 2 * * MON-FRI', { exact: true }).waitFor();
    await definition.getByText('Europe/Berlin', { exact: true }).waitFor();
    await definition.getByText('12-25 (every year)', { exact: true }).waitFor();
    await definition.getByText('While an execution of an earlier firing has not ended, a firing is skipped.').waitFor();
    const { next } = await describeSchedule(here.api, 'nightly');
    const shown = await panel(page, 'Next times').locator('time').evaluateAll((times) => times.map((time) => Date.parse(time.dateTime)));
    assert.deepEqual(shown, next);
    await panel(page, 'Executions').getByRole('link', { name: 'report.format=pdf' }).waitFor();
  }));

  it('lists the firings with their outcomes, reasons and executions, which lead back', withTab(here, async (page, { go }) => {
    const { done, failed, running } = here.made;
    await open(page, go, 'nightly');
    const firings = panel(page, /^Firings/).getByRole('row');
    const of = (id) => firings.filter({ has: page.locator(`td:nth-child(3) a[title="${id}"]`) });
    await of(done).getByText('succeeded', { exact: true }).waitFor();
    await of(failed).getByText('failed', { exact: true }).waitFor();
    await of(running).getByText('not ended', { exact: true }).waitFor();
    const skipped = firings.filter({ has: page.locator('.badge', { hasText: /^skipped$/ }) });
    await skipped.getByText('has not ended').waitFor();
    assert.equal(await skipped.getByRole('link').getAttribute('href'), `/ui/executions/${running}`);
    await panel(page, /^Not ended \(1\)$/).locator(`a[title="${running}"]`).waitFor();
    await of(failed).getByRole('link').click();
    await page.waitForURL(`**/ui/executions/${failed}`);
    await page.getByText('scheduled for', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'nightly', exact: true }).click();
    await page.waitForURL('**/ui/schedules/nightly');
    await page.getByRole('link', { name: 'All executions', exact: true }).click();
    await page.getByText('3 rows loaded', { exact: false }).waitFor();
  }));

  it('follows what is done elsewhere', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'watched');
    await open(page, go, 'watched');
    await page.getByText('It has not fired yet').waitFor();
    const { execution_id: id } = await fire(here.api, 'watched');
    await panel(page, /^Firings \(1\)$/).locator(`a[title="${id}"]`).waitFor();
    await here.api.post('/v1/schedules/watched/pause', { reason: 'the numbers are wrong' });
    await state(page, 'paused').waitFor();
    await page.getByRole('region', { name: 'What holds it back' }).getByText(/was paused at .* the numbers are wrong/).waitFor();
    await panel(page, /^Changes/).getByRole('row', { name: /paused .* the numbers are wrong/ }).waitFor();
    await panel(page, 'Next times').getByText('None while it is paused.').waitFor();
  }));

  it('is paused and resumed', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'switched');
    await open(page, go, 'switched');
    await page.getByRole('button', { name: 'Pause …', exact: true }).click();
    await dialog(page).getByLabel(/Reason/).fill('maintenance');
    await press(page, 'Pause');
    await state(page, 'paused').waitFor();
    assert.equal((await describeSchedule(here.api, 'switched')).reason, 'maintenance');
    await page.getByRole('button', { name: 'Resume …', exact: true }).click();
    await press(page, 'Resume');
    await state(page, 'active').waitFor();
    assert.equal((await describeSchedule(here.api, 'switched')).summary.state, 'active');
  }));

  it('is fired by hand, also beside what runs', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'fired');
    await open(page, go, 'fired');
    const fireNow = async () => {
      await page.getByRole('button', { name: 'Fire now …', exact: true }).click();
      return dialog(page);
    };
    await fireNow();
    await press(page, 'Fire now');
    await page.getByText('An execution was started', { exact: true }).waitFor();
    await fireNow();
    await press(page, 'Fire now');
    await page.getByText('Skipped: an execution of an earlier firing has not ended', { exact: true }).waitFor();
    await (await fireNow()).getByRole('checkbox').check();
    await press(page, 'Fire now');
    await until('two executions', async () => (await describeSchedule(here.api, 'fired')).counts.fired === 2);
    await panel(page, /^Firings \(3\)$/).waitFor();
  }));

  it('is backfilled: the number of firings is told before', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'hourly', { cron: '0 * * * *', time_zone: 'Europe/Berlin' });
    await open(page, go, 'hourly');
    await page.getByRole('button', { name: 'Backfill …', exact: true }).click();
    const fill = async (from, to) => {
      await dialog(page).locator('input[name="from"]').fill(from);
      await dialog(page).locator('input[name="to"]').fill(to);
    };
    await fill('2026-01-05T12:00', '2026-01-05T12:00');
    await dialog(page).getByText('Choose where the range begins').waitFor();
    await fill('2026-01-05T12:00:01', '2026-01-05T13:00');
    await dialog(page).getByText('No scheduled time is in this range.').waitFor();
    await fill('2025-01-05T12:00', '2026-01-05T12:00');
    await dialog(page).getByText(/^More than 1.000 scheduled times/).waitFor();
    // Both ends are scheduled times; the last does not belong to the range.
    await fill('2026-01-05T12:00', '2026-01-05T15:00');
    await dialog(page).getByText(/^3 scheduled times\./).waitFor();
    await press(page, 'Create executions');
    await page.getByText('3 executions created; 0 times had one already', { exact: true }).waitFor();
    await panel(page, /^Firings/).getByText('3 created', { exact: true }).waitFor();
    const made = (await here.api.get('/v1/executions?lane=lane-of-hourly')).executions.map((one) => one.tags['schedule.at']).sort();
    assert.deepEqual(made, ['2026-01-05T11:00:00.000Z', '2026-01-05T12:00:00.000Z', '2026-01-05T13:00:00.000Z']);
  }));

  it('is deleted after a question; what happened to it can still be read', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'doomed');
    await open(page, go, 'doomed');
    await page.getByRole('button', { name: 'Delete …', exact: true }).click();
    await dialog(page).getByLabel(/Reason/).fill('not needed any more');
    await press(page, 'Delete schedule');
    await page.waitForURL('**/ui/schedules');
    await row(page, 'nightly').waitFor();
    await row(page, 'doomed').waitFor({ state: 'detached' });
    await go('/ui/schedules/doomed');
    await page.getByText('This schedule cannot be shown').waitFor();
    await page.getByRole('row', { name: /deleted .* not needed any more/ }).waitFor();
  }, { expected: [/status of 404/] }));

});

describe('the form of a schedule', () => {
  const here = stage();
  const field = (page, label) => dialog(page).locator('.field').filter({ hasText: label });
  const refused = { expected: [/status of 4\d\d/] };

  it('shows the next times and what the server refuses at its field, and makes a schedule', withTab(here, async (page, { go }) => {
    await go('/ui/schedules');
    await page.getByRole('button', { name: 'Create schedule …', exact: true }).click();
    await dialog(page).locator('input[name="name"]').fill('nightly');
    await dialog(page).locator('input[name="cron"]').fill('61 * * * *');
    await field(page, 'Expression').getByRole('alert').getByText(/^cron: /).waitFor();
    await dialog(page).locator('input[name="cron"]').fill('30 2 * * *');
    await dialog(page).locator('input[name="time_zone"]').fill('Mars/Olympus');
    await field(page, 'Time zone').getByRole('alert').getByText(/Mars/).waitFor();
    await dialog(page).locator('input[name="time_zone"]').fill('Europe/Berlin');
    const preview = dialog(page).getByRole('region', { name: 'Preview' });
    await preview.getByText('at 02:30 every day', { exact: true }).waitFor();
    await preview.locator('time').nth(4).waitFor();
    assert.equal(await preview.locator('time').count(), 5);
    await dialog(page).locator('textarea[name="exceptions"]').fill('12-25\n13-40');
    await field(page, 'Not on').getByRole('alert').waitFor();
    await dialog(page).locator('textarea[name="exceptions"]').fill('12-25');
    await dialog(page).locator('input[name="kind"]').fill('report');
    await dialog(page).locator('textarea[name="payload"]').fill('{"id": ');
    await press(page, 'Create schedule');
    await field(page, 'Payload').getByRole('alert').getByText(/is not JSON/).waitFor();
    await dialog(page).locator('textarea[name="payload"]').fill('{"id": 12345678901234567890}');
    await dialog(page).locator('textarea[name="tags"]').fill('schedule.name=mine');
    await press(page, 'Create schedule');
    await field(page, 'Tags').getByRole('alert').getByText(/schedule\.name is set by the schedule itself/).waitFor();
    await dialog(page).locator('textarea[name="tags"]').fill('report.format=pdf');
    await dialog(page).locator('select[name="overlap"]').selectOption('buffer_one');
    await press(page, 'Create schedule');
    await page.waitForURL('**/ui/schedules/nightly');
    await panel(page, 'Executions').getByText('12345678901234567890').waitFor();
    const { spec } = await describeSchedule(here.api, 'nightly');
    assert.deepEqual([spec.cron, spec.time_zone, spec.exceptions, spec.overlap, spec.execution.kind, spec.execution.tags], ['30 2 * * *', 'Europe/Berlin', ['12-25'], 'buffer_one', 'report', { 'report.format': 'pdf' }]);
  }, refused));

  it('changes a schedule, and keeps what it has no field for', withTab(here, async (page, { go }) => {
    const policy = { retry: { max_retries: 3 } };
    await here.api.post('/v1/schedules', { name: 'kept', every_ms: 5_400_000, execution: { kind: 'copy', lane: 'copies', policy, required_capabilities: ['gpu'] } });
    const old = await describeSchedule(here.api, 'kept');
    await open(page, go, 'kept');
    await page.getByRole('button', { name: 'Edit …', exact: true }).click();
    assert.equal(await dialog(page).locator('input[name="every"]').inputValue(), '90m');
    await press(page, 'Save');
    await page.getByText('Nothing was changed: it is like this already', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Edit …', exact: true }).click();
    await dialog(page).locator('input[name="every"]').fill('soon');
    await field(page, 'Every').getByRole('alert').getByText(/is not a duration/).waitFor();
    await dialog(page).locator('input[name="every"]').fill('2h');
    await dialog(page).getByRole('region', { name: 'Preview' }).locator('time').nth(4).waitFor();
    await press(page, 'Save');
    await panel(page, 'Definition').getByText('every 2 h', { exact: true }).waitFor();
    const { spec } = await describeSchedule(here.api, 'kept');
    assert.equal(spec.every_ms, 7_200_000);
    assert.deepEqual(spec.execution, old.spec.execution);
  }));

  it('does not overwrite what somebody else has changed meanwhile', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'shared');
    await open(page, go, 'shared');
    await page.getByRole('button', { name: 'Edit …', exact: true }).click();
    await here.api.call('PUT', '/v1/schedules/shared', { every_ms: 60_000_000, execution: { kind: 'theirs' } });
    await dialog(page).locator('input[name="kind"]').fill('mine');
    await press(page, 'Save');
    await dialog(page).getByRole('alert').getByText(/the schedule has revision 2, not 1/).waitFor();
    assert.equal((await describeSchedule(here.api, 'shared')).spec.execution.kind, 'theirs');
  }, refused));
});

describe('schedules for a viewer', () => {
  const secretOf = (output) => output.trim().split(/\s+/).find((word) => word.length > 30);
  const makeKeys = async (store) => {
    const make = (name, role) => secretOf(flowfabric('api-keys', 'create', name, '--role', role, '--store', store));
    return { admin: make('ada', 'admin'), viewer: make('vera', 'viewer') };
  };
  const here = stage({ options: ['--auth', 'keys'], prepare: makeKeys, key: (keys) => keys.admin });

  it('are shown without what would be refused', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, 'seen');
    await go('/ui/schedules');
    await page.getByLabel('API key').fill(here.server.prepared.viewer);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await row(page, 'seen').getByRole('link', { name: 'seen', exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: /Create schedule/ }).count(), 0);
    await row(page, 'seen').getByRole('link', { name: 'seen', exact: true }).click();
    await panel(page, 'Definition').waitFor();
    assert.equal(await page.getByRole('button', { name: /Fire|Pause …|Backfill|Edit|Delete/ }).count(), 0);
  }, { expected: [/status of 401/] }));
});

describe('many schedules, hostile ones, and every screen', () => {
  const here = stage();
  const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const hostile = '"><img\u2003src=x>&lt;';
  const shown = /^"><img.src=x>&lt;$/;

  it('a thousand are scrolled and searched', withTab(here, async (page, { go }) => {
    const names = Array.from({ length: 1000 }, (_, n) => `job-${String(n).padStart(4, '0')}`);
    for (let from = 0; from < names.length; from += 20) await Promise.all(names.slice(from, from + 20).map((name) => makeSchedule(here.api, name, { namespace: 'crowd', paused: true })));
    await go('/ui/schedules?namespace=crowd');
    await page.getByText(/^1.000 schedules$/).waitFor();
    assert.ok(await page.locator('.vtable-body .vrow').count() < 100);
    await page.locator('.vtable-scroll').evaluate((list) => { list.scrollTop = list.scrollHeight; });
    await row(page, 'job-0999').waitFor();
    await page.locator('input[name="text"]').fill('0123');
    await page.keyboard.press('Enter');
    await page.getByText(/^1 of 1.000 schedules$/).waitFor();
    await row(page, 'job-0123').waitFor();
  }));

  it('names and reasons with markup are texts', withTab(here, async (page, { go }) => {
    await makeSchedule(here.api, hostile, { execution: { kind: markup, lane: 'hostile', payload: { [markup]: markup }, tags: { 'app.note': markup }, creator: markup } });
    await fire(here.api, hostile, { reason: markup });
    await here.api.post(`/v1/schedules/${encodeURIComponent(hostile)}/pause`, { reason: markup });
    for (const path of ['/ui/schedules?namespace=default', `/ui/schedules/${encodeURIComponent(hostile)}`, '/ui/events?type=schedule_fired']) {
      await go(path);
      await page.locator('h1').first().waitFor();
      await live(page).waitFor();
      if (path.startsWith('/ui/events')) await page.getByRole('button', { name: 'Oldest first', exact: true }).click();
      await page.getByRole('link', { name: shown, exact: true }).or(page.getByRole('heading', { level: 1, name: shown, exact: true })).first().waitFor();
      assert.equal(await page.evaluate(() => document.querySelectorAll('#main img, #main script').length), 0, path);
    }
    await go(`/ui/schedules/${encodeURIComponent(hostile)}`);
    await page.getByRole('region', { name: 'What holds it back' }).getByText(markup).waitFor();
    await page.getByRole('button', { name: 'Edit …', exact: true }).click();
    assert.equal(await dialog(page).locator('input[name="kind"]').inputValue(), markup);
    assert.equal(await page.evaluate(() => document.querySelectorAll('dialog img, dialog script').length), 0);
    await page.keyboard.press('Escape');
    await closed(page);
  }));

  for (const [name, options] of [['light', {}], ['dark', { dark: true }], ['narrow', { width: 390, height: 844 }]])
    it(`are accessible, ${name}`, withTab(here, async (page, { go }) => {
      const schedule = `nightly-${name}`;
      await makeHistory(here.api, schedule, { execution: { payload: { month: 11 } } });
      await go('/ui/schedules?namespace=default');
      await row(page, schedule).waitFor();
      await checkAccessibility(page, `list ${name}`);
      await open(page, go, schedule);
      await panel(page, /^Firings/).waitFor();
      await checkAccessibility(page, `page ${name}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'the page does not scroll sideways');
      await page.getByRole('button', { name: 'Edit …', exact: true }).click();
      await dialog(page).getByRole('region', { name: 'Preview' }).locator('time').first().waitFor();
      await checkAccessibility(page, `form ${name}`);
      assert.ok(await dialog(page).evaluate((element) => element.scrollWidth <= element.clientWidth + 1), 'the form does not scroll sideways');
      await page.keyboard.press('Escape');
      await closed(page);
      await page.getByRole('button', { name: 'Backfill …', exact: true }).click();
      await dialog(page).getByRole('status').waitFor();
      await checkAccessibility(page, `backfill ${name}`);
    }, options));
});
