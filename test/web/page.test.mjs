// SPDX-License-Identifier: Apache-2.0

// The page in a real browser, of a bus of real processes.
//   node --test page.test.mjs      with BIN, the folder of the commands

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Bus, until } from './bus.mjs';
import { openBrowser, openPage } from './browser.mjs';
import { readFile } from 'node:fs/promises';

const bin = process.env.BIN;
const HOSTILE = '<img src=x onerror=alert(1)>';
const LONG = `long-${'x'.repeat(200)}`;

let bus;
let browser;
let web;
let page;
const p = {}; // the processes

before(async () => {
  bus = await Bus.open(bin);
  browser = await openBrowser();
  const emulate = ['--emulate', '400'];
  p.det = bus.publisher('det-0', '0x100-0x10f', ...emulate, '--rate', '500', '--metrics', '127.0.0.1:0');
  p.trigger = bus.bursts('trigger', '0x200-0x207');
  p.calibration = bus.publisher('calibration', '0x300', '--emulate', '4000', '--rate', '8k');
  p.hostile = bus.messages(HOSTILE, '0x400', 1000);
  p.long = bus.publisher(LONG, '0x500', ...emulate, '--rate', '10');
  p.twin = bus.messages('twin', '0x100', 70);
  p.daq = bus.subscriber('daq', '0x100-0x10f', '--metrics', '127.0.0.1:0');
  p.archive = bus.subscriber('archive', '0x200-0x207', '--policy', 'drop-newest', '--backlog', '16KiB');
  p.writer = bus.subscriber('writer', '0x300');
  p.stranger = bus.subscriber('<b>sub</b>', '0x500');
  web = await bus.web();
  page = await openPage(browser, web.url);
  // The archive loses without being stopped: its backlog is smaller than a burst.
  await until('six publishers and four subscribers', async () => (await total('processes')) === '6' && (await total('peers')) === '4');
  p.writer.child.kill('SIGSTOP');
});

after(async () => {
  await browser?.close();
  await bus?.close();
});

const total = async (name, of = page) => (await of.locator(`[data-total="${name}"] .value`).textContent({ timeout: 10000 })).trim();
const show = async (path, of = page) => {
  await of.evaluate(to => { location.hash = to; }, `#/${path}`);
};
const row = (name, of = page) => of.locator('tbody tr:not(.gap)', { has: of.getByRole('link', { name, exact: true }) });
const state = async () => (await fetch(`${web.url}api/v1/bus?peers=100&busiest=100`)).json();

// clean holds the page to having complained of nothing.
async function clean(of) {
  assert.deepEqual(of.complaints, []);
  assert.deepEqual(await of.evaluate(() => window.violations), []);
}

test('the overview says who stalls and who loses', async () => {
  await until('stalled subscriber', async () => (await total('stalled')) === '1', 30000);
  await until('losing subscriber', async () => (await total('losing')) === '1', 30000);
  assert.equal(await total('processes'), '6');
  assert.equal(await total('unreachable'), '0');
  const worst = page.locator('section', { has: page.getByRole('heading', { name: 'Needs a look' }) });
  await until('writer and archive', async () => /writer.*stalled/s.test(await worst.innerText()) && /archive.*losing/s.test(await worst.innerText()));
  assert.match(await worst.innerText(), /takes nothing for \d+\s?s; queue \d+\s?%; policy block/u);
  assert.equal(await page.locator('.chart canvas').count(), 3);
  assert.match(await page.locator('.chart').first().getAttribute('aria-label'), /^Messages per second over the last day: now .*, highest .*$/);
  await until('summary for screen readers', async () => /1 stalled, 1 losing, 0 unreachable/.test(await page.locator('#summary').textContent()), 20000);
  await clean(page);
});

