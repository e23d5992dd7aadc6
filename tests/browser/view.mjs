// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The page of `culprit view` in a real browser, opened from a file. Run by tests/cli/view.sh, which makes
// a.html (and of the same database what prof and calls say of it), two.html, evil.html, bare.html.
import fs from 'node:fs';
import {check, checkEqual, checkMatch, drawn, run} from './pages.mjs';

const read = name => JSON.parse(fs.readFileSync(name, 'utf8'));
const press = async (page, ...keys) => {
	for (const key of keys)
		await page.keyboard.press(key);
};
const quiet = page => {
	checkEqual('the console has no error', page.errors.join('\n'), '');
	checkEqual('no network is asked for anything', page.requests.join('\n'), '');
};
const current = page => page.evaluate(() => document.querySelector('.row[aria-selected=true] .text').textContent);
const names = page => page.evaluate(() => [...document.querySelectorAll('.row .text')].map(e => e.textContent));
const open = async (opener, file, options) => {
	const page = await opener(file, options);
	await drawn(page);
	return page;
};
const sorted = pairs => JSON.stringify([...pairs].map(([k, v]) => [String(k), v]).sort((a, b) => a[0] < b[0] ? -1 : 1));

/* Sums in the page: of all scopes of a kind in the flat view, by what key says, of what they have themselves. */
const flatSums = (page, kind, key) => page.evaluate(([kind, key]) => {
	const c = window.culprit, sums = {}, keyOf = new Function('s', 'p', `return ${key}`);
	c.setView('flat');
	const walk = scope => {
		if (scope.kind === kind || (kind === 'line' && scope.kind === 'instruction' && scope.parent.kind !== 'line')) {
			const items = scope.items || scope.targets, own = new Array(c.profile.events.length).fill(0);
			items.forEach(item => own.forEach((_, e) => {
				own[e] += c.tree.counts[e][item.n];
			}));
			const name = keyOf(scope, c.profile);
			sums[name] = (sums[name] || own.map(() => 0)).map((n, e) => n + own[e]);
		}
		if (scope.kind !== 'instruction')
			scope.children.forEach(walk);
	};
	walk(c.tree.root);
	return sums;
}, [kind, key]);

const rowSums = (rows, key) => {
	const sums = {};
	for (const row of rows) {
		const name = key(row);
		sums[name] = (sums[name] || [0, 0]).map((n, e) => n + Object.values(row.events)[e]);
	}
	return sums;
};

async function agreeWithProf(opener) {
	const page = await open(opener, 'a.html');
	const by = async (what, kind, inPage, inRow) => checkEqual(`${what}: samples as prof has them`,
		sorted(Object.entries(await flatSums(page, kind, inPage))),
		sorted(Object.entries(rowSums(read(`prof-${what}.json`).rows.filter(row => !String(row.function).startsWith('[no')
			|| what !== 'loop'), inRow))));

	await by('function', 'function', 'p.functions[s.f].name', row => row.function);
	await by('image', 'image', 'p.images[s.image].path', row => row.image);
	await by('line', 'line', "s.kind === 'line' ? p.fileName(s.file) + ':' + s.line : '[no line]'",
		row => row.line ? row.file + ':' + row.line : '[no line]');
	await by('loop', 'loop', "'0x' + p.addressOf(s.frame).toString(16)", row => row.header);
	const everywhere = await page.evaluate(() => {
		const sums = {};
		for (const image of window.culprit.tree.root.children)
			for (const file of image.children)
				for (const f of file.kind === 'file' ? file.children : [file])
					sums[window.culprit.profile.functions[f.f].name] = [...f.inclusive];
		return sums;
	});
	for (const row of read('prof-inclusive.json').rows.filter(row => everywhere[row.function] && row.samples))
		checkEqual(`${row.function}: total as prof --inclusive has it`, JSON.stringify(everywhere[row.function]),
			JSON.stringify(Object.values(row.totals)));
	quiet(page);
	await page.close();
}

