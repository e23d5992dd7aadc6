// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A headless Chromium that reports in TAP: what the tests of pages share.
import {chromium} from 'playwright-core';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

let count = 0, failures = 0;

export function check(name, passed, ...details) {
	console.log(`${passed ? 'ok' : 'not ok'} ${++count} - ${name}`);
	if (!passed) {
		failures++;
		for (const detail of details)
			console.log('# ' + String(detail).replaceAll('\n', '\n# '));
	}
}

export function checkEqual(name, got, wanted) {
	check(name, got === wanted, `got ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}

export function checkMatch(name, got, pattern) {
	check(name, pattern.test(got), `${JSON.stringify(got)} does not match ${pattern}`);
}

/* When the page began its work and when its first picture was drawn, which is after it was loaded. */
export async function drawn(page) {
	await page.waitForFunction(() => performance.getEntriesByName('drawn').length);
	return page.evaluate(() => ['begin', 'drawn'].map(name => performance.getEntriesByName(name)[0].startTime));
}

/* Runs the cases in a browser of their own, and ends the process. Every page that open() gives is
 * watched: what it tells the console as an error, and what it asks a network for, is kept. */
export async function run(cases) {
	const home = fs.mkdtempSync(path.join(os.tmpdir(), 'culprit-browser-'));
	const context = await chromium.launchPersistentContext(home, {
		executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
		headless: true, chromiumSandbox: false, viewport: {width: 1280, height: 800},
		args: ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
			'--disable-component-update', '--disable-sync'],
	});
	const open = async (file, options = {}) => {
		const page = await context.newPage();
		page.errors = [];
		page.requests = [];
		page.on('console', message => {
			if (['error', 'warning'].includes(message.type()))
				page.errors.push(message.text());
		});
		page.on('pageerror', error => page.errors.push(String(error.stack || error)));
		page.on('request', request => {
			if (!/^(file|data|blob):/.test(request.url()))
				page.requests.push(request.url());
		});
		await page.emulateMedia({reducedMotion: 'reduce', colorScheme: 'light', ...options});
		await page.goto((/^http:/.test(file) ? file : 'file://' + path.resolve(file)) + (options.fragment || ''));
		return page;
	};
	try {
		await cases(open);
	} catch (error) {
		check('the cases end', false, error.stack || error);
	} finally {
		await context.close();
		fs.rmSync(home, {recursive: true, force: true});
	}
	console.log(`1..${count}`);
	process.exit(failures ? 1 : 0);
}
