/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
import {byId, formatCount, formatPercent, formatShort, lastComponent, make} from './text.js';
import {everywhere, imageOf, nameOf, TopDown} from './scopes.js';

const CONFIDENCE = ['low confidence', 'medium confidence', 'high confidence', 'counted'];
const MAX_ROWS = 20000, LIST_MAX = 200;

/* How warm a share of the most is: 0 to 1, as the eye sees it. */
function heat(part, most) {
	return most && part ? (0.08 + 0.92 * Math.sqrt(part / most)).toFixed(3) : '0';
}

function empty(text) {
	return make('p', {class: 'empty'}, text);
}

/* Samples of each line of a file, of one event: of code that was written there, wherever it was inlined. */
function lineCounts(look, event, file) {
	const p = look.profile, sums = new Map();
	const frames = look.filtered ? p.nodeFrame : p.flatFrame, counts = (look.filtered ? look.self : p.flat)[event];
	for (let i = 0; i < frames.length; i++) {
		const place = p.framePlace[frames[i]] + p.framePlaces[frames[i]] - 1;
		if (counts[i] && p.placeFile[place] === file)
			sums.set(p.placeLine[place], (sums.get(p.placeLine[place]) || 0) + counts[i]);
	}
	return sums;
}

/* The source around a scope, with heat by line. */
export function sourcePane(page, scope) {
	const p = page.profile, file = scope.callFile && !scope.file ? scope.callFile : scope.file;
	const source = p.sources.get(file), path = p.fileName(file);
	if (!file)
		return [empty('No source is known of this scope: its image has no debug information, or the scope has no lines.')];
	if (!source)
		return [make('h3', {class: 'file'}, make('bdi', {}, path)),
			empty('The text of this file is not in the page: it was not found where it was compiled, or was left out.')];
	const event = page.event, sums = lineCounts(page.look, event.index, file);
	const most = Math.max(0, ...sums.values());
	const list = make('div', {class: 'source', role: 'table', 'aria-label': 'Source of ' + lastComponent(path)});
	let chosen = null, first = scope.line, last = Math.max(scope.line, scope.lastLine || 0);
	source.text.forEach(([begin, lines], piece) => {
		if (piece)
			list.append(make('div', {class: 'gap', 'aria-hidden': 'true'}, '⋯'));
		lines.forEach((text, i) => {
			const line = begin + i, count = sums.get(line) || 0;
			const on = line >= first && line <= last && first > 0;
			const row = make('div', {role: 'row', class: 'line' + (on ? ' on' : ''), style: `--heat:${heat(count, most)}`},
				make('span', {role: 'cell', class: 'share'}, count ? formatPercent(count, event.total) + '%' : ''),
				make('span', {role: 'cell', class: 'count'}, formatCount(count)),
				make('span', {role: 'cell', class: 'line-number'}, String(line)),
				make('code', {role: 'cell'}, text || ' '));
			if (on && !chosen)
				chosen = row;
			list.append(row);
		});
	});
	return [make('h3', {class: 'file'}, make('bdi', {}, path), source.age ? make('span', {class: 'warning'},
		` ${source.age} than what was compiled`) : ''), list, chosen];
}

/* What a stalled instruction waited for, the most likely first. */
function culpritsOf(p, code, list) {
	return list.slice(0, 3).filter(c => c[3] >= 0.2).map(([cause, low, high, likely, blame]) =>
		make('span', {class: 'culprit', title: `${p.causes[cause][1]}: ${low} to ${high} cycles an execution, likely ` +
			`${likely}${blame === null ? '' : ', because of +0x' + blame.toString(16)}`},
		p.causes[cause][1], make('b', {}, ' ' + formatShort(likely) + ' cycles'),
		blame === null ? '' : make('span', {class: 'blame'}, ' ←+0x' + blame.toString(16))));
}