/* A tree of [name, total, self, children], children by name, as both sides have it. */
const fromCalls = (rows, callers) => rows.map(row => [row.function, callers ? row.self : row.total, callers ? 0 : row.self,
	fromCalls(row.children, callers)]).filter(row => row[1] > 0).sort((a, b) => a[0] < b[0] ? -1 : 1);
const fromPage = (page, settings, view, depth = 99) => page.evaluate(([settings, view, depth]) => {
	const c = window.culprit;
	Object.assign(c.state, {view, zoom: [], ...settings});
	c.refresh();
	const walk = (scope, left) => left ? scope.children.filter(kid => kid.inclusive[0] > 0).map(kid => [
		c.profile.functions[kid.f].name, kid.inclusive[0], view === 'up' ? 0 : kid.exclusive[0], walk(kid, left - 1)])
		.sort((a, b) => a[0] < b[0] ? -1 : 1) : [];
	return walk(c.tree.root, depth);
}, [settings, view, depth]);

async function agreeWithCalls(opener) {
	const page = await open(opener, 'a.html'), plain = {loops: false, lines: false};

	checkEqual('top-down is what calls says', JSON.stringify(await fromPage(page, plain, 'down')),
		JSON.stringify(fromCalls(read('calls.json').rows)));
	checkEqual('without inlined functions too', JSON.stringify(await fromPage(page, {...plain, inlined: false}, 'down')),
		JSON.stringify(fromCalls(read('plain.json').rows)));
	checkEqual('with recursion folded too', JSON.stringify(await fromPage(page, {...plain, inlined: true,
		recursion: true}, 'down')), JSON.stringify(fromCalls(read('fold.json').rows)));
	checkEqual('bottom-up is what calls --callers says', JSON.stringify(await fromPage(page, {...plain,
		recursion: false}, 'up')), JSON.stringify(fromCalls(read('callers.json').rows, true)));
	const kept = await page.evaluate(() => {
		const c = window.culprit, sums = {};
		const count = scope => (scope.kind === 'line' || scope.kind === 'instruction' ? scope.inclusive[0] :
			scope.children.reduce((sum, kid) => sum + count(kid), 0));
		for (const changes of [{loops: true, lines: true}, {hide: 'inner'}, {hide: '', recursion: true}]) {
			c.set(changes);
			c.setView('down');
			sums[JSON.stringify(changes)] = count(c.tree.root) === c.tree.root.inclusive[0];
		}
		c.set({recursion: false, focus: 'twist'});
		sums.focus = c.tree.root.inclusive[0];
		c.set({focus: '', ignore: 'twist'});
		sums.ignore = c.tree.root.inclusive[0];
		c.set({ignore: ''});
		sums.all = c.tree.root.inclusive[0];
		c.set({fold: [c.profile.functions.find(f => f.name === 'main').image]});
		sums.folded = !c.tree.root.children.find(kid => kid.key[0] === 'F').children.some(kid => kid.f >= 0 && kid.kind !== 'note');
		return sums;
	});
	for (const [changes, whole] of Object.entries(kept).slice(0, 3))
		check(`no sample is lost on the way to lines: ${changes}`, whole);
	check('focus and ignore part the samples', kept.focus > 0 && kept.ignore > 0 && kept.focus + kept.ignore === kept.all,
		JSON.stringify(kept));
	check('a folded image is one scope', kept.folded);
	quiet(page);
	await page.close();
}

