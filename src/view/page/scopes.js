/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
import {compile, lastComponent} from './text.js';
import {INLINED, KERNEL, NOTE} from './profile.js';

/*
 * The trees of the page. A scope's children are made when they are first looked at, so that opening a
 * page costs what can be seen, not what there is.
 *
 * A level is a function at a frame: of the place that the frame's address has in it, number 0 is the
 * function that contains the code, the next ones what was inlined there. A scope of a function stands for
 * targets, pairs of a node and a level; its items are what happens in them: samples of their own, inlined
 * functions, calls. Items stand at a position (a frame and a level), which says in which loops and at which
 * line they are.
 */
export const KINDS = ['program', 'image', 'file', 'function', 'inlined', 'loop', 'line', 'instruction', 'note'];

export const DEFAULT_LOOK = {focus: '', ignore: '', hide: '', fold: [], recursion: false, inlined: true, loops: true,
	lines: true};

/* What is left of a profile under the filters: weights of the nodes, and what is part of what. */
export class Look {
	constructor(profile, settings) {
		this.profile = profile;
		this.settings = settings;
		this.folded = new Set(settings.fold);
		this.hidden = this.match(settings.hide);
		this.keepStacks();
		this.joinRecursion();
		this.addUp();
	}

	match(text) {
		const expression = compile(text);
		return expression && Uint8Array.from(this.profile.functions, f => expression.test(f.name) ? 1 : 0);
	}

	/* Samples of stacks that have a function in focus, and none that is ignored. */
	keepStacks() {
		const p = this.profile, focus = this.match(this.settings.focus), ignore = this.match(this.settings.ignore);
		this.filtered = Boolean(focus || ignore);
		this.self = p.self;
		if (!this.filtered)
			return;
		const seen = new Uint8Array(p.nodeCount);
		this.self = p.self.map(self => Float64Array.from(self));
		for (let n = 0; n < p.nodeCount; n++) {
			let flags = p.parent[n] < 0 ? 0 : seen[p.parent[n]];
			const first = p.framePlace[p.nodeFrame[n]], end = first + p.framePlaces[p.nodeFrame[n]];
			for (let place = first; place < end; place++) {
				const f = p.placeFunction[place];
				flags |= (focus && focus[f] ? 1 : 0) | (ignore && ignore[f] ? 2 : 0);
			}
			seen[n] = flags;
			if ((focus && !(flags & 1)) || (flags & 2))
				for (const self of this.self)
					self[n] = 0;
		}
	}

	/* With recursion collapsed a call of a function that is under way is part of its outermost call:
	 * owner is that call's node. bodies: the next node of the same owner. */
	joinRecursion() {
		const p = this.profile;
		this.owner = null;
		if (!this.settings.recursion)
			return;
		this.owner = new Int32Array(p.nodeCount);
		this.bodies = new Int32Array(p.nodeCount).fill(-1);
		const last = new Int32Array(p.nodeCount);
		const functionOf = n => p.placeFunction[p.framePlace[p.nodeFrame[n]]];
		for (let n = 0; n < p.nodeCount; n++) {
			this.owner[n] = last[n] = n;
			for (let m = p.parent[n]; m >= 0; m = p.parent[this.owner[m]]) {
				if (functionOf(this.owner[m]) !== functionOf(n))
					continue;
				const owner = this.owner[n] = this.owner[m];
				this.bodies[last[owner]] = n;
				last[owner] = n;
				break;
			}
		}
	}

	/* With what was called: totals of nodes, and of each body of a joined one alone. */
	addUp() {
		const p = this.profile;
		this.body = this.self.map(self => Float64Array.from(self));
		for (const body of this.body) {
			for (let n = p.nodeCount - 1; n >= 0; n--) {
				const parent = p.parent[n];
				if (parent >= 0 && (!this.owner || this.owner[n] === n))
					body[parent] += this.totalOf(body, n);
			}
		}
		this.totals = this.body;
		if (this.owner)
			this.totals = this.body.map(body => Float64Array.from(body, (_, n) => this.totalOf(body, n)));
	}

	totalOf(body, n) {
		let sum = body[n];
		for (let m = this.owner ? this.bodies[n] : -1; m >= 0 && this.owner[n] === n; m = this.bodies[m])
			sum += body[m];
		return sum;
	}

