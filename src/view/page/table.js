/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
import {byId, clip, lastComponent, make} from './text.js';
import {compareBy} from './columns.js';
import {imageOf, isKernel, nameOf, placeOf} from './scopes.js';

const ROW = 24, AROUND = 12, NAME_MAX = 300;
const ICONS = {program: '∑', image: '▣', file: '▤', function: 'ƒ', inlined: 'ƒ', loop: '↻', line: '≡', instruction: '·',
	note: '…'};
const KIND_NAMES = {program: 'program', image: 'image', file: 'file', function: 'function', inlined: 'inlined function',
	loop: 'loop', line: 'line', instruction: 'instruction', note: 'note'};

/* A scope as text, for readers of the screen and tooltips. */
export function describe(scope) {
	const image = imageOf(scope), p = scope.tree.profile;
	const where = scope.kind === 'line' || scope.kind === 'file' ? p.fileName(scope.file) : image ? image.path : '';
	return `${KIND_NAMES[scope.kind]} ${nameOf(scope)}${where ? '\n' + where : ''}`;
}

/*
 * The tree as a table of which only the rows in sight are elements. Its state is that of the scopes (open)
 * and of the page: order, zoom, how often it was flattened.
 */
export class TreeTable {
	constructor(page) {
		Object.assign(this, {page, rows: [], cursor: 0, columns: [], matched: null});
		this.box = byId('tree');
		this.body = byId('rows');
		this.head = byId('columns');
		this.box.addEventListener('scroll', () => this.draw());
		new ResizeObserver(() => this.draw()).observe(this.box);
		this.body.addEventListener('click', event => this.click(event));
		this.body.addEventListener('dblclick', event => this.rowAt(event) && page.zoom());
	}

	/* Roots: what is below the zoomed scope, each but leaves swapped for its children as often as asked. */
	roots() {
		let roots = this.sorted(this.page.zoomed);
		for (let i = 0; i < this.page.state.flatten; i++) {
			const flat = roots.flatMap(scope => scope.children.length ? scope.children : [scope]);
			if (flat.length === roots.length && flat.every((scope, k) => scope === roots[k]))
				break;
			roots = flat;
		}
		return this.page.state.flatten ? roots.sort(this.order) : roots;
	}

	sorted(scope) {
		const wanted = this.page.state.sort + this.page.state.reverse;
		if (scope.orderedBy !== wanted) {
			scope.children.sort(this.order);
			scope.orderedBy = wanted;
		}
		return scope.children;
	}

	get order() {
		const column = this.columns.find(c => c.key === this.page.state.sort), reverse = this.page.state.reverse;
		const byName = (a, b) => nameOf(a).localeCompare(nameOf(b));
		const by = column ? compareBy(column, reverse) : (a, b) => reverse ? byName(b, a) : byName(a, b);
		return (a, b) => by(a, b) || byName(a, b);
	}

	/* All rows anew; the cursor stays on its scope where that is in sight. */
	rebuild(wanted = this.current) {
		const rows = [], pending = [];
		const push = (scopes, depth) => {
			for (let i = scopes.length - 1; i >= 0; i--)
				pending.push([scopes[i], depth]);
		};
		rows.push([this.page.zoomed, 0]);
		push(this.roots(), 1);
		while (pending.length) {
			const row = pending.pop();
			rows.push(row);
			if (row[0].open)
				push(this.sorted(row[0]), row[1] + 1);
		}
		this.rows = rows;
		this.cursor = Math.max(0, rows.findIndex(row => row[0] === wanted));
		this.body.style.height = rows.length * ROW + 'px';
		this.box.setAttribute('aria-rowcount', rows.length + 1);
		this.drawHead();
		this.draw(true);
	}

	get current() {
		return this.rows[this.cursor] && this.rows[this.cursor][0];
	}

	visible() {
		return this.columns.filter(column => !this.page.state.hidden.includes(column.key));
	}

	drawHead() {
		const {sort, reverse} = this.page.state;
		const cell = (key, title, part, help) => {
			const on = sort === key;
			const order = on ? (key === 'name') !== reverse ? 'ascending' : 'descending' : 'none';
			return make('div', {role: 'columnheader', class: key === 'name' ? 'name' : 'number', 'aria-sort': order},
				make('button', {type: 'button', tabindex: '-1', title: help, 'data-sort': key,
					onclick: () => this.page.sortBy(key)},
				make('span', {class: 'title'}, title), make('span', {class: 'part'}, part + (on ?
					order === 'ascending' ? ' ▲' : ' ▼' : ''))));
		};
		this.head.replaceChildren(cell('name', this.page.viewTitle, 'scope', 'Sort by name'),
			...this.visible().map(c => cell(c.key, c.title, c.part, c.help)));
		byId('table').style.setProperty('--columns', this.visible().length);
	}