test('the tables show what the processes say', async () => {
  await show('publishers');
  await row('trigger').waitFor();
  assert.match(await row('calibration').innerText(), /stalled: 1/);
  assert.match(await row('trigger').innerText(), /losing/);
  assert.equal(await row('calibration').getAttribute('data-status'), 'stalled');
  assert.equal(await page.locator('tbody tr:not(.gap)').count(), 6);
  await show('subscribers');
  await row('writer').waitFor();
  assert.match(await row('writer').innerText(), /stalled \d+/);
  assert.match(await row('archive').innerText(), /drop-newest/);
  await show('losses');
  await row('trigger').waitFor();
  const [, shown] = (await row('trigger').innerText()).match(/full\s+([\d,]+)/);
  const trigger = (await state()).entries.find(e => e.name === 'trigger').state;
  const lost = trigger.losses.reduce((n, l) => n + l.messages, 0);
  const n = Number(shown.replaceAll(',', ''));
  assert.ok(n > 0 && n <= lost && lost - n < 8000 * 10, `the page shows ${n} lost messages, and the process ${lost} a little later`);
  await clean(page);
});

test('a tag that two publishers serve has a page that names both', async () => {
  await until('end of the 70 messages', async () => (await state()).entries.find(e => e.name === 'twin').state.messages === 70);
  await show('tag/0x100');
  await row('twin').waitFor();
  assert.equal(await page.getByText('2 publishers serve it').count(), 1);
  await until('its 70 messages', async () => /\b70\b/.test(await row('twin').innerText()));
  await show('tag/nonsense');
  await until('word of it', async () => (await page.locator('#link').getAttribute('data-state')) === 'lost');
  page.complaints = page.complaints.filter(c => !/status 400|400 \(Bad Request\)/.test(c)); // that was wanted
  await show('tags?filter=0x207');
  await until('one tag', async () => (await page.locator('tbody tr:not(.gap)').count()) === 1);
  await clean(page);
});

test('the page of a process has its counts to the message', async () => {
  await show('publishers?filter=onerror');
  await row(HOSTILE).waitFor();
  await row(HOSTILE).getByRole('link').click();
  await until('1,000 messages', async () => /Messages\s+1,000/.test(await page.locator('.facts').innerText()));
  const entry = (await state()).entries.find(e => e.name === HOSTILE);
  assert.equal(entry.state.messages, 1000);
  const facts = await page.locator('.facts').innerText();
  assert.match(facts, new RegExp(`Instance\\s+${entry.instance}`));
  assert.match(facts, new RegExp(`Process id\\s+${p.hostile.child.pid}`));
  await clean(page);
});

test('hostile names stay text', async () => {
  await show('publishers');
  await row(HOSTILE).waitFor();
  assert.equal(await row(HOSTILE).getByRole('link').textContent(), HOSTILE);
  assert.equal(await page.locator('main img').count(), 0);
  const long = page.getByRole('rowheader', { name: /^long-x+/ });
  assert.ok((await long.boundingBox()).width < 400, 'a long name is cut');
  await show('subscribers');
  await row('<b>sub</b>').waitFor();
  assert.equal(await page.locator('main b').count(), 0);
  await show('topology');
  await page.locator('svg a').first().waitFor();
  assert.equal(await page.locator('main img, main b').count(), 0);
  assert.ok(await page.locator('path[data-status="stalled"]').count() > 0, 'the stalled connection has a line of its own kind');
  await clean(page);
});

test('all can be done with the keyboard', async () => {
  await show('publishers?sort=name&order=asc');
  await row('trigger').waitFor();
  await page.locator('body').press('/');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'filter');
  await page.keyboard.type('trig');
  await until('filtered rows', async () => (await page.locator('tbody tr:not(.gap)').count()) === 1);
  await until('filter in the address', () => /filter=trig/.test(page.url()));
  await page.keyboard.press('Escape');
  await until('all rows', async () => (await page.locator('tbody tr:not(.gap)').count()) === 6);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.locator('tbody a[tabindex="0"]').focus();
  await page.keyboard.press('Home');
  const first = await focused();
  await page.keyboard.press('ArrowDown');
  const second = await focused();
  assert.notEqual(second, first);
  await page.keyboard.press('End');
  assert.equal(await focused(), 'twin');
  await page.keyboard.press('Home');
  assert.equal(await focused(), first);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, 'solid');
  await page.keyboard.press('Enter');
  await until('the page of a process', () => page.url().includes('#/instance/'));
  await page.goBack();
  // Each column is a button that says its order.
  const head = page.getByRole('columnheader', { name: 'msg/s' });
  await head.getByRole('button').press('Enter');
  await until('order', async () => (await head.getAttribute('aria-sort')) === 'descending');
  await until('the fastest first', async () => /trigger|calibration/.test(await page.locator('tbody tr:not(.gap)').first().innerText()));
  // From the top, the first stop skips the rest.
  await page.evaluate(() => document.activeElement.blur());
  await page.reload();
  await row('trigger').waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the content');
  await clean(page);
});