	levels(frame) {
		return this.settings.inlined ? this.profile.framePlaces[frame] : 1;
	}

	functionAt(frame, level) {
		return this.profile.placeFunction[this.profile.framePlace[frame] + level];
	}

	/* Whether a function's row is part of that of the function around it (-1: none). */
	isPart(f, around) {
		if (this.hidden && this.hidden[f])
			return true;
		const image = this.profile.functions[f].image;
		return around >= 0 && this.folded.has(image) && this.profile.functions[around].image === image;
	}

	loopsAt(frame, level) {
		if (frame < 0 || !this.settings.loops)
			return [];
		const loops = this.profile.loopsOf(frame);
		return this.settings.inlined ? loops[level] : loops.flat();
	}
}

export class Scope {
	constructor(tree, parent, kind, key) {
		Object.assign(this, {tree, parent, kind, key, depth: parent ? parent.depth + 1 : 0, kids: null, open: false,
			items: null, targets: null, f: -1, loop: -1, frame: -1, file: 0, line: 0, image: -1, sums: null, owns: null});
	}

	get children() {
		if (!this.kids)
			this.kids = this.tree.expand(this);
		return this.kids;
	}

	/* Samples of each event, with what was called; and without. null: not known of this kind of scope. */
	get inclusive() {
		return this.sums || (this.sums = this.tree.sum(this));
	}

	get exclusive() {
		return this.owns || (this.owns = this.tree.own(this));
	}

	get path() {
		const path = [];
		for (let s = this; s.parent; s = s.parent)
			path.unshift(s.key);
		return path;
	}

	isBelow(other) {
		let s = this;
		while (s && s !== other)
			s = s.parent;
		return s === other;
	}

	/* The nearest scope outwards, itself first, that is a function; null: none. */
	get around() {
		let s = this;
		while (s && s.f < 0)
			s = s.parent;
		return s;
	}
}

/* What all trees have in common: how items become children. */
class Tree {
	constructor(look) {
		this.look = look;
		this.profile = look.profile;
		this.eventCount = this.profile.events.length;
		this.root = new Scope(this, null, 'program', '');
	}

	zeros() {
		return new Float64Array(this.eventCount);
	}

	functionScope(parent, f) {
		const p = this.profile, folded = this.look.folded.has(p.functions[f].image);
		const flags = p.functions[f].flags;
		const scope = new Scope(this, parent, flags & NOTE ? 'note' : flags & INLINED && !folded ? 'inlined' : 'function',
			folded ? 'F' + p.functions[f].image : 'f' + f);
		scope.f = f;
		scope.targets = [];
		scope.file = p.functions[f].file;
		scope.line = p.functions[f].line || 0;
		return scope;
	}

	/* Children of items: loops at this depth of them, else what they are. */
	group(scope, items, depth) {
		const p = this.profile, groups = new Map();
		const get = (key, begin) => {
			let kid = groups.get(key);
			if (!kid) {
				kid = begin();
				groups.set(key, kid);
			}
			return kid;
		};
		for (const item of items) {
			const loops = this.look.loopsAt(item.frame, item.level);
			if (depth < loops.length) {
				get('L' + loops[depth], () => this.loopScope(scope, loops[depth], depth)).items.push(item);
			} else if (item.to < 0) {
				if (this.look.settings.lines)
					this.addLine(scope, item, get);
			} else {
				const f = this.look.functionAt(item.target, item.to);
				const key = this.look.folded.has(p.functions[f].image) ? 'F' + p.functions[f].image : 'f' + f;
				const kid = get(key, () => this.functionScope(scope, f));
				kid.targets.push(item);
				this.addCall(kid, item);
			}
		}
		return [...groups.values()].filter(kid => kid.inclusive.some(n => n > 0));
	}

	/* Calls of one line are said to be there. */
	addCall(kid, item) {
		const p = this.profile;
		if (item.frame < 0)
			return;
		const place = p.framePlace[item.frame] + item.level, line = p.placeLine[place];
		if (kid.callLine === undefined)
			Object.assign(kid, {callLine: line, callFile: p.placeFile[place]});
		else if (kid.callLine !== line || kid.callFile !== p.placeFile[place])
			Object.assign(kid, {callLine: 0, callFile: 0});
	}