async function useKeys(opener) {
	const page = await open(opener, 'a.html');

	checkMatch('the page has a title', await page.title(), /2023-11-14 22:13:20 to 22:14:20 UTC – culprit/);
	checkEqual('the tree has the keyboard', await page.evaluate(() => document.activeElement.id), 'tree');
	await press(page, 'Home');
	checkEqual('Home goes to the whole', await current(page), 'All samples');
	await press(page, 'ArrowDown');
	checkEqual('down to the next', await current(page), 'main');
	await press(page, 'ArrowLeft', 'ArrowLeft');
	checkEqual('left closes, then goes out', await current(page), 'All samples');
	await press(page, 'ArrowDown', 'ArrowRight', 'ArrowRight');
	check('right opens, then goes in', (await current(page)) !== 'main');
	await press(page, 'Home', 'h');
	checkEqual('h follows the hot path', await current(page), 'again');
	await press(page, 'Home', 'ArrowDown', 'Enter');
	checkEqual('Enter zooms', (await names(page))[0], 'main');
	await press(page, 'Escape');
	checkEqual('Escape zooms out', (await names(page))[0], 'All samples');
	await press(page, 'Home', 'f');
	check('f flattens', !(await names(page)).includes('main'), await names(page));
	await press(page, 'F');
	check('F takes it back', (await names(page)).includes('main'));
	await press(page, '3');
	check('3 is the flat view', await page.isChecked('[name=view][value=flat]'));
	await press(page, '2');
	check('2 is bottom-up', await page.isChecked('[name=view][value=up]'));
	await press(page, '1');
	check('1 is top-down', await page.isChecked('[name=view][value=down]'));
	const sort = () => page.evaluate(() => window.culprit.state.sort);
	const before = await sort();
	await press(page, ']');
	check('] sorts by the next column', await sort() !== before);
	await press(page, '[', 'r');
	check('r the other way round', await sort() === before && await page.evaluate(() => window.culprit.state.reverse));
	await press(page, 'r', 'L');
	check('L leaves loops out', !(await page.evaluate(() => JSON.stringify(window.culprit.tree.look.settings.loops) === 'true')));
	await press(page, 'L', 'l', 'I', 'R');
	checkEqual('what is changed is told', await page.evaluate(() => document.querySelectorAll('#chips li').length), 3);
	await press(page, 'u');
	checkEqual('u takes it all back', await page.evaluate(() => document.querySelectorAll('#chips li').length), 0);
	await press(page, '/');
	await page.keyboard.type('^again$');
	checkMatch('a search says its share', await page.textContent('#matches'), /^\d+(\.\d)?%$/);
	await press(page, 'Enter');
	checkEqual('Enter goes to the match', await current(page), 'again');
	await press(page, 'n');
	checkEqual('n to the next', await current(page), 'again');
	await press(page, 'N', '/');
	await page.keyboard.type('(');
	checkEqual('half an expression is no error', await page.textContent('#matches'), 'not an expression');
	await press(page, 'Escape');
	for (const [key, name] of [['o', 'focus'], ['i', 'ignore'], ['x', 'hide']]) {
		await press(page, key);
		check(`${key}: ${name}`, await page.evaluate(name => window.culprit.state[name] === '^again$', name));
		await press(page, 'u', '/');
		await page.keyboard.type('^again$');
		await press(page, 'Enter', '/', 'Escape');
	}
	await press(page, 'b');
	check('b folds the library', await page.evaluate(() => window.culprit.state.fold.length === 1));
	await press(page, 'u', 't');
	checkMatch('t shows what samples stand for', await page.textContent('.row .count'), /[\dk]/);
	await press(page, 't', 'm');
	check('m opens the columns', await page.isVisible('#settings'));
	await page.fill('#formula', 'ipc = instructions / nothing');
	checkMatch('a formula is checked as it is typed', await page.textContent('#formula-problem'), /there is no event 'nothing'/);
	await page.fill('#formula', 'ipc = instructions / cycles');
	await press(page, 'Enter');
	check('and is a column', (await page.textContent('#columns')).includes('ipc'));
	await press(page, 'Escape', '?');
	check('? shows the keys', await page.isVisible('#about'));
	await press(page, 'Escape');
	const [csv] = await Promise.all([page.waitForEvent('download'), press(page, 'e')]);
	checkMatch('e exports CSV', fs.readFileSync(await csv.path(), 'utf8'), /^level,kind,name,.*\n0,program,All samples,\d+/);
	const [svg] = await Promise.all([page.waitForEvent('download'), press(page, 'E')]);
	checkMatch('E exports SVG', fs.readFileSync(await svg.path(), 'utf8'), /^<svg [^]*<\/svg>\n$/);
	quiet(page);
	await page.close();
}