test('axe finds nothing wrong, in light and dark, at all views', async () => {
  const axe = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const view of ['overview', 'publishers', 'subscribers', 'tags', 'losses', 'topology', 'tag/0x200']) {
      await show(view);
      await page.locator('main .panel').first().waitFor();
      await until('rows', () => page.evaluate(() => !!document.querySelector('main tbody tr:not(.gap), main li, main svg a')));
      await page.evaluate(axe);
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(found.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.html).slice(0, 2)}`), [], `${view}, ${colorScheme}`);
    }
  }
  await clean(page);
});

test('the theme has a switch that lasts', async () => {
  await page.emulateMedia({ colorScheme: 'light' });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await background();
  assert.notEqual(dark, light);
  await page.locator('#theme').click();
  assert.equal(await page.locator('#theme').getAttribute('aria-label'), 'Theme: light');
  assert.equal(await background(), light);
  await page.reload();
  await page.locator('[data-total="rate"]').waitFor();
  assert.equal(await background(), light);
  assert.deepEqual(await page.context().cookies(), []);
  await page.emulateMedia({ colorScheme: 'light' });
});

test('it fits 360 pixels', async () => {
  const small = await openPage(browser, web.url, { viewport: { width: 360, height: 740 } });
  for (const view of ['overview', 'publishers', 'subscribers', 'tags', 'losses', 'topology', 'tag/0x100']) {
    await show(view, small);
    await until('content', () => small.evaluate(() => !!document.querySelector('main tbody tr:not(.gap), main li, main svg a')));
    const wide = await small.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${view} is ${wide} pixels wide`);
  }
  await clean(small);
  await small.context().close();
});

test('three viewers see the same', async () => {
  const others = [await openPage(browser, web.url), await openPage(browser, web.url)];
  for (const other of others) {
    let shown;
    await until('same totals', async () => {
      shown = await Promise.all([page, other].map(async of => [await total('processes', of), await total('peers', of), await total('stalled', of)].join()));
      return shown[0] === shown[1] && shown[0].startsWith('6,4,');
    }).catch(e => { throw new Error(`${e.message}: ${shown}`); });
    await clean(other);
    await other.context().close();
  }
});

test('each process with --metrics shows itself', async () => {
  for (const [who, role, peer] of [[p.det, 'publisher', 'daq'], [p.daq, 'subscriber', 'det-0']]) {
    const [, url] = await who.said(/metrics at (http:\S+)metrics/);
    const own = await openPage(browser, url);
    await own.getByRole('link', { name: `This ${role}` }).click();
    await row(peer, own).waitFor();
    assert.match(await own.locator('.facts').innerText(), new RegExp(`Process id\\s+${who.child.pid}`));
    await clean(own);
    await own.context().close();
  }
});

test('one that is stalled and loses is named with both', async () => {
  await show('overview');
  p.archive.child.kill('SIGSTOP');
  const worst = page.locator('section', { has: page.getByRole('heading', { name: 'Needs a look' }) });
  await until('the stalled archive that loses', async () => /archive[^;]*stalled[^;]*takes nothing for [^;]*; queue [^;]*; policy drop-newest; loses \S+\s\S+ ?messages a second: full/s.test(await worst.innerText()), 30000);
  p.archive.child.kill('SIGCONT');
  await clean(page);
});

test('what was shown is what the processes say at their end', async () => {
  await show('overview');
  const archive = await p.archive.end();
  p.writer.child.kill('SIGCONT');
  await until('no stalled subscriber', async () => (await total('stalled')) === '0', 30000);
  await until('that nothing is lost now', async () => (await total('losing')) === '0', 30000);
  const shown = await page.locator('section', { has: page.getByRole('heading', { name: 'Losses by cause' }) }).innerText();
  const trigger = await p.trigger.end();
  const lost = Number(shown.match(/full\n([\d,]+)/)[1].replaceAll(',', ''));
  assert.ok(lost > 0);
  assert.deepEqual([trigger.lost_by.full, archive.lost_by.full], [lost, lost], `publisher and subscriber tell of what the page has shown: ${shown}`);
  await clean(page);
});