	loopScope(parent, loop, depth) {
		const p = this.profile, scope = new Scope(this, parent, 'loop', 'L' + loop);
		const lines = p.loopLines.get(loop);
		Object.assign(scope, {loop, items: [], loopDepth: depth + 1, frame: p.loopFrame[loop]});
		if (lines)
			Object.assign(scope, {file: lines.file, line: lines.first, lastLine: lines.last});
		return scope;
	}

	addLine(scope, item, get) {
		const p = this.profile, place = item.frame < 0 ? -1 : p.framePlace[item.frame] + item.level;
		const line = place < 0 ? 0 : p.placeLine[place], file = place < 0 ? 0 : p.placeFile[place];
		if (scope.kind === 'note' || place < 0)
			return;
		if (line) {
			get('l' + file + ':' + line, () => {
				const kid = new Scope(this, scope, 'line', 'l' + file + ':' + line);
				return Object.assign(kid, {file, line, items: [], frame: item.frame});
			}).items.push(item);
		} else {
			get('i' + item.source, () => this.instructionScope(scope, item)).items.push(item);
		}
	}

	instructionScope(parent, item) {
		const scope = new Scope(this, parent, 'instruction', 'i' + item.source);
		return Object.assign(scope, {frame: item.source, items: [], kids: [], file: parent.file, line: parent.line});
	}

	/* The instructions of a line. */
	instructions(scope) {
		const groups = new Map();
		for (const item of scope.items) {
			if (!groups.has(item.source))
				groups.set(item.source, this.instructionScope(scope, item));
			groups.get(item.source).items.push(item);
		}
		return [...groups.values()];
	}

	expand(scope) {
		if (scope.kind === 'line')
			return this.instructions(scope);
		if (scope.kind === 'loop')
			return this.group(scope, scope.items, scope.loopDepth);
		return this.group(scope, this.itemsOf(scope), 0);
	}

	sum(scope) {
		const sums = this.zeros();
		for (const item of scope.items || scope.targets || [])
			this.add(sums, item);
		return sums;
	}

	/* Of a function: all samples in its code; of a loop: those outside of the loops in it. */
	own(scope) {
		const sums = this.zeros();
		if (scope.kind === 'line' || scope.kind === 'instruction')
			return scope.inclusive;
		for (const item of scope.kind === 'loop' ? scope.items : scope.parent ? this.itemsOf(scope) : [])
			if (item.to < 0 && (scope.kind !== 'loop' ||
				this.look.loopsAt(item.frame, item.level).length === scope.loopDepth))
				this.add(sums, item);
		return sums;
	}
}

/* Callers above callees. */
export class TopDown extends Tree {
	/* of: only what these targets are and call, for the flame graph and the callees of a scope. */
	constructor(look, of = null) {
		super(look);
		this.of = of;
		this.name = 'down';
	}

	add(sums, item) {
		const from = item.to === 0 ? this.look.totals : item.to > 0 ? this.look.body : this.look.self;
		for (let e = 0; e < sums.length; e++)
			sums[e] += from[e][item.n];
	}

	itemsOf(scope) {
		const items = [], p = this.profile;
		if (scope.parent) {
			for (const target of scope.targets)
				this.emit(items, target.n, target.to, null, scope.f);
		} else if (this.of) {
			items.push(...this.of);
		} else {
			for (let n = p.first[p.nodeCount]; n >= 0; n = p.next[n])
				this.emitTarget(items, n, 0, null, -1);
		}
		return items;
	}

	sum(scope) {
		if (scope.parent)
			return super.sum(scope);
		const sums = this.zeros();
		for (const item of this.itemsOf(scope))
			this.add(sums, item);
		return sums;
	}

	/* A function at a level of a node, or what is in it where it is part of the one around. */
	emitTarget(items, n, level, position, around) {
		const frame = this.profile.nodeFrame[n], f = this.look.functionAt(frame, level);
		if (this.look.isPart(f, around))
			this.emit(items, n, level, position || {frame: -1, level: 0}, around);
		else
			items.push({n, to: level, target: frame, frame: position ? position.frame : -1,
				level: position ? position.level : 0, source: frame});
	}