/* The instructions of the function around a scope. */
export function assemblyPane(page, scope) {
	const p = page.profile, around = outermost(scope), code = around && p.code.get(around.f);
	if (!around)
		return [empty('Select a function, or something in one.')];
	if (!code)
		page.load(around.f);
	if (!code)
		return [make('h3', {class: 'file'}, make('bdi', {}, nameOf(around))), empty(page.server && !page.missing.has(around.f) ?
			'Its instructions are being read …' : 'The instructions of this function are not in the page: it has too ' +
			'few samples, or its code was not found. See: culprit list')];
	const event = p.events.find(e => e.set === code.set), base = BigInt(code.start);
	const most = Math.max(0, ...code.code.map(i => i[2]));
	const list = make('div', {class: 'assembly', role: 'table', 'aria-label': 'Instructions of ' + nameOf(around)});
	list.append(make('div', {role: 'row', class: 'head'}, ...['%', event.name, 'executions', 'CPI', 'address',
		'instruction'].map(text => make('span', {role: 'columnheader'}, text))));
	let lastPlace = '', chosen = null, block = -1;
	for (const [at, inBlock, samples, , fused, best, cpi, low, high, culprits, frame, text] of code.code.slice(0, MAX_ROWS)) {
		const blamed = culpritsOf(p, code, culprits);
		const place = p.framePlace[frame] + p.framePlaces[frame] - 1, line = p.placeLine[place];
		const where = line ? lastComponent(p.fileName(p.placeFile[place])) + ':' + line : '';
		if (where && where !== lastPlace)
			list.append(make('div', {role: 'row', class: 'where'}, make('span', {role: 'cell'}, make('bdi', {}, where), ' ',
				sourceLine(p, p.placeFile[place], line))));
		lastPlace = where;
		const k = code.blocks[inBlock], on = matches(page, scope, frame);
		const row = make('div', {role: 'row', class: 'line' + (on ? ' on' : '') + (inBlock !== block ? ' block' : ''),
			style: `--heat:${heat(samples, most)}`, 'data-at': at},
		make('span', {role: 'cell', class: 'share'}, samples ? formatPercent(samples, event.total) + '%' : ''),
		make('span', {role: 'cell', class: 'count'}, formatCount(samples)),
		make('span', {role: 'cell', class: 'executions', title: `${formatShort(k[4])} to ${formatShort(k[5])}, ${
			CONFIDENCE[k[6]]}`}, inBlock !== block && k[3] ? formatShort(k[3]) : ''),
		make('span', {role: 'cell', class: 'cpi', title: `${low} to ${high}; at best ${best}`},
			fused ? '⌙' : cpi >= 0.005 ? cpi.toFixed(2) : ''),
		make('span', {role: 'cell', class: 'address'}, (base + BigInt(at)).toString(16)),
		make('code', {role: 'cell'}, text));
		block = inBlock;
		if (on && !chosen)
			chosen = row;
		list.append(row);
		if (blamed.length)
			list.append(make('div', {role: 'row', class: 'why'}, make('span', {role: 'cell', class: 'culprits'}, ...blamed)));
	}
	return [make('h3', {class: 'file'}, make('bdi', {}, nameOf(around)), make('span', {class: 'facts'},
		` CPI ${code.cpi[0].toFixed(2)}, at best ${code.best.toFixed(2)}` + (code.calls[0] ? `; ${formatShort(
			code.calls[0])} calls` : '') + (code.counted ? '; counted' : ''))),
	code.why ? make('p', {class: 'empty'}, code.why) : '', list, chosen];
}

function sourceLine(p, file, line) {
	const source = p.sources.get(file);
	const piece = source && source.text.find(([first, lines]) => line >= first && line < first + lines.length);
	return make('code', {}, piece ? piece[1][line - piece[0]].trim() : '');
}

/* The function whose compiled code a scope is in. */
export function outermost(scope) {
	let s = scope.around;
	while (s && s.kind === 'inlined')
		s = s.parent.around;
	return s;
}

/* Whether an instruction's frame is in a scope that is narrower than a function. */
function matches(page, scope, frame) {
	const p = page.profile;
	if (scope.kind === 'instruction')
		return scope.frame === frame;
	if (scope.kind === 'line')
		return Array.from({length: p.framePlaces[frame]}, (_, i) => p.framePlace[frame] + i).some(place =>
			p.placeFile[place] === scope.file && p.placeLine[place] === scope.line);
	return scope.kind === 'loop' && p.loopsOf(frame).flat().includes(scope.loop);
}

