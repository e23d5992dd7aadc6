// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The flame graph's page in a real browser, opened from a file. Run by tests/cli/flame.sh, which
// makes the pages: small.html, hostile.html, deep.html, empty.html and large.html.
import {check, checkEqual, checkMatch, drawn, run} from './pages.mjs';

const text = (page, id) => page.textContent('#' + id);
const numbers = page => page.innerText('#numbers').then(t => t.replace(/\s+/g, ' '));
const press = async (page, ...keys) => {
	for (const key of keys)
		await page.keyboard.press(key);
};
const quiet = page => {
	checkEqual('the console has no error', page.errors.join('\n'), '');
	checkEqual('no network is asked for anything', page.requests.join('\n'), '');
};

/*
 * small: main 100 = parse 60 (self 10; read 50) + write 30 (format 30) + self 10, and read once
 * more below format: 5 of its 30. The second event has 1 sample, in format.
 */
async function look(open) {
	const page = await open('small.html');

	checkEqual('the page has a title', await page.title(), 'mkflame');
	checkEqual('the whole is focused first', await text(page, 'function'), 'all');
	checkMatch('and has all samples', await numbers(page), /Total 100\.0% 100 · 1\.00 s/);
	await press(page, 'ArrowUp', 'ArrowUp');
	checkEqual('up goes to the greatest callee', await text(page, 'function'), 'parse');
	checkMatch('with its image', await text(page, 'where'), /\/bin\/small/);
	checkMatch('and its numbers', await numbers(page), /Total 60\.0% 60 .*Self 10\.0% 10 .*Of its caller 60\.0%/);
	await press(page, 'ArrowRight');
	checkEqual('right goes to the frame beside', await text(page, 'function'), 'write');
	await press(page, 'ArrowUp', 'ArrowUp');
	checkMatch('elsewhere counts too', await numbers(page), /Everywhere: total 55\.0% 55 .*Everywhere: self 55\.0% 55/);
	await press(page, 'ArrowDown');
	checkEqual('down goes to the caller', await text(page, 'function'), 'format');
	checkMatch('a reader of the screen is told', await text(page, 'item'), /^format, small, 30\.0%, self 25\.0%$/);
	checkEqual('and its level', await page.getAttribute('#item', 'aria-level'), '4');
	checkMatch('the legend has the images', await page.innerText('#legend'), /\[kernel\] 55\.0%\s+small 45\.0%/);
	await press(page, 'Shift+Tab', 'Tab');
	checkEqual('who comes by the keyboard sees where it is', await page.evaluate(() =>
		getComputedStyle(document.querySelector('main'), '::after').borderTopWidth), '2px');
	checkMatch('the report\'s header is there', await text(page, 'facts'), /note: made of stacks/);
	quiet(page);
	await page.close();
}

async function searchAndZoom(open) {
	const page = await open('small.html');

	await press(page, '/');
	await page.keyboard.type('^read$|nothing');
	checkEqual('a search says its share', await text(page, 'matches'), '55.0% matched');
	await press(page, 'Enter');
	checkMatch('Enter goes to the widest match', await numbers(page), /Total 50\.0% 50/);
	await press(page, 'n');
	checkMatch('n to the next', await numbers(page), /Total 5\.0% 5/);
	await press(page, 'N');
	checkMatch('N back', await numbers(page), /Total 50\.0% 50/);
	await press(page, '/');
	await page.keyboard.type('(');
	checkEqual('half an expression is no error', await text(page, 'matches'), 'not an expression');
	await press(page, 'Escape');
	checkEqual('Escape ends the search', await text(page, 'matches'), '');
	await press(page, 'ArrowDown');
	checkEqual('and gives the keyboard back', await text(page, 'function'), 'parse');
	checkEqual('nothing is zoomed', await page.isDisabled('#reset'), true);
	await press(page, 'Enter');
	checkEqual('Enter zooms', await page.isDisabled('#reset'), false);
	await press(page, 'ArrowRight');
	checkEqual('to this frame alone', await text(page, 'function'), 'parse');
	await press(page, 'Escape', 'Escape', 'Escape');
	checkEqual('Escape zooms out', await page.isDisabled('#reset'), true);
	await press(page, 'Home');
	checkEqual('Home goes to the whole', await text(page, 'function'), 'all');
	quiet(page);
	await page.close();
}