	/* What happens in a target. fixed: the position of it all, where it is part of what is around. */
	emit(items, n, level, fixed, around) {
		const p = this.profile, pending = [[n, level, fixed]];
		while (pending.length) {
			const [first, at, position] = pending.pop();
			for (let m = first; m >= 0; m = at === 0 && this.look.owner ? this.look.bodies[m] : -1) {
				const frame = p.nodeFrame[m], here = position || {frame, level: at};
				const follow = (node, to) => {
					const target = p.nodeFrame[node];
					if (this.look.isPart(this.look.functionAt(target, to), around))
						pending.push([node, to, here]);
					else
						items.push({n: node, to, target, frame: here.frame, level: here.level, source: frame});
				};
				if (at + 1 < this.look.levels(frame)) {
					follow(m, at + 1);
					continue;
				}
				if (this.look.self.some(self => self[m] > 0))
					items.push({n: m, to: -1, target: -1, frame: here.frame, level: here.level, source: frame});
				for (let c = p.first[m]; c >= 0; c = p.next[c])
					if (!this.look.owner || this.look.owner[c] === c)
						follow(c, 0);
			}
		}
	}

	/* Which nodes have something below them, or are, what a search looks for. */
	mark(matched) {
		const p = this.profile;
		this.marked = new Uint8Array(p.nodeCount);
		for (let n = p.nodeCount - 1; n >= 0; n--) {
			const first = p.framePlace[p.nodeFrame[n]], end = first + p.framePlaces[p.nodeFrame[n]];
			for (let place = first; place < end && !this.marked[n]; place++)
				this.marked[n] = matched[p.placeFunction[place]];
			if (this.marked[n] && p.parent[n] >= 0)
				this.marked[p.parent[n]] = 1;
		}
	}

	mayHold(scope) {
		return !this.marked || this.look.owner || !scope.parent ||
			(scope.targets || scope.items).some(item => this.marked[item.n]);
	}
}

/* Where samples were taken, then who called: each scope's samples are those of the function at the top of
 * it that came through here. */
export class BottomUp extends Tree {
	constructor(look) {
		super(look);
		this.name = 'up';
	}

	/* The next function outwards; null: the stack begins here. */
	outwards(n, level) {
		const p = this.profile;
		let node = n, at = level - 1;
		for (;;) {
			if (at < 0) {
				node = p.parent[this.look.owner ? this.look.owner[node] : node];
				if (node < 0)
					return null;
				at = this.look.levels(p.nodeFrame[node]) - 1;
			}
			const f = this.look.functionAt(p.nodeFrame[node], at);
			if (!(this.look.hidden && this.look.hidden[f]))
				return {n: node, level: at, f};
			at--;
		}
	}

	expand(scope) {
		const p = this.profile, groups = new Map(), from = [];
		if (!scope.parent) {
			for (let n = 0; n < p.nodeCount; n++)
				if (this.look.self.some(self => self[n] > 0))
					from.push({leaf: n, next: this.outwards(n, this.look.levels(p.nodeFrame[n]))});
		} else {
			for (const item of scope.items)
				from.push({leaf: item.leaf, next: this.outwards(item.n, item.level)});
		}
		for (const {leaf, next} of from) {
			if (!next)
				continue;
			/* Within a folded library only where it was entered is told. */
			let {n, level, f} = next;
			const image = p.functions[f].image, folded = this.look.folded.has(image);
			for (let out = folded && this.outwards(n, level); out && p.functions[out.f].image === image;
				out = this.outwards(n, level))
				({n, level, f} = out);
			const key = folded ? 'F' + image : 'f' + f;
			if (!groups.has(key))
				groups.set(key, Object.assign(this.functionScope(scope, f), {items: [], targets: null}));
			groups.get(key).items.push({leaf, n, level});
		}
		return [...groups.values()];
	}

	add(sums, item) {
		for (let e = 0; e < sums.length; e++)
			sums[e] += this.look.self[e][item.leaf];
	}

	sum(scope) {
		if (scope.parent)
			return super.sum(scope);
		return this.look.self.map(self => self.reduce((sum, n) => sum + n, 0));
	}

	/* Of the functions at the top all that they have is their own; of their callers nothing is. */
	own(scope) {
		return scope.depth === 1 ? scope.inclusive : this.zeros();
	}

	mayHold() {
		return true;
	}
}

