// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Pages of culprit calls --html on the database of tests/cli/stacks-export.sh: calls.mjs PAGE
// PAGE-OF-CALLERS
import {check, checkEqual, checkMatch, run} from './pages.mjs';

run(async open => {
	const page = await open(process.argv[2]);
	const numbers = async () => (await page.innerText('#numbers')).replace(/\s+/g, ' ');

	checkEqual('the title says when', await page.title(), '2023-11-14 22:13:20 to 22:14:20 UTC');
	checkMatch('the summary how good, and where', await page.textContent('#summary'),
		/^8\d stacks, 9\d\.\d\d% complete, machine m1$/);
	checkEqual('top-down first', await page.isChecked('[name=direction][value=down]'), true);
	checkMatch('stacks stand for all samples', await numbers(), /Total 100\.0% 160 · 160 ms/);
	checkMatch('metrics are of the frame, both events together', await numbers(), /ratio 0\.04375 none none/);
	await page.check('[name=direction][value=up]', {force: true});
	checkMatch('the whole is the same from the other side', await numbers(), /ratio 0\.04375 /);
	await page.focus('#graph');
	await page.keyboard.press('ArrowUp');
	checkEqual('leaf took most samples', await page.textContent('#function'), 'small');
	checkMatch('and has all of the other event', await numbers(), /ratio 0\.06604 /);
	await page.check('[name=direction][value=down]', {force: true});
	await page.focus('#graph');
	await page.keyboard.press('ArrowUp');
	checkEqual('main is below everything', await page.textContent('#function'), 'main');
	checkMatch('in its source file', await page.textContent('#where'), /app\.c/);
	await page.fill('#search', '^small$');
	checkEqual('what was inlined is found', await page.textContent('#matches'), '66.3% matched');
	await page.selectOption('[name=event]', '1');
	checkMatch('the other event has its own stacks', await numbers(), /Total 100\.0% 7$|Total 100\.0% 7 /);
	check('no error', !page.errors.length, page.errors.join('\n'));
	check('no request', !page.requests.length, page.requests.join('\n'));
	await page.close();
	const callers = await open(process.argv[3]);
	checkEqual('--callers opens it bottom-up', await callers.isChecked('[name=direction][value=up]'), true);
	await callers.keyboard.press('ArrowUp');
	checkEqual('from where samples were taken', await callers.textContent('#function'), 'small');
	check('no error there', !callers.errors.length, callers.errors.join('\n'));
	await callers.close();
});
