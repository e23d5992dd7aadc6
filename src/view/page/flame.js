/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
import {clip, formatPercent, make, withoutArguments} from './text.js';
import {nameOf, imageOf, TopDown} from './scopes.js';

const HEIGHT = 20, NARROWEST = 0.5, DEPTH_MAX = 400;
const HUES = [55, 250, 150, 320, 100, 205, 20, 285];

/* The functions that a scope stands for and calls, as an icicle: width is time. */
export class Flame {
	constructor(page) {
		Object.assign(this, {page, boxes: [], focus: 0});
		this.canvas = make('canvas', {class: 'flame', tabindex: '0', role: 'img'});
		this.canvas.addEventListener('click', event => this.point(event, false));
		this.canvas.addEventListener('dblclick', event => this.point(event, true));
		this.canvas.addEventListener('mousemove', event => this.hover(event));
		this.canvas.addEventListener('keydown', event => this.key(event));
	}

	tree(scope) {
		const page = this.page, around = page.tree.name === 'down' ? scope.around : null;
		if (!page.look.icicle)
			page.look.icicle = page.makeLook({...page.look.settings, loops: false, lines: false});
		return new TopDown(page.look.icicle, around ? around.targets.map(t => ({...t, frame: -1, level: 0})) : null);
	}

	show(scope, width) {
		this.root = this.tree(scope).root;
		this.event = this.page.event.index;
		this.place(Math.max(200, width));
		this.paint();
		this.canvas.setAttribute('aria-label', 'Flame graph of ' + (scope.around ? nameOf(scope.around) : 'all samples') +
			': ' + this.boxes.slice(0, 12).filter(box => box.scope).map(box => nameOf(box.scope) + ' ' +
			formatPercent(box.value, this.page.event.total) + '%').join(', '));
	}

	/* Boxes of all that is wide enough to be seen. */
	place(width) {
		const boxes = [], total = this.root.inclusive[this.event], pending = [];
		/* Of a function it is itself at the top. */
		if (this.root.tree.of)
			this.root.children.forEach(kid => pending.push([kid, 0, 0]));
		else
			pending.push([this.root, 0, 0]);
		this.width = width;
		this.depth = 0;
		while (pending.length) {
			const [scope, x, depth] = pending.pop(), value = scope.inclusive[this.event];
			const w = total ? value / total * width : width;
			boxes.push({scope, x, w, depth, value});
			this.depth = Math.max(this.depth, depth);
			let left = x;
			const kids = depth < DEPTH_MAX ? [...scope.children].sort((a, b) =>
				b.inclusive[this.event] - a.inclusive[this.event]) : [];
			for (const kid of kids) {
				const w = total ? kid.inclusive[this.event] / total * width : 0;
				if (w < NARROWEST)
					break;
				pending.push([kid, left, depth + 1]);
				left += w;
			}
		}
		this.boxes = boxes.sort((a, b) => a.depth - b.depth || a.x - b.x);
	}

	colour(scope, dark) {
		const image = imageOf(scope);
		if (!image)
			return dark ? '#2c2c2a' : '#e6e6e2';
		const hue = HUES[this.page.imageRank(image.index) % HUES.length];
		const shift = (scope.f % 3 - 1) * 2;
		return `oklch(${(dark ? 40 : 87.5) + shift}% ${dark ? 0.062 : 0.068} ${hue})`;
	}

	paint() {
		const ratio = window.devicePixelRatio || 1, c = this.canvas.getContext('2d'), dark = this.page.dark;
		const height = (this.depth + 1) * HEIGHT;
		this.canvas.width = this.width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.width = this.width + 'px';
		this.canvas.style.height = height + 'px';
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.font = '12px system-ui, sans-serif';
		c.textBaseline = 'middle';
		this.boxes.forEach((box, i) => {
			const y = box.depth * HEIGHT, w = box.w - (box.w > 3 ? 1 : 0);
			c.fillStyle = this.colour(box.scope, dark);
			c.fillRect(box.x, y, w, HEIGHT - 1);
			if (w > 24) {
				c.fillStyle = dark ? '#eceae4' : '#1c1c1a';
				c.fillText(fit(c, nameOf(box.scope), w - 9), box.x + 5, y + HEIGHT / 2);
			}
			if (i === this.focus) {
				c.strokeStyle = dark ? '#eceae4' : '#1c1c1a';
				c.lineWidth = 2;
				c.strokeRect(box.x + 1, y + 1, Math.max(1, w - 2), HEIGHT - 3);
			}
		});
	}