/* What each scope has anywhere, with what was called: a sample counts once, however often it is there. */
class Everywhere {
	constructor(look) {
		const p = look.profile;
		Object.assign(this, {look, profile: p, sums: new Map(), outermost: new Map()});
		this.onPath = new Map();
		this.keys = new Map();
		this.walk();
	}

	/* The scopes that a node's frame is in. */
	keysOf(n) {
		const frame = this.profile.nodeFrame[n];
		if (!this.keys.has(frame))
			this.keys.set(frame, this.listKeys(frame));
		return this.keys.get(frame);
	}

	listKeys(frame) {
		const p = this.profile, first = p.framePlace[frame], keys = [];
		for (let level = 0; level < this.look.levels(frame); level++) {
			const f = p.placeFunction[first + level];
			keys.push('f' + f);
			for (const loop of this.look.loopsAt(frame, level))
				keys.push('L' + loop);
			if (p.placeLine[first + level])
				keys.push('l' + f + ' ' + p.placeFile[first + level] + ':' + p.placeLine[first + level]);
		}
		const outer = p.functions[p.placeFunction[first]];
		keys.push('m' + outer.image, 'd' + outer.image + ' ' + outer.file);
		return keys;
	}

	enter(n) {
		const frame = this.profile.nodeFrame[n];
		let level = -1;
		for (const key of this.keysOf(n)) {
			const within = this.onPath.get(key) || 0;
			if (key[0] === 'f')
				level++;
			this.onPath.set(key, within + 1);
			if (within)
				continue;
			let sums = this.sums.get(key);
			if (!sums)
				this.sums.set(key, sums = new Float64Array(this.look.self.length));
			for (let e = 0; e < sums.length; e++)
				sums[e] += this.plain[e][n];
			if (key[0] === 'f') {
				const list = this.outermost.get(+key.slice(1)) || [];
				list.push({n, to: level, target: frame, frame: -1, level: 0, source: frame});
				this.outermost.set(+key.slice(1), list);
			}
		}
	}

	leave(n) {
		for (const key of this.keysOf(n))
			this.onPath.set(key, this.onPath.get(key) - 1);
	}

	walk() {
		const p = this.profile;
		/* Totals with recursion as it was. */
		this.plain = this.look.self.map(self => {
			const totals = Float64Array.from(self);
			for (let n = p.nodeCount - 1; n >= 0; n--)
				if (p.parent[n] >= 0)
					totals[p.parent[n]] += totals[n];
			return totals;
		});
		for (let n = p.first[p.nodeCount]; n >= 0;) {
			this.enter(n);
			if (p.first[n] >= 0) {
				n = p.first[n];
				continue;
			}
			this.leave(n);
			while (n >= 0 && p.next[n] < 0) {
				n = p.parent[n];
				if (n >= 0)
					this.leave(n);
			}
			n = n < 0 ? -1 : p.next[n];
		}
	}
}

export function everywhere(look) {
	if (!look.everywhere)
		look.everywhere = new Everywhere(look);
	return look.everywhere;
}

/* By image, file and function, whoever called. */
export class Flat extends Tree {
	constructor(look) {
		super(look);
		this.name = 'flat';
		const p = this.profile;
		/* Of filtered stacks the samples at their ends; else all samples, which need no stacks. */
		if (look.filtered) {
			this.frames = p.nodeFrame;
			this.counts = look.self;
		} else {
			this.frames = p.flatFrame;
			this.counts = p.flat;
		}
	}

	add(sums, item) {
		for (let e = 0; e < sums.length; e++)
			sums[e] += this.counts[e][item.n];
	}

	/* Images, files and functions have their items; what is in a function has those at its level. */
	expand(scope) {
		if (!scope.parent)
			return this.images(scope);
		if (scope.kind === 'image')
			return this.files(scope);
		if (scope.kind === 'file')
			return this.functions(scope);
		return super.expand(scope);
	}

	all() {
		const items = [];
		for (let i = 0; i < this.frames.length; i++)
			if (this.counts.some(counts => counts[i] > 0))
				items.push({n: i, to: 0, target: this.frames[i], frame: -1, level: 0, source: this.frames[i]});
		return items;
	}

