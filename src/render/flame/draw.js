/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

const ROW = 20, NARROWEST = 0.5;

/* Eight hues that keep apart, at one lightness; in both schemes text on them has a contrast over 7. */
const HUES = [55, 250, 150, 320, 100, 205, 20, 285];
const KIND = {USER: 0, KERNEL: 1, INLINED: 2, NOTE: 3};

/* OKLCH (Ottosson, "A perceptual color space for image processing") to #rrggbb. */
function oklch(lightness, chroma, hue) {
	const a = chroma * Math.cos(hue * Math.PI / 180), b = chroma * Math.sin(hue * Math.PI / 180);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
	const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s];
	return '#' + linear.map(v => {
		const c = Math.min(1, Math.max(0, v));
		const byte = Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055));
		return byte.toString(16).padStart(2, '0');
	}).join('');
}

class Palette {
	constructor(images, dark) {
		const style = getComputedStyle(document.documentElement);
		const get = name => style.getPropertyValue(name).trim();
		this.dark = dark;
		Object.assign(this, {paper: get('--paper'), ink: get('--ink'), quiet: get('--quiet'),
			accent: get('--accent'), rest: dark ? '#2c2c2a' : '#e6e6e2', sans: get('--sans')});
		this.matched = dark ? '#e9c46a' : '#f2b705';
		this.matchedInk = '#1c1c1a';
		this.hueOf = new Map(images.map((image, i) => [image, i]));
		this.shades = new Map();
	}

	/* Functions of an image differ a little in lightness, so that neighbours can be told apart. */
	shade(f) {
		const rank = this.hueOf.get(f.image);
		const coloured = f.kind !== KIND.NOTE && rank !== undefined && rank < HUES.length;
		const step = f.id % 3 - 1, lightness = (this.dark ? 0.40 : 0.875) + step * 0.02;
		const key = (coloured ? rank : -1) * 3 + step + (f.kind === KIND.KERNEL ? 100 : 0);
		if (!this.shades.has(key)) {
			const chroma = !coloured ? 0.004 : this.dark ? 0.062 : 0.068;
			this.shades.set(key, oklch(lightness, chroma, coloured ? HUES[rank] : 90));
		}
		return this.shades.get(key);
	}
}

/* Without what stands in <> behind a name or a ::, but of operators, and of Python's <module>. */
function withoutArguments(name) {
	let depth = 0, out = '';
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		if (c === '<' && (depth || (/[\w:)]/.test(name[i - 1] || (name.includes('>::') ? ':' : '')) &&
			!/operator<?$/.test(name.slice(Math.max(i - 9, 0), i)))))
			depth++;
		else if (c === '>' && depth && name[i - 1] !== '-')
			depth--;
		else if (!depth)
			out += c;
	}
	return depth || !out ? name : out.replace(/^::|::(?=::)/g, '');
}

/* A name for ever less room: as it is, without its arguments, without namespaces or Go's path. */
function shorterNames(name) {
	const plain = withoutArguments(name);
	return [name, plain, plain.replace(/^.*::(?=[^()]*(\(.*\))?$)|^[\w.~-]+\/(.*\/)?/, '')];
}

/*
 * Draws the part of a tree that a window of samples shows: left and width, in samples. What is drawn
 * is kept in boxes, by rows, for the mouse and the keyboard.
 */
class Drawing {
	constructor(canvas, graph, space) {
		Object.assign(this, {canvas, graph, space, rows: [], widths: new Map(), names: new Map()});
		this.context = canvas.getContext('2d', {alpha: false});
		this.layout = 'flame';
	}

	/* Boxes of all that is at least half a pixel wide; what is narrower becomes one box a row. */
	place(tree, left, width) {
		const scale = this.graph.clientWidth / width, rows = [];
		const pending = [tree.root];
		const put = (depth, box) => {
			(rows[depth] = rows[depth] || []).push(box);
		};
		while (pending.length) {
			const node = pending.pop(), x = (node.start - left) * scale, w = node.total * scale;
			put(node.depth, {node, x, w});
			for (const kid of tree.expand(node)) {
				const x = (kid.start - left) * scale, w = kid.total * scale;
				if (x + w <= 0)
					continue;
				if (x >= this.graph.clientWidth)
					break;
				if (w < NARROWEST) { /* and so are the others: they stand by width */
					const last = node.kids[node.kids.length - 1];
					put(kid.depth, {node: null, x, w: (last.start + last.total - left) * scale - x});
					break;
				}
				pending.push(kid);
			}
		}
		for (const row of rows)
			row.sort((a, b) => a.x - b.x);
		this.rows = rows;
	}