	draw(anew = false) {
		const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - AROUND);
		const end = Math.min(this.rows.length, first + Math.ceil(this.box.clientHeight / ROW) + 2 * AROUND);
		if (!anew && this.drawn && this.drawn[0] === first && this.drawn[1] === end)
			return;
		this.drawn = [first, end];
		const rows = [];
		for (let i = first; i < end; i++)
			rows.push(this.row(i));
		this.body.replaceChildren(...rows);
		this.point();
	}

	row(i) {
		const [scope, depth] = this.rows[i], open = scope === this.page.zoomed || scope.open;
		const leaf = scope.kids ? !scope.kids.length : scope.kind === 'instruction' || scope.kind === 'note' && false;
		const image = ['function', 'note', 'inlined'].includes(scope.kind) ? imageOf(scope) : null;
		const hit = this.matched && scope.f >= 0 && this.matched[scope.f] && scope.kind !== 'loop';
		const path = nameOf(scope), apart = ['image', 'file'].includes(scope.kind);
		const name = apart ? lastComponent(path) : path;
		const title = make('div', {role: 'gridcell', class: 'name', title: describe(scope) +
			(scope.tree.look.settings.inlined && scope.kind === 'inlined' ? '\ninlined' : '')},
		make('span', {class: 'indent', style: `width:${Math.min(depth, 40) * 14}px`}),
		make('span', {class: 'twisty', 'aria-hidden': 'true'}, leaf || !depth ? '' : open ? '▾' : '▸'),
		make('span', {class: 'icon ' + scope.kind, 'aria-hidden': 'true'}, ICONS[scope.kind]),
		make('bdi', {class: 'text'}, clip(name, NAME_MAX)), make('bdi', {class: 'place'}, apart ? clip(path.slice(0, -name.length), NAME_MAX) : placeOf(scope)),
		image && (!scope.parent || image !== imageOf(scope.parent)) ?
			make('bdi', {class: 'image'}, clip(image.path.slice(image.path.lastIndexOf('/') + 1), 60)) : '');
		const row = make('div', {role: 'row', id: 'row' + i, class: 'row' + (hit ? ' hit' : '') +
			(isKernel(scope) ? ' kernel' : ''), style: `top:${i * ROW}px`, 'aria-level': depth + 1,
			'aria-rowindex': i + 2, 'aria-expanded': leaf ? null : String(open), 'data-row': i,
			'data-kind': scope.kind}, title);
		for (const column of this.visible())
			row.append(this.cell(column, scope));
		return row;
	}

	cell(column, scope) {
		const percent = column.percent ? column.percent(scope) : '', text = column.text(scope);
		const value = column.signed ? column.value(scope) : null;
		const cell = make('div', {role: 'gridcell', class: 'number' + (column.quiet && column.quiet(scope) ? ' quiet' :
			value > 0 ? ' worse' : value < 0 ? ' better' : '') + (column.key === this.page.state.sort ? ' sorted' : '')},
		make('span', {class: 'count'}, text));
		if (column.percent)
			cell.append(make('span', {class: 'percent'}, percent ? percent + '%' : ''));
		if (column.share && column.share(scope) > 0)
			cell.style.setProperty('--part', Math.min(1, column.share(scope)).toFixed(4));
		return cell;
	}

	/* Shows where the cursor is. */
	point() {
		for (const row of this.body.children)
			row.setAttribute('aria-selected', String(Number(row.dataset.row) === this.cursor));
		this.box.setAttribute('aria-activedescendant', 'row' + this.cursor);
	}

	reveal() {
		const top = this.cursor * ROW, room = this.box.clientHeight - this.head.offsetHeight;
		if (top < this.box.scrollTop)
			this.box.scrollTop = top;
		else if (top + ROW > this.box.scrollTop + room)
			this.box.scrollTop = top + ROW - room;
		this.draw();
		this.point();
	}

	moveTo(i) {
		this.cursor = Math.max(0, Math.min(this.rows.length - 1, i));
		this.reveal();
		this.page.selected();
	}

	/* Opens what is around a scope, and goes there. */
	goTo(scope) {
		for (let s = scope.parent; s && s !== this.page.zoomed; s = s.parent)
			s.open = true;
		this.rebuild(scope);
		this.reveal();
		this.page.selected();
	}

	rowAt(event) {
		const row = event.target.closest('.row');
		return row && Number(row.dataset.row) >= 0 ? row : null;
	}

	click(event) {
		const row = this.rowAt(event);
		if (!row)
			return;
		this.moveTo(Number(row.dataset.row));
		if (event.target.classList.contains('twisty'))
			this.toggle();
		this.box.focus({preventScroll: true});
	}

	toggle(open = !this.current.open) {
		const scope = this.current;
		if (scope === this.page.zoomed || scope.open === open || (open && !scope.children.length))
			return false;
		scope.open = open;
		this.rebuild(scope);
		this.reveal();
		return true;
	}

	/* To what is below, or around. */
	inwards() {
		if (!this.toggle(true) && this.rows[this.cursor + 1] && this.rows[this.cursor + 1][1] > this.rows[this.cursor][1])
			this.moveTo(this.cursor + 1);
	}

	outwards() {
		if (this.current.open && this.current !== this.page.zoomed && this.toggle(false))
			return;
		const depth = this.rows[this.cursor][1];
		for (let i = this.cursor - 1; i >= 0; i--)
			if (this.rows[i][1] < depth)
				return this.moveTo(i);
	}

	/* Opens the child that has at least half of what its parent has, again and again. */
	hotPath() {
		const column = this.columns.find(c => c.key === this.page.state.sort && c.share) || this.columns[0];
		let scope = this.current;
		for (;;) {
			const most = [...scope.children].sort(compareBy(column, false))[0];
			if (!most || !(column.value(most) >= column.value(scope) / 2) || most.kind === 'instruction')
				break;
			if (scope !== this.page.zoomed)
				scope.open = true;
			scope = most;
		}
		this.goTo(scope);
	}

	pageRows() {
		return Math.max(1, Math.floor((this.box.clientHeight - this.head.offsetHeight) / ROW) - 1);
	}
}
