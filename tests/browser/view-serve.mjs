// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The page of `culprit view` from its server: view-serve.mjs URL. Run by tests/cli/view-serve.sh.
import {check, checkEqual, checkMatch, drawn, run} from './pages.mjs';

const url = process.argv[2];

run(async open => {
	const page = await open(url);
	await drawn(page);
	await page.keyboard.press('a');
	await page.keyboard.press('3');
	await page.keyboard.press('/');
	await page.keyboard.type('^hot$');
	await page.keyboard.press('Enter');
	await page.waitForSelector('.assembly .line');
	checkMatch('instructions come when they are asked for', await page.textContent('.assembly'), /ret/);
	await page.keyboard.press('s');
	await page.waitForSelector('.source .line');
	check('the source is there', (await page.textContent('.source')).includes('x += i'));
	check('all requests are to the server', page.requests.every(request => request.startsWith(url)), page.requests.join('\n'));
	checkEqual('the console has no error', page.errors.join('\n'), '');
	await page.close();
});