/* Callers and callees of a function wherever it is. */
export function callersPane(page, scope) {
	const p = page.profile, around = scope.around, event = page.event;
	if (!around || !p.nodeCount)
		return [empty(p.nodeCount ? 'Select a function.' : 'No stacks were taken, so callers are not known.')];
	const targets = everywhere(page.look).outermost.get(around.f) || [], callers = new Map();
	const total = targets.reduce((sum, t) => sum + valueOf(page, t, event), 0);
	for (const target of targets) {
		const f = target.to > 0 ? page.look.functionAt(target.target, target.to - 1) : callerOf(page, target.n);
		callers.set(f, (callers.get(f) || 0) + valueOf(page, target, event));
	}
	const tree = new TopDown(plainLook(page), targets);
	const self = tree.root.children.find(kid => kid.f === around.f);
	const callees = self ? self.children.filter(kid => kid.f >= 0).map(kid => [kid.f, kid.inclusive[event.index]]) : [];
	const own = self ? self.exclusive[event.index] : 0;
	const table = (title, rows, extra) => make('section', {}, make('h4', {}, title),
		make('div', {role: 'table', class: 'calls', 'aria-label': title}, ...extra, ...rows.filter(row => row[1] > 0).sort(
			(a, b) => b[1] - a[1]).slice(0, LIST_MAX).map(([f, n]) => callRow(page, f, n, total))));
	return [make('h3', {class: 'file'}, make('bdi', {}, nameOf(around)), make('span', {class: 'facts'},
		` ${formatPercent(total, event.total) || '0'}% of all ${event.label}`)),
	table('Callers', [...callers], []), table('Callees', callees, own > 0 ? [make('div', {role: 'row', class: 'call'},
		make('span', {role: 'cell', class: 'share'}, formatPercent(own, total) + '%'),
		make('span', {role: 'cell', class: 'count'}, formatCount(own)), make('span', {role: 'cell', class: 'self'},
			'itself'))] : [])];
}

function plainLook(page) {
	if (!page.look.plain)
		page.look.plain = page.makeLook({...page.look.settings, loops: false, lines: false, recursion: true});
	return page.look.plain;
}

function valueOf(page, target, event) {
	return everywhere(page.look).plain[event.index][target.n];
}

function callerOf(page, n) {
	const p = page.profile, parent = p.parent[n];
	if (parent < 0)
		return -1;
	const frame = p.nodeFrame[parent];
	return page.look.functionAt(frame, page.look.levels(frame) - 1);
}

function callRow(page, f, n, total) {
	const p = page.profile, name = f < 0 ? 'the stack begins here' : p.functions[f].name;
	const share = formatPercent(n, total);
	return make('div', {role: 'row', class: 'call', style: `--share:${(100 * n / (total || 1)).toFixed(1)}%`},
		make('span', {role: 'cell', class: 'share'}, share ? share + '%' : ''),
		make('span', {role: 'cell', class: 'count'}, formatCount(n)),
		make('span', {role: 'cell', class: 'callee'}, f < 0 ? make('span', {class: 'self'}, name) :
			make('button', {type: 'button', class: 'link', onclick: () => page.goToFunction(f)}, make('bdi', {}, name))));
}

/* What is known of the selected scope, under the table. */
export function showDetails(page, scope) {
	const image = imageOf(scope), p = page.profile, parts = [];
	if (scope.kind === 'line' || scope.kind === 'loop' || scope.kind === 'file')
		parts.push(p.fileName(scope.file) + (scope.line ? ':' + scope.line : ''));
	else if (scope.f >= 0 && scope.file)
		parts.push(p.fileName(scope.file));
	if (image)
		parts.push(image.path + (image.id ? ` (${image.id.slice(0, 16)})` : ''));
	if (scope.kind === 'loop')
		parts.push('header at 0x' + p.addressOf(scope.frame).toString(16) + (p.loopIrreducible[scope.loop] ?
			', entered at several places' : ''));
	byId('selected-name').textContent = nameOf(scope);
	byId('selected-where').textContent = parts.join('  ·  ');
}
