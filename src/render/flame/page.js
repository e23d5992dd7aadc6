/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

const $ = id => document.getElementById(id);
const still = matchMedia('(prefers-reduced-motion: reduce)');
const darkness = matchMedia('(prefers-color-scheme: dark)');
const ZOOM_MS = 160;

const number = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const formatCount = n => number.format(n).replaceAll(',', '\u202f');
const formatShare = (part, whole) => {
	const percent = whole ? 100 * part / whole : 0;
	return (percent && percent < 0.1 ? percent.toPrecision(1) : percent.toFixed(1)) + '%';
};
const formatTime = ns => !ns ? '0 s' : ns >= 1e9 ? (ns / 1e9).toPrecision(3) + ' s' :
	ns >= 1e6 ? (ns / 1e6).toPrecision(3) + ' ms' : (ns / 1e3).toPrecision(3) + ' µs';

/* Everything that the page shows, and what the reader does to it. */
class View {
	constructor(data) {
		this.profile = new Profile(data);
		this.drawing = new Drawing($('canvas'), $('graph'), $('space'));
		this.drawing.layout = data.layout || 'flame';
		this.direction = data.direction || 'down';
		this.marked = this.hover = null;
		this.sums = new Map();
		this.colour();
		this.plant();
	}

	colour() {
		this.images = this.profile.imageShares().filter(([image]) => image);
		this.palette = new Palette(this.images.map(([image]) => image), darkness.matches);
		const shown = this.images.slice(0, HUES.length).filter(([, share]) =>
			share >= this.profile.total / 2000);
		$('legend').replaceChildren(...shown.map(([image, share]) => {
			const item = document.createElement('li'), colour = document.createElement('i');
			const f = this.profile.functions.find(f => f.image === image);
			colour.style.background = this.palette.shade({...f, id: 1});
			item.title = image;
			item.append(colour, image.replace(/.*\//, '') + ' ' + formatShare(share, this.profile.total));
			return item;
		}));
	}

	/* The tree of the chosen event and direction, seen whole; of: a function, to see who called it. */
	plant(of = -1) {
		this.tree = this.direction === 'up' ? new BottomUp(this.profile, of) : new TopDown(this.profile);
		this.zoom = this.focus = this.tree.root;
		this.hover = null;
		this.left = 0;
		this.width = Math.max(this.profile.total, 1);
		this.draw();
		this.goHome();
		this.describe();
	}

	goHome() {
		const graph = $('graph');
		this.below = 0;
		graph.scrollTop = this.drawing.layout === 'flame' ? graph.scrollHeight : 0;
		this.drawing.paint(this);
	}

	nameOf(node) {
		return node.frame < 0 ? 'all' : this.profile.functions[node.frame].name;
	}

	draw() {
		const graph = $('graph'), below = this.below || 0;
		this.drawing.place(this.tree, this.left, this.width);
		this.drawing.resize();
		this.height = graph.clientHeight;
		if (this.drawing.layout === 'flame') /* its ground stays where it is */
			graph.scrollTop = graph.scrollHeight - graph.clientHeight - below;
		this.drawing.paint(this);
		$('reset').disabled = this.zoom === this.tree.root && this.tree.of < 0;
	}

	/* Moves the window of samples to a node. */
	zoomTo(node) {
		const from = [this.left, this.width], to = [node.start, Math.max(node.total, 1e-9)];
		const begin = performance.now();
		const step = now => {
			const t = still.matches ? 1 : Math.min(1, Math.max(0, now - begin) / ZOOM_MS);
			const eased = 1 - (1 - t) ** 3;
			if (this.zoom !== node)
				return;
			this.left = from[0] + (to[0] - from[0]) * eased;
			this.width = from[1] + (to[1] - from[1]) * eased;
			if (t === 1)
				[this.left, this.width] = to;
			this.draw();
			if (t < 1)
				requestAnimationFrame(step);
			else
				this.drawing.reveal(this.focus.depth);
		};
		if (node === this.zoom)
			return;
		this.zoom = node;
		if (!this.isInside(this.focus, node) && !this.isInside(node, this.focus))
			this.setFocus(node);
		step(still.matches ? begin : performance.now());
	}

	isInside(node, outer) {
		while (node && node !== outer)
			node = node.parent;
		return node === outer;
	}

	setFocus(node) {
		this.focus = node;
		this.drawing.reveal(node.depth);
		this.drawing.paint(this);
		this.describe();
	}

	sumsOf(id) {
		if (!this.sums.has(id))
			this.sums.set(id, this.profile.sumsOf(id));
		return this.sums.get(id);
	}

	/* What the panel says of the frame under the mouse, else of the focused one. */
	describe() {
		const node = this.hover || this.focus, p = this.profile, whole = p.total;
		const f = node.frame < 0 ? null : p.functions[node.frame];
		const self = this.tree.selfOf(node), rows = [];
		const value = n => {
			const time = p.event.ns ? ' · ' + formatTime(n * p.event.ns) : '';
			return [formatShare(n, whole), formatCount(n) + time];
		};
		$('function').textContent = this.nameOf(node);
		$('where').textContent = !f ? p.data.title : [f.image, f.file && f.line ? f.file + ':' + f.line :
			f.file, ['', 'kernel', 'inlined', ''][f.kind]].filter(Boolean).join(' · ');
		$('where').classList.toggle('below', this.nameOf(node).length < 80);
		if (this.direction === 'down') {
			rows.push(['Total', ...value(node.total)]);
			rows.push(['Self', ...value(self)]);
		} else {
			rows.push([node.depth > 1 ? 'On this path' : f && this.tree.of < 0 ? 'Self' : 'Total',
				...value(node.total)]);
			rows.push(['Stack begins here', ...value(self)]);
		}
		if (node.parent && node.parent.frame >= 0)
			rows.push([this.direction === 'down' ? 'Of its caller' : 'Of its callee',
				formatShare(node.total, node.parent.total), '']);
		const counts = p.metrics.length ? this.tree.countsOf(node) : [];
		for (const metric of p.metrics) {
			const value = p.valueOf(metric, counts);
			rows.push([metric.name, value === null ? 'none' : String(Number(value.toPrecision(4))), '']);
		}
		if (f) {
			const sums = this.sumsOf(f.id);
			rows.push(['Everywhere: total', ...value(sums.total)]);
			rows.push(['Everywhere: self', ...value(sums.self)]);
		}
		$('numbers').replaceChildren(...rows.map(([name, main, more]) => this.makeRow(name, main, more)));
		$('zoom').disabled = node === this.zoom;
		$('callers').disabled = $('same').disabled = !f;
		this.tell(this.focus);
	}

	makeRow(name, main, more) {
		const row = document.createElement('div'), term = document.createElement('dt');
		const detail = document.createElement('dd'), strong = document.createElement('b');
		term.textContent = name;
		strong.textContent = main;
		detail.append(strong, more ? ' ' + more : '');
		row.append(term, detail);
		return row;
	}

	/* The focused frame for readers of the screen: the canvas means nothing to them. */
	tell(node) {
		const item = $('item'), f = node.frame < 0 ? null : this.profile.functions[node.frame];
		const row = node.parent ? node.parent.kids : [node];
		item.setAttribute('aria-level', node.depth + 1);
		item.setAttribute('aria-posinset', row.indexOf(node) + 1);
		item.setAttribute('aria-setsize', row.length);
		item.setAttribute('aria-selected', 'true');
		item.textContent = [this.nameOf(node), f ? f.image.replace(/.*\//, '') : '',
			formatShare(node.total, this.profile.total), 'self ' +
			formatShare(this.tree.selfOf(node), this.profile.total)].filter(Boolean).join(', ');
		$('graph').setAttribute('aria-activedescendant', 'item');
	}

	/* The same text that the box of the search has: a regular expression, or nothing. */
	search(text) {
		let pattern = null;
		$('search').removeAttribute('aria-invalid');
		try {
			pattern = text ? new RegExp(text, 'i') : null;
		} catch (error) {
			$('search').setAttribute('aria-invalid', 'true');
			$('matches').textContent = 'not an expression';
			pattern = undefined;
		}
		this.marked = null;
		if (pattern) {
			this.marked = Uint8Array.from(this.profile.functions, f => pattern.test(f.name) ? 1 : 0);
			$('matches').textContent = formatShare(this.profile.shareOf(this.marked),
				this.profile.total) + ' matched';
		} else if (pattern === null) {
			$('matches').textContent = '';
		}
		this.drawing.paint(this);
	}

	/* The next (or previous, by -1) of the matching frames that are drawn, widest first. */
	nextMatch(step) {
		const found = this.drawing.rows.flat().filter(box =>
			box.node && box.node.frame >= 0 && this.marked && this.marked[box.node.frame])
			.map(box => box.node).sort((a, b) => b.total - a.total || a.depth - b.depth);
		const at = found.indexOf(this.focus);
		if (found.length)
			this.setFocus(found[at < 0 ? 0 : (at + step + found.length) % found.length]);
	}

	/* To the widest callee (in the other direction: caller), zooming when it is too narrow to see. */
	goIn() {
		const kid = this.tree.expand(this.focus)[0], narrow = this.focus;
		if (!kid)
			return;
		this.setFocus(kid);
		if (!this.drawing.boxOf(kid))
			this.zoomTo(narrow);
	}

	goOut() {
		const outer = this.focus.parent;
		if (!outer)
			return;
		this.setFocus(outer);
		if (this.isInside(this.zoom, outer) && this.zoom !== outer)
			this.zoomTo(outer);
	}

	goBeside(step) {
		const row = (this.drawing.rows[this.focus.depth] || []).filter(box => box.node);
		const at = row.findIndex(box => box.node === this.focus);
		if (at >= 0 && row[at + step])
			this.setFocus(row[at + step].node);
	}

	/* Who called the focused function, for all that it took: a tree of it alone. */
	showCallers() {
		const frame = this.focus.frame;
		if (frame < 0)
			return;
		this.setDirection('up', frame);
		const [kid] = this.tree.expand(this.tree.root);
		if (kid) { /* none: of this event it has no samples */
			this.setFocus(kid);
			this.zoomTo(kid);
		}
	}

	/* All of it again, after a zoom or the callers of one function. */
	reset() {
		if (this.tree.of >= 0)
			this.plant();
		this.setFocus(this.tree.root);
		this.zoomTo(this.tree.root);
	}

	findAll(frame) {
		const name = this.profile.functions[frame].name;
		$('search').value = '^' + name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$';
		this.search($('search').value);
	}

	setDirection(direction, of) {
		this.direction = direction;
		document.querySelector(`[name=direction][value=${direction}]`).checked = true;
		this.plant(of);
	}

	setLayout(layout) {
		this.drawing.layout = layout;
		document.querySelector(`[name=layout][value=${layout}]`).checked = true;
		this.draw();
		this.goHome();
		this.drawing.reveal(this.focus.depth);
	}
}

/* Keys of the graph. Up and down are those of the picture. */
function takeKey(view, event) {
	const flame = view.drawing.layout === 'flame';
	const keys = {
		ArrowUp: () => flame ? view.goIn() : view.goOut(),
		ArrowDown: () => flame ? view.goOut() : view.goIn(),
		ArrowLeft: () => view.goBeside(-1),
		ArrowRight: () => view.goBeside(1),
		Enter: () => view.zoomTo(view.focus),
		Home: () => view.reset(),
		Escape: () => {
			if (view.tree.of >= 0 && view.zoom.depth < 2) {
				view.reset();
			} else if (view.zoom.parent) {
				view.zoomTo(view.zoom.parent);
			} else {
				$('search').value = '';
				view.search('');
			}
		},
		n: () => view.nextMatch(1),
		N: () => view.nextMatch(-1),
		c: () => view.showCallers(),
		d: () => view.setDirection(view.direction === 'up' ? 'down' : 'up'),
		l: () => view.setLayout(flame ? 'icicle' : 'flame'),
	};
	if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key))
		return;
	event.preventDefault();
	view.hover = null;
	keys[event.key]();
}

function listenToGraph(view) {
	const graph = $('graph');
	const at = event => {
		const edge = $('canvas').getBoundingClientRect();
		const box = view.drawing.find(event.clientX - edge.left, event.clientY - edge.top);
		return box && box.node;
	};
	graph.addEventListener('keydown', event => takeKey(view, event));
	graph.addEventListener('scroll', () => {
		if (graph.clientHeight === view.height) /* else it was the room that changed */
			view.below = graph.scrollHeight - graph.clientHeight - graph.scrollTop;
		view.drawing.paint(view);
	});
	graph.addEventListener('click', event => {
		const node = at(event);
		view.hover = null;
		if (node)
			view.setFocus(node);
	});
	graph.addEventListener('dblclick', event => {
		const node = at(event);
		if (node)
			view.zoomTo(node);
	});
	graph.addEventListener('mousemove', event => {
		const node = at(event);
		if (node === view.hover)
			return;
		view.hover = node;
		graph.style.cursor = node ? 'pointer' : '';
		view.drawing.paint(view);
		view.describe();
	});
	graph.addEventListener('mouseleave', () => {
		view.hover = null;
		view.drawing.paint(view);
		view.describe();
	});
}

function listenToTools(view) {
	$('search').addEventListener('input', event => view.search(event.target.value));
	$('search').addEventListener('keydown', event => {
		if (event.key === 'Escape') {
			event.target.value = '';
			view.search('');
			$('graph').focus();
			event.preventDefault();
		}
	});
	$('tools').addEventListener('submit', event => {
		event.preventDefault();
		view.nextMatch(1);
		$('graph').focus();
	});
	$('tools').addEventListener('change', event => {
		if (event.target.name === 'direction')
			view.setDirection(event.target.value);
		if (event.target.name === 'layout')
			view.setLayout(event.target.value);
		if (event.target.name === 'event') {
			view.profile.chooseEvent(Number(event.target.value));
			view.sums.clear();
			view.colour();
			view.plant();
			view.search($('search').value);
		}
	});
	$('reset').addEventListener('click', () => view.reset());
	$('zoom').addEventListener('click', () => view.zoomTo(view.focus));
	$('callers').addEventListener('click', () => view.showCallers());
	$('same').addEventListener('click', () => view.findAll(view.focus.frame));
	$('help').addEventListener('click', () => $('about').showModal());
}

/* What the page is of: the lines that every report has above its rows. */
function fillHeader(view, data) {
	$('title').textContent = document.title = data.title;
	$('summary').textContent = data.summary;
	$('facts').textContent = data.about.join('\n');
	if (data.events.length < 2)
		return;
	const select = document.createElement('select');
	select.name = 'event';
	select.setAttribute('aria-label', 'Event');
	select.append(...data.events.map((event, i) => new Option(event.name, i)));
	$('events').append(select);
}

function start() {
	performance.mark('begin');
	const data = JSON.parse($('profile').textContent), view = new View(data);

	fillHeader(view, data);
	document.querySelector(`[name=direction][value=${view.direction}]`).checked = true;
	document.querySelector(`[name=layout][value=${view.drawing.layout}]`).checked = true;
	listenToGraph(view);
	listenToTools(view);
	document.addEventListener('keydown', event => {
		const typing = event.target.matches('input[type=search], select, dialog *');
		if (event.key === '/' && !typing) {
			$('search').focus();
			$('search').select();
			event.preventDefault();
		} else if (event.key === '?' && !typing) {
			$('about').showModal();
		}
	});
	darkness.addEventListener('change', () => {
		view.colour();
		view.drawing.paint(view);
	});
	new ResizeObserver(() => view.draw()).observe($('graph'));
	$('graph').focus({focusVisible: false});
	requestAnimationFrame(() => performance.mark('drawn'));
}

start();
