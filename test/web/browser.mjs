// SPDX-License-Identifier: Apache-2.0

// Debian's headless Chromium.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const programs = [process.env.CHROMIUM, '/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export async function openBrowser() {
  const executablePath = programs.find(p => p && existsSync(p));
  if (!executablePath) throw new Error('there is no Chromium: scripts/setup.sh browser installs it');
  // A sandbox takes namespaces that a container may not have; the page is our own.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'] });
}

// openPage opens a page and collects what it complains of.
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', ...options });
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', e => window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
  });
  context.setDefaultTimeout(10000);
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', m => { if (['error', 'warning'].includes(m.type())) page.complaints.push(`console: ${m.text()}`); });
  page.on('pageerror', e => page.complaints.push(`exception: ${e.stack}`));
  page.on('requestfailed', r => { if (!r.url().includes('/live?')) page.complaints.push(`failed: ${r.url()}`); });
  page.on('response', r => { if (r.status() >= 400) page.complaints.push(`status ${r.status()}: ${r.url()}`); });
  page.on('dialog', d => { page.complaints.push(`dialog: ${d.message()}`); d.dismiss(); });
  await page.goto(url);
  return page;
}
