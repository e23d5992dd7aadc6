// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Opens a page several times and prints the least milliseconds of each: from the navigation to the
// first picture, of that the page's own work, and parsing the page's JSON alone.
import {run} from '../tests/browser/pages.mjs';

const best = {};

run(async open => {
	for (let i = 0; i < 7; i++) {
		const page = await open(process.argv[2]);
		const times = await page.evaluate(() => {
			const json = document.getElementById('profile').textContent;
			const start = performance.now();
			JSON.parse(json);
			const parse = performance.now() - start;
			const [begin] = performance.getEntriesByName('begin');
			const [drawn] = performance.getEntriesByName('drawn');
			return {open: drawn.startTime, work: drawn.startTime - begin.startTime, parse};
		});
		for (const [name, ms] of Object.entries(times))
			best[name] = Math.min(best[name] ?? Infinity, ms);
		await page.close();
	}
	console.log(JSON.stringify(best));
});
