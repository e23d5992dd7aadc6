/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
import {byId, compile, download, formatCount, formatPercent, make} from './text.js';
import {Profile, unpack} from './profile.js';
import {BottomUp, DEFAULT_LOOK, Flat, Look, nameOf, TopDown} from './scopes.js';
import {parseMetric} from './formula.js';
import {makeColumns} from './columns.js';
import {TreeTable} from './table.js';
import {assemblyPane, callersPane, showDetails, sourcePane} from './panes.js';
import {Flame} from './flame.js';

/* The page: its state, which is in its address, what keys and buttons do to it, and what it shows. */

const VIEWS = {down: ['Top-down', TopDown], up: ['Bottom-up', BottomUp], flat: ['Flat', Flat]};
const PANES = ['source', 'assembly', 'flame', 'callers'];
const SEARCH_MAX = 300000, CSV_MAX = 200000;
const DEFAULT_STATE = {view: 'down', sort: '', reverse: false, flatten: 0, pane: 'source', hidden: null, units: false,
	search: '', zoom: [], at: [], metrics: [], ...DEFAULT_LOOK};

class Page {
	constructor(profile) {
		this.profile = profile;
		this.server = location.protocol === 'http:';
		this.asked = new Set();
		this.missing = new Set();
		this.looks = new Map();
		this.trees = new Map();
		this.state = this.readAddress();
		if (!profile.nodeCount && this.state.view !== 'flat')
			this.state.view = 'flat';
		if (!this.state.sort)
			this.state.sort = this.state.view === 'flat' ? 's0' : 't0';
		this.metrics = [];
		this.problems = [];
		const asked = this.state.metrics.length ? this.state.metrics :
			profile.data.metrics.map(m => `"${m.name}" = ${m.formula}`);
		for (const text of asked)
			this.addMetric(text);
		this.dark = matchMedia('(prefers-color-scheme: dark)').matches;
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', event => {
			this.dark = event.matches;
			this.showPane();
		});
		this.table = new TreeTable(this);
		this.flame = new Flame(this);
		this.head();
		this.listen();
		this.makeColumns();
		this.refresh(true);
	}

	/* --- What is shown, by the state. --- */

	get event() {
		const column = this.columns && this.columns.find(c => c.key === this.state.sort && c.event);
		return column ? column.event : this.profile.events[0] || {index: 0, label: 'samples', name: 'samples', total: 0, set: 0};
	}

	makeLook(settings) {
		return new Look(this.profile, settings);
	}

	lookSettings() {
		return Object.fromEntries(Object.keys(DEFAULT_LOOK).map(key => [key, this.state[key]]));
	}

	get viewTitle() {
		return VIEWS[this.state.view][0];
	}

	makeColumns() {
		this.columns = makeColumns(this.profile, this.metrics, this.state.units);
		if (this.state.hidden === null)
			this.state.hidden = this.columns.filter((c, i) => c.part === 'self' && c.title !== this.columns[0].title &&
				this.columns.length > 8 && i > 0).map(c => c.key);
		if (!this.columns.some(c => c.key === this.state.sort) && this.state.sort !== 'name')
			this.state.sort = this.columns.length ? this.columns[0].key : 'name';
		this.table.columns = this.columns;
	}

	/* Tree and table anew; the scopes that were open, zoomed and selected are found again by their names. */
	refresh(first = false) {
		const key = JSON.stringify(this.lookSettings()), name = this.state.view;
		if (!this.looks.has(key)) {
			this.looks.clear();
			this.trees.clear();
			this.looks.set(key, this.makeLook(this.lookSettings()));
		}
		this.look = this.looks.get(key);
		const known = this.trees.get(name);
		this.tree = known || new VIEWS[name][1](this.look);
		this.trees.set(name, this.tree);
		this.zoomed = this.find(this.state.zoom) || this.tree.root;
		if (first)
			this.openPath(this.state.at);
		this.table.rebuild(this.find(this.state.at) || this.zoomed);
		if (first && !this.state.at.length) {
			this.table.cursor = 0;
			this.openFirst();
		}
		this.table.reveal();
		this.showSearch();
		this.selected();
		this.bar();
	}

	/* So that the first look says something. */
	openFirst() {
		this.table.hotPath();
	}

	find(path) {
		let scope = this.tree.root;
		for (const key of path) {
			scope = scope.children.find(kid => kid.key === key);
			if (!scope)
				return null;
		}
		return scope;
	}

	/* Opens what is around the scope of a path. */
	openPath(path) {
		const scope = this.find(path);
		for (let s = scope && scope.parent; s && s.parent; s = s.parent)
			s.open = true;
	}

	selected() {
		const scope = this.table.current;
		if (!scope)
			return;
		showDetails(this, scope);
		this.state.at = scope.path;
		this.saveAddress();
		cancelAnimationFrame(this.painting);
		this.painting = requestAnimationFrame(() => this.showPane());
	}

	showPane() {
		const scope = this.table.current, box = byId('pane');
		if (!scope)
			return;
		for (const pane of PANES) {
			const tab = byId('tab-' + pane);
			tab.setAttribute('aria-selected', String(pane === this.state.pane));
			tab.tabIndex = pane === this.state.pane ? 0 : -1;
		}
		box.setAttribute('aria-labelledby', 'tab-' + this.state.pane);
		let parts;
		if (this.state.pane === 'flame') {
			this.flame.focus = 0;
			this.flame.show(scope, box.clientWidth - 16);
			parts = this.profile.nodeCount ? [this.flame.canvas] : [make('p', {class: 'empty'}, 'No stacks were taken.')];
		} else {
			parts = {source: sourcePane, assembly: assemblyPane, callers: callersPane}[this.state.pane](this, scope);
		}
		const chosen = parts.length && parts[parts.length - 1] instanceof Element && parts[parts.length - 1].parentElement ?
			parts.pop() : null;
		box.replaceChildren(...parts.filter(Boolean));
		if (chosen)
			box.scrollTop = Math.max(0, chosen.offsetTop - box.clientHeight / 3);
		else
			box.scrollTop = 0;
	}

	/* The instructions of a function that the page has not: from whoever serves it, once. */
	async load(f) {
		if (!this.server || this.asked.has(f))
			return;
		this.asked.add(f);
		try {
			const answer = await fetch('code?f=' + f);
			if (answer.ok)
				this.profile.extend(await answer.json());
			else
				this.missing.add(f);
		} catch {
			this.missing.add(f);
		}
		this.showPane();
	}

	imageRank(image) {
		if (!this.ranks) {
			const flat = new Flat(this.look), scopes = [...flat.root.children];
			scopes.sort((a, b) => b.exclusive[0] - a.exclusive[0]);
			this.ranks = new Map(scopes.map((scope, i) => [scope.image, i]));
		}
		return this.ranks.has(image) ? this.ranks.get(image) : 7;
	}

	say(text) {
		byId('said').textContent = text;
	}

	/* --- The head of the page. --- */

	head() {
		const p = this.profile, data = p.data, about = byId('facts');
		byId('title').textContent = data.title;
		document.title = `${data.title} – culprit`;
		const samples = p.events.map(e => `${formatCount(e.total) || '0'} ${e.label}`).join(', ');
		const stacks = p.sets.reduce((sum, set) => sum + set.stacks, 0);
		byId('summary').textContent = [samples, stacks ? `${formatCount(stacks)} stacks` : 'no stacks',
			data.machine && 'machine ' + data.machine.slice(0, 12)]
			.filter(Boolean).join(' · ');
		about.textContent = [...data.about, ...(p.several ? p.sets.map((set, i) => `[${i + 1}] ${set.name}`) : [])].join('\n');
	}

	/* What is filtered, zoomed and flattened, each with a way back. */
	bar() {
		const s = this.state, chips = [];
		const chip = (text, back, help) => chips.push(make('li', {}, make('bdi', {}, text), make('button', {type: 'button',
			'aria-label': 'Remove: ' + text, title: help || 'Remove', onclick: back}, '×')));
		if (this.zoomed.parent)
			chip('zoomed to ' + nameOf(this.zoomed), () => this.unzoom(), 'Esc');
		if (s.flatten)
			chip(`flattened ${s.flatten}×`, () => this.set({flatten: 0}));
		for (const name of ['focus', 'ignore', 'hide'])
			if (s[name])
				chip(`${name}: ${s[name]}`, () => this.set({[name]: ''}));
		for (const image of s.fold)
			chip('folded: ' + this.profile.images[image].path, () => this.set({fold: s.fold.filter(i => i !== image)}));
		if (s.recursion)
			chip('recursion collapsed', () => this.set({recursion: false}));
		if (!s.inlined)
			chip('inlined functions in their callers', () => this.set({inlined: true}));
		if (!s.loops)
			chip('without loops', () => this.set({loops: true}));
		if (!s.lines)
			chip('without lines', () => this.set({lines: true}));
		byId('chips').replaceChildren(...chips);
		for (const radio of document.querySelectorAll('[name=view]'))
			radio.checked = radio.value === s.view;
		if (document.activeElement !== byId('search'))
			byId('search').value = s.search;
	}

	/* --- What can be done. --- */

	set(changes) {
		Object.assign(this.state, changes);
		this.refresh();
	}

	setView(view) {
		if (view === this.state.view)
			return;
		const keep = this.table.current && this.table.current.around, sorted = this.state.sort;
		const sort = view === 'flat' && sorted === 't0' ? 's0' : view === 'down' && sorted === 's0' ? 't0' : sorted;
		this.state = {...this.state, view, zoom: [], at: [], flatten: 0, sort};
		this.refresh();
		if (keep)
			this.goToFunction(keep.f, true);
	}

	sortBy(key) {
		if (this.state.sort === key)
			this.set({reverse: !this.state.reverse});
		else
			this.set({sort: key, reverse: false});
		this.say(`sorted by ${key === 'name' ? 'name' : this.columns.find(c => c.key === key).help}`);
	}

	sortBeside(step) {
		const keys = ['name', ...this.table.visible().map(c => c.key)], at = keys.indexOf(this.state.sort);
		this.sortBy(keys[(at + step + keys.length) % keys.length]);
	}

	zoom() {
		const scope = this.table.current;
		if (scope === this.zoomed || !scope.children.length)
			return;
		this.set({zoom: scope.path, flatten: 0});
		this.say('zoomed to ' + nameOf(scope));
	}

	unzoom() {
		const inner = this.zoomed;
		if (!inner.parent)
			return false;
		this.state.zoom = inner.parent.path;
		for (let s = inner.parent; s && s.parent; s = s.parent)
			s.open = true;
		this.state.at = inner.path;
		this.refresh();
		return true;
	}

	flatten(step) {
		this.set({flatten: Math.max(0, Math.min(40, this.state.flatten + step))});
		this.say(`flattened ${this.state.flatten} times`);
	}

	/* Focus, ignore or hide the selected function: more of the same are joined. */
	filter(name) {
		const around = this.table.current && this.table.current.around;
		if (!around)
			return this.say('Select a function first.');
		const text = '^' + this.profile.functions[around.f].name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$';
		const before = this.state[name];
		this.set({[name]: before ? `${before}|${text}` : text, zoom: [], at: []});
		this.say(`${name}: ${this.profile.functions[around.f].name}`);
	}

	fold() {
		const around = this.table.current && this.table.current.around;
		if (!around)
			return this.say('Select a function of the library first.');
		const image = this.profile.functions[around.f].image, fold = this.state.fold;
		this.set({fold: fold.includes(image) ? fold.filter(i => i !== image) : [...fold, image], zoom: [], at: []});
	}

	/* The heaviest scope of a function in this view. */
	goToFunction(f, quiet = false) {
		const pending = [this.tree.root];
		let best = null, steps = 0;
		const mark = new Uint8Array(this.profile.functions.length), i = this.event.index;
		mark[f] = 1;
		if (this.tree.mark)
			this.tree.mark(mark);
		while (pending.length && steps++ < SEARCH_MAX) {
			const scope = pending.pop();
			if (scope.f === f && scope.kind !== 'loop' && (!best || scope.inclusive[i] > best.inclusive[i]))
				best = scope;
			if (best === scope || scope.kind === 'line' || scope.kind === 'instruction' || !this.tree.mayHold(scope) ||
				(this.tree.name === 'up' && scope.depth > 0) || (best && scope.inclusive[i] <= best.inclusive[i]))
				continue;
			pending.push(...scope.children);
		}
		this.tree.marked = null;
		if (best)
			this.show(best);
		else if (!quiet)
			this.say('This function has no samples in this view.');
	}

	show(scope) {
		if (!scope.isBelow(this.zoomed)) {
			this.zoomed = this.tree.root;
			this.state.zoom = [];
		}
		if (this.state.flatten)
			this.state.flatten = 0;
		this.table.goTo(scope);
		this.bar();
	}

	/* --- Search. --- */

	showSearch() {
		const text = this.state.search, expression = compile(text), p = this.profile, out = byId('matches');
		byId('search').setAttribute('aria-invalid', String(Boolean(text) && !expression));
		this.table.matched = expression && Uint8Array.from(p.functions, f => expression.test(f.name) ? 1 : 0);
		out.textContent = '';
		if (text && !expression)
			out.textContent = 'not an expression';
		else if (expression)
			out.textContent = `${formatPercent(this.shareOf(this.table.matched), this.event.total) || '0'}%`;
		this.table.draw(true);
	}

	/* Samples with a matched function on their stack; without stacks, in it. */
	shareOf(matched) {
		const p = this.profile, self = this.look.self[this.event.index], inside = new Uint8Array(p.nodeCount);
		let sum = 0;
		const has = frame => {
			for (let k = 0; k < p.framePlaces[frame]; k++)
				if (matched[p.placeFunction[p.framePlace[frame] + k]])
					return true;
			return false;
		};
		for (let n = 0; n < p.nodeCount; n++) {
			inside[n] = (p.parent[n] >= 0 && inside[p.parent[n]]) || has(p.nodeFrame[n]) ? 1 : 0;
			sum += inside[n] ? self[n] : 0;
		}
		if (!p.nodeCount)
			p.flatFrame.forEach((frame, i) => {
				sum += has(frame) ? p.flat[this.event.index][i] : 0;
			});
		return sum;
	}

	/* The next scope, in the order of the table whether it is open or not, whose name matches. */
	findNext(step) {
		const expression = compile(this.state.search), found = [];
		if (!expression)
			return;
		if (this.tree.mark)
			this.tree.mark(Uint8Array.from(this.profile.functions, f => expression.test(f.name) ? 1 : 0));
		const pending = [this.zoomed], current = this.table.current;
		let steps = 0, at = -1;
		while (pending.length && steps++ < SEARCH_MAX) {
			const scope = pending.pop();
			const hit = scope !== this.zoomed && scope.kind !== 'instruction' && scope.kind !== 'line' &&
				expression.test(nameOf(scope));
			if (scope === current)
				at = found.length - (hit ? 0 : 0.5);
			if (hit)
				found.push(scope);
			if (scope.kind === 'line' || scope.kind === 'instruction' || !this.tree.mayHold(scope) ||
				(this.tree.name === 'up' && scope.depth > 8))
				continue;
			pending.push(...[...this.table.sorted(scope)].reverse());
		}
		this.tree.marked = null;
		if (!found.length)
			return this.say('Nothing matches in this view.');
		const next = step > 0 ? Math.floor(at) + 1 : Math.ceil(at) - 1;
		const scope = found[(next + found.length) % found.length];
		this.show(scope);
		this.say(`match ${found.indexOf(scope) + 1} of ${found.length}${pending.length ? ' or more' : ''}`);
	}

	/* --- Metrics and columns. --- */

	addMetric(text) {
		try {
			const metric = parseMetric(text, this.profile.events);
			this.metrics = [...this.metrics.filter(m => m.name !== metric.name), metric];
			this.state.metrics = this.metrics.map(m => m.text);
			return '';
		} catch (error) {
			this.problems.push(`${text}: ${error.message}`);
			return error.message;
		}
	}

	checkMetric() {
		const input = byId('formula'), out = byId('formula-problem');
		out.textContent = '';
		if (!input.value.trim())
			return false;
		try {
			const metric = parseMetric(input.value, this.profile.events);
			out.textContent = `${metric.name} can be added`;
			out.className = 'good';
			return true;
		} catch (error) {
			out.textContent = error.message;
			out.className = 'bad';
			return false;
		}
	}

	listColumns() {
		const list = byId('column-list');
		list.replaceChildren(...this.columns.map(c => make('li', {}, make('label', {}, make('input', {type: 'checkbox',
			checked: !this.state.hidden.includes(c.key), onchange: event => {
				this.state.hidden = this.state.hidden.filter(key => key !== c.key).concat(event.target.checked ? [] : [c.key]);
				this.refresh();
			}}), ` ${c.title} `, make('span', {class: 'part'}, c.part), c.help.includes('=') && /^[mM]/.test(c.key) ?
			make('code', {}, ' ' + c.help) : ''))));
	}

	/* --- Export. --- */

	csv() {
		const quote = text => /[",\n]/.test(text) || /^[=+@-]/.test(text) ? `"${(/^[=+@-]/.test(text) ? "'" : '') +
			text.replaceAll('"', '""')}"` : text;
		const columns = this.table.visible(), lines = [['level', 'kind', 'name', ...columns.map(c => `${c.title} ${c.part}`)]];
		for (const [scope, depth] of this.table.rows.slice(0, CSV_MAX))
			lines.push([String(depth), scope.kind, nameOf(scope), ...columns.map(c => {
				const value = c.value(scope);
				return value === null ? '' : String(value);
			})]);
		return lines.map(line => line.map((cell, i) => i > 2 ? cell : quote(cell)).join(',')).join('\n') + '\n';
	}

	exportCsv() {
		download('culprit.csv', 'text/csv', this.csv());
	}

	exportSvg() {
		this.flame.show(this.table.current, Math.max(1000, byId('pane').clientWidth));
		download('culprit.svg', 'image/svg+xml', this.flame.svg());
		this.showPane();
	}

	/* --- The address. --- */

	readAddress() {
		const state = structuredClone(DEFAULT_STATE);
		try {
			const given = JSON.parse(decodeURIComponent(location.hash.slice(1)) || '{}');
			for (const [key, value] of Object.entries(given))
				if (key in state && (state[key] === null ? Array.isArray(value) : typeof value === typeof state[key] &&
					Array.isArray(value) === Array.isArray(state[key])))
					state[key] = value;
		} catch {
			/* Not one of ours. */
		}
		if (!(state.view in VIEWS))
			state.view = 'down';
		if (!PANES.includes(state.pane))
			state.pane = 'source';
		state.fold = state.fold.filter(i => this.profile.images[i]);
		return state;
	}

	saveAddress() {
		const changed = {};
		for (const [key, value] of Object.entries(this.state))
			if (JSON.stringify(value) !== JSON.stringify(DEFAULT_STATE[key]))
				changed[key] = value;
		const address = '#' + encodeURIComponent(JSON.stringify(changed));
		if (address !== location.hash)
			history.replaceState(null, '', address);
	}

	/* --- Keys and buttons. --- */

	showPaneNamed(pane) {
		this.state.pane = pane;
		this.saveAddress();
		this.showPane();
	}

	actions() {
		return {
			1: () => this.setView('down'), 2: () => this.setView('up'), 3: () => this.setView('flat'),
			h: () => this.table.hotPath(), f: () => this.flatten(1), F: () => this.flatten(-1),
			Enter: () => this.zoom(), Escape: () => this.back(), Backspace: () => this.unzoom(),
			'/': () => byId('search').focus(), n: () => this.findNext(1), N: () => this.findNext(-1),
			'[': () => this.sortBeside(-1), ']': () => this.sortBeside(1), r: () => this.set({reverse: !this.state.reverse}),
			o: () => this.filter('focus'), i: () => this.filter('ignore'), x: () => this.filter('hide'),
			R: () => this.set({recursion: !this.state.recursion}), I: () => this.set({inlined: !this.state.inlined}),
			L: () => this.set({loops: !this.state.loops}), l: () => this.set({lines: !this.state.lines}),
			b: () => this.fold(), u: () => this.clear(),
			s: () => this.showPaneNamed('source'), a: () => this.showPaneNamed('assembly'),
			g: () => this.showPaneNamed('flame'), c: () => this.showPaneNamed('callers'),
			t: () => {
				this.state.units = !this.state.units;
				this.makeColumns();
				this.refresh();
			},
			m: () => this.openDialog('settings'), e: () => this.exportCsv(), E: () => this.exportSvg(),
			'?': () => this.openDialog('about'),
		};
	}

	moves() {
		return {
			ArrowDown: () => this.table.moveTo(this.table.cursor + 1), ArrowUp: () => this.table.moveTo(this.table.cursor - 1),
			ArrowRight: () => this.table.inwards(), ArrowLeft: () => this.table.outwards(),
			PageDown: () => this.table.moveTo(this.table.cursor + this.table.pageRows()),
			PageUp: () => this.table.moveTo(this.table.cursor - this.table.pageRows()),
			Home: () => this.table.moveTo(0), End: () => this.table.moveTo(this.table.rows.length - 1),
			' ': () => this.table.toggle(),
		};
	}

	/* One step back: the zoom, then the search. */
	back() {
		if (!this.unzoom() && this.state.search) {
			byId('search').value = '';
			this.set({search: ''});
		}
	}

	clear() {
		this.set({...DEFAULT_LOOK, fold: [], zoom: [], flatten: 0, at: []});
	}

	openDialog(id) {
		if (id === 'settings')
			this.listColumns();
		byId(id).showModal();
	}

	key(event) {
		const typing = event.target.closest('input, textarea, select, dialog');
		if (typing || event.ctrlKey || event.altKey || event.metaKey)
			return;
		const inTabs = event.target.closest('[role=tablist]'), onButton = event.target.closest('button, a, canvas');
		if (inTabs && this.tabKey(event))
			return;
		if (onButton && ['Enter', ' '].includes(event.key))
			return;
		if (event.target.closest('#pane') && event.key in this.moves())
			return; /* scrolls */
		const action = this.moves()[event.key] || this.actions()[event.key];
		if (!action)
			return;
		event.preventDefault();
		action();
	}

	tabKey(event) {
		const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
		if (!step)
			return false;
		event.preventDefault();
		const pane = PANES[(PANES.indexOf(this.state.pane) + step + PANES.length) % PANES.length];
		this.showPaneNamed(pane);
		byId('tab-' + pane).focus();
		return true;
	}

	listen() {
		const actions = this.actions();
		document.addEventListener('keydown', event => this.key(event));
		for (const radio of document.querySelectorAll('[name=view]')) {
			radio.addEventListener('change', () => {
				this.setView(radio.value);
				byId('tree').focus();
			});
			radio.disabled = radio.value !== 'flat' && !this.profile.nodeCount;
		}
		for (const button of document.querySelectorAll('[data-key]'))
			button.addEventListener('click', () => actions[button.dataset.key]());
		for (const pane of PANES)
			byId('tab-' + pane).addEventListener('click', () => this.showPaneNamed(pane));
		this.listenToSearch();
		byId('formula').addEventListener('input', () => this.checkMetric());
		byId('formula-form').addEventListener('submit', event => {
			event.preventDefault();
			if (!this.checkMetric())
				return;
			this.addMetric(byId('formula').value);
			byId('formula').value = byId('formula-problem').textContent = '';
			this.makeColumns();
			this.refresh();
			this.listColumns();
		});
		this.listenToSplitter();
		addEventListener('resize', () => this.state.pane === 'flame' && this.showPane());
		addEventListener('hashchange', () => {
			this.state = {...this.readAddress(), hidden: this.state.hidden};
			this.refresh(true);
		});
	}

	listenToSearch() {
		const search = byId('search');
		search.value = this.state.search;
		search.addEventListener('input', () => {
			this.state.search = search.value;
			this.showSearch();
			this.saveAddress();
		});
		search.addEventListener('keydown', event => {
			if (event.key === 'Enter') {
				event.preventDefault();
				byId('tree').focus();
				this.findNext(event.shiftKey ? -1 : 1);
			} else if (event.key === 'Escape') {
				search.value = this.state.search = '';
				this.showSearch();
				byId('tree').focus();
			}
		});
	}

	/* How much of the window the tree has, by mouse or arrows. */
	listenToSplitter() {
		const bar = byId('splitter'), main = byId('main');
		const share = percent => {
			const value = Math.round(Math.max(20, Math.min(85, percent)));
			main.style.setProperty('--share', value + '%');
			bar.setAttribute('aria-valuenow', value);
			this.table.draw(true);
		};
		bar.addEventListener('pointerdown', event => {
			bar.setPointerCapture(event.pointerId);
			bar.onpointermove = move => {
				const box = main.getBoundingClientRect();
				share(innerWidth >= 900 ? 100 * (move.clientX - box.left) / box.width :
					100 * (move.clientY - box.top) / box.height);
			};
		});
		bar.addEventListener('pointerup', () => {
			bar.onpointermove = null;
			if (this.state.pane === 'flame')
				this.showPane();
		});
		bar.addEventListener('keydown', event => {
			const step = {ArrowLeft: -5, ArrowUp: -5, ArrowRight: 5, ArrowDown: 5}[event.key];
			if (!step)
				return;
			event.preventDefault();
			event.stopPropagation();
			share(Number(bar.getAttribute('aria-valuenow')) + step);
		});
	}
}

async function begin() {
	performance.mark('begin');
	try {
		const profile = new Profile(await unpack(byId('profile').textContent));
		window.culprit = new Page(profile);
		document.body.classList.add('ready');
		byId('tree').focus();
	} catch (error) {
		byId('loading').textContent = 'This page cannot be shown: ' + error.message;
		throw error;
	}
	requestAnimationFrame(() => setTimeout(() => performance.mark('drawn')));
}

begin();