async function lookBeside(opener) {
	const page = await open(opener, 'a.html');

	await press(page, 'Home', 'h', 's');
	await page.waitForSelector('.source .line.on');
	checkMatch('the source is at the line', await page.textContent('.source .line.on code'), /\S/);
	check('lines with samples are warm', await page.evaluate(() => [...document.querySelectorAll('.source .line')].some(
		line => Number(line.style.getPropertyValue('--heat')) > 0.5)));
	const heats = await page.evaluate(() => [...document.querySelectorAll('.source .line')].map(line =>
		Number(line.children[1].textContent.replace(/,/g, ''))).reduce((a, b) => a + b, 0));
	const lines = read('prof-line.json').rows.filter(row => row.line).reduce((sum, row) => sum + row.samples, 0);
	checkEqual('and have the samples of prof --by line', heats, lines);
	await press(page, 'a');
	await page.waitForSelector('.assembly .line');
	check('the assembly has instructions', await page.evaluate(() => document.querySelectorAll('.assembly .line').length > 8));
	await press(page, 'g');
	await page.waitForSelector('canvas.flame');
	check('the flame graph has frames', await page.evaluate(() => window.culprit.flame.boxes.length > 0));
	await page.focus('canvas.flame');
	await press(page, 'ArrowDown');
	checkMatch('and says what is focused', await page.textContent('#said'), /%/);
	await page.focus('#tree');
	await press(page, '/');
	await page.keyboard.type('^inner$');
	await press(page, 'Enter', 'c');
	await page.waitForSelector('.calls');
	checkMatch('callers and callees of a function', await page.textContent('#pane'), /Callers[^]*main[^]*Callees[^]*twist/);
	const hash = await page.evaluate(() => location.hash);
	quiet(page);
	await page.close();
	const again = await open(opener, 'a.html', {fragment: hash});
	checkEqual('the address brings back the scope', await current(again), 'inner');
	check('and the pane', await again.isVisible('.calls'));
	await again.close();
	const odd = await open(opener, 'a.html', {fragment: '#%7B%22view%22:7,%22fold%22:[99,%22x%22],%22zoom%22:[%22f9999%22],%22focus%22:%22(%22'});
	checkEqual('an address that is none of ours does no harm', (await names(odd))[0], 'All samples');
	quiet(odd);
	await odd.close();
	const bare = await open(opener, 'bare.html');
	await press(bare, 'Home', 'h', 'a');
	checkMatch('what was left out is said', await bare.textContent('#pane'), /not in the page|has no debug/);
	quiet(bare);
	await bare.close();
}

async function compare(opener) {
	const page = await open(opener, 'two.html');
	const sums = await page.evaluate(() => {
		const c = window.culprit;
		return c.profile.events.map(e => [e.label, c.tree.root.inclusive[e.index], e.total]);
	});
	checkEqual('each database has its events', sums.map(s => s[0]).sort().join(), 'cycles [1],cycles [2],instructions [1],instructions [2]');
	check('and all their samples', sums.every(s => s[1] === s[2] && s[2] > 0), JSON.stringify(sums));
	checkMatch('difference and ratio stand side by side', await page.textContent('#columns'), /change[^]*ratio/);
	check('functions are matched by name', await page.evaluate(() => {
		const main = window.culprit.tree.root.children.filter(s => window.culprit.profile.functions[s.f].name === 'main');
		return main.length === 1 && main[0].inclusive.every(n => n > 0);
	}));
	quiet(page);
	await page.close();
	const one = await open(opener, 'a.html'), wanted = read('prof-metric.json');
	const metrics = ['ipc = instructions / cycles',
		'odd = max(samples(cycles), 3) - -2 * total("instructions") / 1e3 + min(1, .5)'];
	const got = await one.evaluate(metrics => {
		const c = window.culprit, sums = {};
		metrics.forEach(text => c.addMetric(text));
		c.makeColumns();
		c.setView('flat');
		for (const image of c.tree.root.children)
			for (const file of image.children)
				for (const f of file.kind === 'file' ? file.children : [file])
					sums[c.profile.functions[f.f].name] = c.columns.filter(x => x.key.startsWith('M')).map(x => x.value(f));
		return sums;
	}, metrics);
	for (const row of wanted.rows)
		check(`${row.function}: metrics as prof has them`, Object.values(row.metrics).every((value, i) =>
			value === null ? got[row.function][i] === null : Math.abs(value - got[row.function][i]) <= 1e-8 * Math.abs(value)),
		JSON.stringify([row.metrics, got[row.function]]));
	await one.close();
}

