// SPDX-License-Identifier: Apache-2.0

// Makes the pictures of the page for the documents, of a bus that runs for half a minute.
//   node screenshot.mjs BIN FOLDER

import { join } from 'node:path';
import { Bus, until } from './bus.mjs';
import { openBrowser, openPage } from './browser.mjs';

const [bin, folder, seconds = '25'] = process.argv.slice(2);
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const bus = await Bus.open(bin);
const browser = await openBrowser();
try {
  const emulate = ['--emulate', '200-1800'];
  const kinds = ['ecal', 'hcal', 'muon', 'pixel'];
  for (let i = 0; i < 12; i++) {
    const kind = kinds[i % 4];
    bus.publisher(`${kind}-${Math.floor(i / 4)}`, `0x${(i + 1).toString(16)}00-0x${(i + 1).toString(16)}0f`, ...emulate, '--rate', String(400 + 350 * ((i * 7) % 12)));
  }
  bus.publisher('trigger', '0x2000-0x2007', ...emulate, '--rate', '9k');
  bus.publisher('calibration', '0x3000', ...emulate, '--rate', '4k');
  bus.subscriber('daq-0', '0x100-0x6ff,0x2000-0x2007');
  bus.subscriber('daq-1', '0x700-0xcff,0x2000-0x2007');
  bus.subscriber('monitor', '0x100-0xcff', '--policy', 'latest');
  const lossy = bus.subscriber('archive', '0x2000-0x2007', '--policy', 'drop-newest', '--backlog', '64KiB');
  const stopped = bus.subscriber('calib-writer', '0x3000');
  await until('all connections', async () => [lossy, stopped].every(p => /receiv|subscrib|connect/i.test(p.err)));
  const web = await bus.web();
  const page = await openPage(browser, web.url, { deviceScaleFactor: 1 });
  await pause(Number(seconds) * 500);
  stopped.child.kill('SIGSTOP');
  lossy.child.kill('SIGSTOP');
  await pause(Number(seconds) * 500);
  const shot = (name, p = page) => p.screenshot({ path: join(folder, `${name}.png`) });
  await shot('page');
  if (process.env.ALL) {
    for (const view of ['publishers', 'subscribers', 'tags', 'losses', 'topology']) {
      await page.goto(`${web.url}#/${view}`);
      await pause(2500);
      await shot(`page-${view}`);
    }
    await page.goto(`${web.url}#/publishers`);
    await page.getByRole('link', { name: 'trigger' }).click();
    await pause(4500);
    await shot('page-instance');
    await page.goto(`${web.url}#/tag/0x2003`);
    await pause(4500);
    await shot('page-tag');
    await page.goto(`${web.url}#/overview`);
    const small = await openPage(browser, web.url, { viewport: { width: 360, height: 740 } });
    await pause(3000);
    await shot('page-small', small);
    await small.goto(`${web.url}#/publishers`);
    await pause(2000);
    await shot('page-small-publishers', small);
  }
  await page.emulateMedia({ colorScheme: 'dark' });
  await pause(1500);
  await shot('page-dark');
  if (page.complaints.length) console.error(page.complaints.join('\n'));
  const violations = await page.evaluate(() => window.violations);
  if (violations.length) console.error(violations.join('\n'));
} finally {
  await browser.close();
  await bus.close();
}
