// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Opens a page several times and prints the least milliseconds of each: from the navigation to the
// first picture, of that the page's own work, and parsing the page's JSON alone.
import {drawn, run} from '../tests/browser/pages.mjs';

const best = {};

run(async open => {
	for (let i = 0; i < 7; i++) {
		const page = await open(process.argv[2]);
		const [begun, done] = await drawn(page);
		const parse = await page.evaluate(() => {
			const json = document.getElementById('profile').textContent;
			const start = performance.now();
			JSON.parse(json);
			return performance.now() - start;
		});
		const times = {open: done, work: done - begun, parse};
		for (const [name, ms] of Object.entries(times))
			best[name] = Math.min(best[name] ?? Infinity, ms);
		await page.close();
	}
	console.log(JSON.stringify(best));
});