/* Formulas that C refuses, each at the same place. */
async function refuse(opener) {
	const page = await open(opener, 'a.html');
	const texts = ['= 1', 'a 1', 'a = ', 'a = 1 +', 'a = (1', 'a = min(1)', 'a = nope(1)', 'a = samples(3)', 'a = "x', 'a = ""',
		'a = 1x', 'a = cycles instructions', 'a = ' + '('.repeat(80) + '1' + ')'.repeat(80)];
	const got = await page.evaluate(texts => texts.map(text => {
		window.culprit.problems = [];
		return window.culprit.addMetric(text);
	}), texts);
	check('formulas that are none are refused', got.every(Boolean), JSON.stringify(got));
	fs.writeFileSync('refused.json', JSON.stringify(texts.map((text, i) => [text, got[i]])));
	await page.close();
}

async function resist(opener) {
	const page = await open(opener, 'evil.html');

	for (const view of ['1', '2', '3'])
		for (const pane of ['s', 'a', 'g', 'c'])
			await press(page, view, 'Home', 'h', pane, 'End', 'ArrowUp');
	check('a name is text, whatever it is', (await page.evaluate(() => document.body.textContent)).includes('<img src=http'));
	checkEqual('nothing of it is run', await page.evaluate(() => [document.title !== '1', document.images.length,
		document.querySelectorAll('#rows script, #rows img, #pane script, #pane img, #rows i, #rows u').length].join()), 'true,0,0');
	check('none turns the direction of what follows', !/[\u202a-\u202e\u2066-\u2069\u001b]/.test(
		await page.evaluate(() => document.body.textContent)));
	check('4,000 letters do not widen the page', await page.evaluate(() =>
		document.documentElement.scrollWidth <= innerWidth));
	quiet(page);
	await page.close();
}

/* Nothing is wider than the window, and the tree can be read, from a telephone to a wall. */
async function resize(opener) {
	const page = await open(opener, 'two.html');

	for (const width of [360, 1024, 3840]) {
		await page.setViewportSize({width, height: 800});
		await page.waitForTimeout(50);
		check(`${width} pixels are enough`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth &&
			document.getElementById('tree').clientHeight > 100));
		check(`${width}: rows are in sight`, await page.evaluate(() => document.querySelectorAll('.row').length > 2));
	}
	await page.emulateMedia({colorScheme: 'dark'});
	checkMatch('dark paper for dark rooms', await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
		/rgb\((\d\d?), (\d\d?), (\d\d?)\)/);
	check('rows have their level, place and state for those who hear them', await page.evaluate(() => {
		const rows = [...document.querySelectorAll('[role=row][aria-level]')];
		return rows.every(row => row.getAttribute('aria-level') > 0 && row.getAttribute('aria-rowindex') > 1 &&
			row.hasAttribute('aria-selected')) && document.getElementById(
			document.getElementById('tree').getAttribute('aria-activedescendant'));
	}));
	quiet(page);
	await page.close();
}

run(async opener => {
	for (const cases of [agreeWithProf, agreeWithCalls, useKeys, lookBeside, compare, refuse, resist, resize])
		await cases(opener);
});