	yOf(depth) {
		const height = Math.max(this.rows.length * ROW, this.graph.clientHeight);
		return this.layout === 'flame' ? height - (depth + 1) * ROW : depth * ROW;
	}

	/* The box at a place of the canvas, null where there is none. */
	find(x, y) {
		const height = Math.max(this.rows.length * ROW, this.graph.clientHeight);
		const at = y + this.graph.scrollTop;
		const depth = Math.floor((this.layout === 'flame' ? height - at : at) / ROW);
		const row = this.rows[depth];
		return row && row.find(box => box.node && x >= box.x && x < box.x + box.w) || null;
	}

	boxOf(node) {
		const row = node && this.rows[node.depth];
		return row && row.find(box => box.node === node) || null;
	}

	/* Scrolls as little as needed for a row to be seen. */
	reveal(depth) {
		const y = this.yOf(depth), g = this.graph;
		if (y < g.scrollTop)
			g.scrollTop = y;
		else if (y + ROW > g.scrollTop + g.clientHeight)
			g.scrollTop = y + ROW - g.clientHeight;
	}

	resize() {
		const ratio = window.devicePixelRatio || 1, c = this.canvas;
		const width = this.graph.clientWidth, height = this.graph.clientHeight;
		this.space.style.height = Math.max(this.rows.length * ROW, height) + 'px';
		if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
			c.width = Math.round(width * ratio);
			c.height = Math.round(height * ratio);
			c.style.width = width + 'px';
			c.style.height = height + 'px';
		}
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
	}

	paint(view) {
		const c = this.context, palette = view.palette;
		const height = this.graph.clientHeight, top = this.graph.scrollTop;
		this.resize();
		c.fillStyle = palette.paper;
		c.fillRect(0, 0, this.graph.clientWidth, height);
		c.font = '12px ' + palette.sans;
		c.textBaseline = 'middle';
		for (let depth = 0; depth < this.rows.length; depth++) {
			const y = this.yOf(depth) - top;
			if (y + ROW <= 0 || y >= height)
				continue;
			for (const box of this.rows[depth])
				this.paintBox(box, y, view);
		}
		this.outline(this.boxOf(view.hover), palette.quiet, 1);
		this.outline(this.boxOf(view.focus), palette.ink, 2);
	}

	paintBox(box, y, view) {
		const c = this.context, palette = view.palette, node = box.node;
		const left = Math.max(box.x, 0), right = Math.min(box.x + box.w, this.graph.clientWidth);
		const width = right - left - (right - left > 3 ? 1 : 0);
		const f = node && node.frame >= 0 ? view.profile.functions[node.frame] : null;
		const matched = f && view.marked && view.marked[f.id];
		if (!node)
			c.fillStyle = palette.rest;
		else
			c.fillStyle = matched ? palette.matched : f ? palette.shade(f) : palette.rest;
		c.globalAlpha = node && ((view.marked && !matched) || node.depth < view.zoom.depth) ? 0.45 : 1;
		c.fillRect(left, y, width, ROW - 1);
		c.globalAlpha = 1;
		if (node && width > 24) {
			c.fillStyle = matched ? palette.matchedInk :
				(view.marked && f) || node.depth < view.zoom.depth ? palette.quiet : palette.ink;
			this.write(view.nameOf(node), left + 5, y + ROW / 2, width - 9);
		}
	}

	widthOf(text) {
		if (!this.widths.has(text))
			this.widths.set(text, this.context.measureText(text).width);
		return this.widths.get(text);
	}

	/* The longest form of a name that there is room for, else as much as there is of the shortest. */
	write(name, x, y, room) {
		const c = this.context;
		if (!this.names.has(name))
			this.names.set(name, shorterNames(name));
		const forms = this.names.get(name);
		let text = forms.find(form => this.widthOf(form) <= room) || forms[forms.length - 1];
		const full = this.widthOf(text);
		if (full > room) {
			let size = Math.floor(text.length * (room - 10) / full);
			while (size > 1 && c.measureText(text.slice(0, size)).width > room - 10)
				size--;
			if (size < 2)
				return;
			text = text.slice(0, size) + '…';
		}
		c.fillText(text, x, y);
	}

	outline(box, colour, thick) {
		const c = this.context;
		if (!box)
			return;
		const left = Math.max(box.x, 0), right = Math.min(box.x + box.w, this.graph.clientWidth);
		const y = this.yOf(box.node.depth) - this.graph.scrollTop;
		c.strokeStyle = colour;
		c.lineWidth = thick;
		c.strokeRect(left + thick / 2, y + thick / 2, Math.max(right - left - 1 - thick, 1),
			ROW - 1 - thick);
	}
}