	split(scope, kind, keyOf, fill) {
		const groups = new Map();
		for (const item of scope.items || this.all()) {
			const key = keyOf(this.profile.functions[this.look.functionAt(item.target, 0)]);
			if (!groups.has(key)) {
				const kid = new Scope(this, scope, kind, kind[0] + key);
				fill(kid, this.profile.functions[this.look.functionAt(item.target, 0)]);
				groups.set(key, Object.assign(kid, {items: []}));
			}
			groups.get(key).items.push(item);
		}
		return [...groups.values()];
	}

	images(scope) {
		return this.split(scope, 'image', f => f.image, (kid, f) => {
			kid.image = f.image;
		});
	}

	files(scope) {
		/* Without debug information there is no file to tell of. */
		const fill = (kid, f) => Object.assign(kid, {image: f.image, file: f.file});
		const files = this.split(scope, 'file', f => f.file, fill);
		return files.flatMap(file => file.file ? [file] : this.functions(scope, file.items));
	}

	functions(scope, items = scope.items) {
		return this.group(scope, items, 0);
	}

	itemsOf(scope) {
		const items = [];
		if (!scope.targets)
			return scope.items || [];
		for (const target of scope.targets) {
			const frame = target.target;
			let level = target.to;
			/* What is hidden belongs to what is around it. */
			while (level + 1 < this.look.levels(frame) &&
				this.look.isPart(this.look.functionAt(frame, level + 1), scope.f))
				level++;
			const inner = level + 1 < this.look.levels(frame);
			items.push({n: target.n, to: inner ? level + 1 : -1, target: frame, frame, level: target.to, source: frame});
		}
		return items;
	}

	/* Of a function all that was taken in its code, with what was inlined there, as prof has it. */
	own(scope) {
		return scope.kind === 'loop' || scope.kind === 'inlined' || !scope.parent ? super.own(scope) : super.sum(scope);
	}

	/* With what was called, from the stacks; where there are none, what the scope has itself. */
	sum(scope) {
		const own = scope.parent ? super.sum(scope) : this.total();
		const sums = this.profile.nodeCount && scope.parent ? everywhere(this.look).sums.get(this.keyOf(scope)) : null;
		return sums ? own.map((n, e) => Math.max(n, sums[e])) : own;
	}

	total() {
		return this.counts.map(counts => counts.reduce((sum, n) => sum + n, 0));
	}

	keyOf(scope) {
		if (scope.kind === 'image')
			return 'm' + scope.image;
		if (scope.kind === 'file')
			return 'd' + scope.image + ' ' + scope.file;
		if (scope.kind === 'line' && scope.around)
			return 'l' + scope.around.f + ' ' + scope.file + ':' + scope.line;
		return scope.kind === 'instruction' ? '' : scope.key;
	}

	mayHold() {
		return true;
	}
}

/* What a scope is called, and where it is. */
export function nameOf(scope) {
	const p = scope.tree.profile;
	switch (scope.kind) {
	case 'program':
		return 'All samples';
	case 'image':
		return p.images[scope.image].path || '[unknown]';
	case 'file':
		return p.fileName(scope.file);
	case 'loop':
		return scope.line ? 'loop at ' + lastComponent(p.fileName(scope.file)) + ':' + scope.line +
			(scope.lastLine > scope.line ? '–' + scope.lastLine : '') :
			'loop at 0x' + p.addressOf(scope.frame).toString(16);
	case 'line':
		return lastComponent(p.fileName(scope.file)) + ':' + scope.line;
	case 'instruction':
		return '0x' + p.addressOf(scope.frame).toString(16);
	}
	if (scope.key[0] === 'F')
		return lastComponent(p.images[p.functions[scope.f].image].path);
	return p.functions[scope.f].name;
}

/* Of what it is a part, in few words. */
export function placeOf(scope) {
	const p = scope.tree.profile, f = scope.f >= 0 ? p.functions[scope.f] : null;
	if (!f)
		return '';
	if (f.flags & NOTE)
		return '';
	if (scope.callLine && scope.tree.name === 'down')
		return 'from line ' + scope.callLine;
	return '';
}

export function imageOf(scope) {
	const p = scope.tree.profile, around = scope.around;
	const image = scope.image >= 0 ? scope.image : around ? p.functions[around.f].image : -1;
	return image < 0 || p.images[image].note ? null : p.images[image];
}

export function isKernel(scope) {
	const around = scope.around;
	return Boolean(around && scope.tree.profile.functions[around.f].flags & KERNEL);
}
