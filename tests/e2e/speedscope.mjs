// speedscope.mjs - open a trace in speedscope in a real browser
//
// SPDX-License-Identifier: Apache-2.0
//
//     node speedscope.mjs MODULES_DIR TRACE SCREENSHOT.png
//
// MODULES_DIR holds playwright-core and speedscope. Prints the page's title
// and the profile's label; exit 1 when the page reports an error or the trace
// does not show.
import {createRequire} from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [modules, trace, screenshot] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), 'package.json'));
const {chromium} = require('playwright-core');
const application = path.join(modules, 'speedscope', 'dist', 'release', 'index.html');

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--no-first-run',
    '--allow-file-access-from-files'],
});
const errors = [];
try {
  const page = await browser.newPage({viewport: {width: 1400, height: 800}});
  page.setDefaultTimeout(300000); // it ends what hangs, also beside a load
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('dialog', (dialog) => {
    errors.push(dialog.message());
    dialog.dismiss();
  });
  await page.goto(pathToFileURL(path.resolve(application)).href);
  const chooser = page.waitForEvent('filechooser');
  await page.click('label[for=file]');
  await (await chooser).setFiles(trace);
  await page.waitForFunction(
      (name) => document.title.includes(name), path.basename(trace));
  await page.waitForTimeout(1500);
  await page.screenshot({path: screenshot});
  const text = (await page.innerText('body')).split('\n')
      .filter((line) => line.trim() !== '').slice(0, 12);
  console.log(JSON.stringify({title: await page.title(), text, errors}));
} catch (error) {
  errors.push(String(error));
  console.error(`speedscope.mjs: ${trace}: ${error}`);
}
await browser.close();
process.exit(errors.length > 0 || !fs.existsSync(screenshot) ? 1 : 0);