async function turn(open) {
	const page = await open('small.html');

	await press(page, 'd', 'ArrowUp');
	checkEqual('bottom-up begins where samples are', await text(page, 'function'), 'read');
	checkMatch('with those of all its callers', await numbers(page), /^Self 55\.0% 55/);
	await press(page, 'ArrowUp');
	checkMatch('and goes to its callers', await numbers(page), /On this path 50\.0% 50/);
	await press(page, 'l', 'ArrowDown');
	checkEqual('an icicle grows down', await text(page, 'function'), 'main');
	checkMatch('where the stack begins', await numbers(page), /Stack begins here 50\.0% 50/);
	await press(page, 'd', 'Home', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowDown', 'c');
	checkEqual('c shows the callers', await text(page, 'function'), 'format');
	checkEqual('bottom-up', await page.isChecked('[name=direction][value=up]'), true);
	checkMatch('of all that it took', await numbers(page), /^Total 30\.0% 30 /);
	await press(page, 'ArrowDown');
	checkMatch('on this path too', await numbers(page), /^On this path 30\.0% 30 .*Of its callee 100\.0%/);
	await press(page, 'Home', 'ArrowDown');
	checkMatch('Home leads back to where samples are', await numbers(page), /^Self 55\.0% 55/);
	await press(page, 'd', 'ArrowDown', 'c', 'Escape', 'ArrowDown');
	checkMatch('so does Escape', await numbers(page), /^Self 55\.0% 55/);
	await press(page, 'Home');
	await page.selectOption('[name=event]', '1');
	checkMatch('another event has other numbers', await numbers(page), /Total 100\.0% 1$|Total 100\.0% 1 /);
	await page.click('text=Top-down');
	checkEqual('buttons do what keys do', await page.isChecked('[name=direction][value=down]'), true);
	await press(page, '?');
	check('? shows the keys', await page.isVisible('#about'));
	await press(page, 'Escape');
	check('Escape hides them', !await page.isVisible('#about'));
	quiet(page);
	await page.close();
}

async function point(open) {
	const page = await open('small.html', {colorScheme: 'dark'});
	const box = await page.locator('#canvas').boundingBox();
	const bottom = box.y + box.height;

	await page.mouse.click(box.x + box.width * 0.7, bottom - 50);
	checkEqual('a click focuses', await text(page, 'function'), 'write');
	await page.mouse.move(box.x + box.width * 0.2, bottom - 50);
	checkEqual('the mouse shows what it is over', await text(page, 'function'), 'parse');
	await page.mouse.move(box.x + 5, 5);
	checkEqual('and leaves the focus where it was', await text(page, 'function'), 'write');
	await page.mouse.dblclick(box.x + box.width * 0.2, bottom - 50);
	checkEqual('a double click zooms', await page.isDisabled('#reset'), false);
	await page.click('#reset');
	checkEqual('and a button zooms out', await page.isDisabled('#reset'), true);
	checkMatch('dark paper for dark rooms', await page.evaluate(() =>
		getComputedStyle(document.body).backgroundColor), /rgb\((\d\d?), (\d\d?), (\d\d?)\)/);
	checkEqual('what is drawn differs from the paper', await page.evaluate(() => {
		const c = document.getElementById('canvas');
		const column = c.getContext('2d').getImageData(c.width / 2, 0, 1, c.height).data;
		const at = y => column.slice(4 * y, 4 * y + 4).join();
		return at(c.height - 30) !== at(2);
	}), true);
	quiet(page);
	await page.close();
}

/* A page half as wide: the ground of the flames is still seen, and no line is cut. */
async function shrink(open) {
	const page = await open('deep.html');

	await page.setViewportSize({width: 400, height: 620});
	await page.waitForFunction(() => document.getElementById('canvas').clientWidth <= 400);
	checkEqual('the ground stays in sight', await page.evaluate(() => {
		const g = document.getElementById('graph');
		return Math.round(g.scrollHeight - g.clientHeight - g.scrollTop);
	}), 0);
	check('nothing is wider than the window', await page.evaluate(() =>
		document.documentElement.scrollWidth <= innerWidth));
	check('lines of the legend are whole', await page.evaluate(() => {
		const legend = document.getElementById('legend'), bottom = legend.getBoundingClientRect().bottom;
		return [...legend.children].every(item => {
			const box = item.getBoundingClientRect();
			return box.bottom <= bottom + 1 || box.top >= bottom - 1;
		});
	}));
	const high = await page.evaluate(() => document.getElementById('details').clientHeight);
	await press(page, 'ArrowUp');
	checkEqual('the panel is as high as before', await page.evaluate(() =>
		document.getElementById('details').clientHeight), high);
	quiet(page);
	await page.close();
}

/* What is written into narrow frames of names that are long. */
async function shorten(open) {
	const page = await open('small.html');
	const wanted = [
		['std::sort<int*, std::less<int> >', 'std::sort', 'sort'],
		['std::function<int (std::pair<int, int>)>::operator()', 'std::function::operator()', 'operator()'],
		['<alloc::vec::Vec<T> as core::ops::Drop>::drop', 'drop', 'drop'],
		['alloc::vec::Vec::<T>::push', 'alloc::vec::Vec::push', 'push'],
		['a::b<x>::operator<', 'a::b::operator<', 'operator<'],
		['a::operator<=>', 'a::operator<=>', 'operator<=>'],
		['a::operator->', 'a::operator->', 'operator->'],
		['v8::(anonymous namespace)::Invoke', 'v8::(anonymous namespace)::Invoke', 'Invoke'],
		['f(int)::{lambda(auto:1&)#1}::operator()<long>', 'f(int)::{lambda(auto:1&)#1}::operator()', 'operator()'],
		['a::f(std::string)', 'a::f(std::string)', 'f(std::string)'],
		['github.com/junegunn/fzf/src.(*Matcher).scan', 'github.com/junegunn/fzf/src.(*Matcher).scan',
			'src.(*Matcher).scan'],
		['<module>', '<module>', '<module>'],
		['f.<locals>.<lambda>', 'f.<locals>.<lambda>', 'f.<locals>.<lambda>'],
		['JS:~run node:internal/vm:10:2', 'JS:~run node:internal/vm:10:2', 'JS:~run node:internal/vm:10:2'],
		['main', 'main', 'main'],
		['a<b', 'a<b', 'a<b'],
	];

	for (const forms of wanted)
		checkEqual('shorter: ' + forms[0], (await page.evaluate(name =>
			shorterNames(name), forms[0])).join(' | '), forms.join(' | '));
	quiet(page);
	await page.close();
}

async function resist(open) {
	let page = await open('hostile.html');

	await press(page, 'ArrowUp');
	checkEqual('a name is text, whatever it is', await text(page, 'function'),
		'</script><img src=http://nowhere.invalid/x onerror=document.title=1>');
	await press(page, 'ArrowUp');
	checkEqual('what is not UTF-8 is escaped', await text(page, 'function'), '\\xff\\x1b[31m\\xe2\\x80\\xae"quoted"');
	await page.click('#same');
	checkEqual('and can be searched for', await text(page, 'matches'), '100.0% matched');
	checkEqual('nothing of it is run', await page.title(), 'mkflame');
	quiet(page);
	await page.close();
	page = await open('empty.html');
	await press(page, 'ArrowUp', 'Enter', 'd', 'n', 'c');
	checkEqual('a profile without stacks is a page too', await text(page, 'function'), 'all');
	quiet(page);
	await page.close();
	page = await open('deep.html');
	for (let i = 0; i < 120; i++)
		await press(page, 'ArrowUp');
	checkEqual('a deep stack can be climbed', await text(page, 'function'), 'f119');
	check('and scrolls', await page.evaluate(() => {
		const graph = document.getElementById('graph');
		return graph.scrollHeight > 600 * 20 && graph.scrollTop > 0 &&
			graph.scrollTop < graph.scrollHeight - graph.clientHeight;
	}));
	quiet(page);
	await page.close();
}

/* 200,000 contexts: no time is asked for, but that it is not out of proportion to reading the data. */
async function grow(open) {
	const page = await open('large.html');
	const [begun, done] = await drawn(page);
	const cost = await page.evaluate(work => {
		const json = document.getElementById('profile').textContent, begin = performance.now();
		const contexts = JSON.parse(json).up.length, parsed = performance.now() - begin;
		return {contexts, ratio: work / parsed};
	}, done - begun);

	check('a large page has 200,000 contexts', cost.contexts >= 200000, cost.contexts);
	check('and is drawn in at most 60 times what parsing it takes', cost.ratio < 60, cost.ratio);
	await press(page, '/');
	await page.keyboard.type('^f1');
	checkMatch('it can be searched', await text(page, 'matches'), /^\d+\.\d% matched$/);
	await press(page, 'Escape', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'Enter');
	checkEqual('and zoomed', await page.isDisabled('#reset'), false);
	await press(page, 'd', 'ArrowUp');
	checkMatch('and turned', await text(page, 'function'), /^f\d+$/);
	quiet(page);
	await page.close();
}

run(async open => {
	for (const cases of [look, searchAndZoom, turn, point, shrink, shorten, resist, grow])
		await cases(open);
});