	at(event) {
		const depth = Math.floor(event.offsetY / HEIGHT);
		return this.boxes.findIndex(box => box.depth === depth && event.offsetX >= box.x && event.offsetX < box.x + box.w);
	}

	hover(event) {
		const box = this.boxes[this.at(event)];
		this.canvas.title = box ? this.tell(box) : '';
	}

	tell(box) {
		const event = this.page.event;
		return `${clip(nameOf(box.scope), 400)}\n${formatPercent(box.value, event.total) || '0'}% of all, ${
			formatPercent(box.value, this.root.inclusive[this.event]) || '0'}% of this`;
	}

	point(event, go) {
		const i = this.at(event);
		if (i < 0)
			return;
		this.focus = i;
		this.paint();
		this.page.say(this.tell(this.boxes[i]).replace('\n', ': '));
		if (go)
			this.follow();
	}

	/* Goes to the focused function in the tree. */
	follow() {
		const box = this.boxes[this.focus];
		if (box && box.scope.f >= 0)
			this.page.goToFunction(box.scope.f);
	}

	key(event) {
		const box = this.boxes[this.focus], beside = {ArrowLeft: -1, ArrowRight: 1}[event.key];
		const inside = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w;
		let next = -1;
		if (event.key === 'Enter')
			this.follow();
		else if (beside)
			next = this.boxes[this.focus + beside] && this.boxes[this.focus + beside].depth === box.depth ?
				this.focus + beside : -1;
		else if (event.key === 'ArrowDown')
			next = this.boxes.findIndex(b => b.depth === box.depth + 1 && inside(b, box));
		else if (event.key === 'ArrowUp')
			next = this.boxes.findIndex(b => b.depth === box.depth - 1 && inside(box, b));
		else
			return;
		event.preventDefault();
		event.stopPropagation();
		if (next >= 0) {
			this.focus = next;
			this.paint();
			this.page.say(this.tell(this.boxes[next]).replace('\n', ': '));
		}
	}

	/* The same picture as SVG. */
	svg() {
		const escape = text => text.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
		const out = [`<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${(this.depth + 1) * HEIGHT
			}" font-family="sans-serif" font-size="12">`];
		const c = this.canvas.getContext('2d');
		for (const box of this.boxes) {
			const y = box.depth * HEIGHT;
			out.push(`<g><title>${escape(this.tell(box))}</title><rect x="${box.x.toFixed(1)}" y="${y}" width="${
				Math.max(0.5, box.w - 1).toFixed(1)}" height="${HEIGHT - 1}" fill="${this.colour(box.scope, false)}"/>`);
			if (box.w > 24)
				out.push(`<text x="${(box.x + 5).toFixed(1)}" y="${y + 14}" fill="#1c1c1a">${
					escape(fit(c, nameOf(box.scope), box.w - 10))}</text>`);
			out.push('</g>');
		}
		return out.join('\n') + '\n</svg>\n';
	}
}

/* As much of a name as there is room for. */
function fit(c, name, room) {
	let text = clip(name, 500);
	if (c.measureText(text).width <= room)
		return text;
	text = withoutArguments(text);
	const full = c.measureText(text).width;
	if (full <= room)
		return text;
	let size = Math.floor(text.length * (room - 10) / full);
	while (size > 1 && c.measureText(text.slice(0, size)).width > room - 10)
		size--;
	return size < 2 ? '' : text.slice(0, size) + '…';
}
