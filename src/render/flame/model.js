/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
'use strict';

/*
 * The profile: calling contexts in preorder, as the page's data block has them (flame.h says how),
 * and the two trees that are shown of it. A tree's nodes are made when they are first looked at, so
 * that opening a page costs what can be seen, not what there is.
 */
class Profile {
	constructor(data) {
		this.data = data;
		this.strings = data.strings;
		this.events = data.events;
		this.metrics = data.metrics;
		this.eventTotals = new Map();
		this.functions = [];
		for (let i = 0; i < data.functions.length; i += 5) {
			const [name, image, file, line, kind] = data.functions.slice(i, i + 5);
			this.functions.push({id: i / 5, name: this.strings[name], image: this.strings[image],
				file: this.strings[file], line, kind});
		}
		this.count = data.up.length;
		this.frame = Uint32Array.from(data.frame);
		this.parent = new Int32Array(this.count);
		const path = [-1];
		for (let i = 0; i < this.count; i++) {
			path.length -= data.up[i];
			this.parent[i] = path[path.length - 1];
			path.push(i);
		}
		this.linkChildren();
		this.chooseEvent(0);
	}

	/* First child and next sibling of each node; slot count is the root's. */
	linkChildren() {
		this.first = new Int32Array(this.count + 1).fill(-1);
		this.next = new Int32Array(this.count);
		for (let i = this.count - 1; i >= 0; i--) {
			const parent = this.parent[i] < 0 ? this.count : this.parent[i];
			this.next[i] = this.first[parent];
			this.first[parent] = i;
		}
	}

	/* Samples of an event in each context and in what it called; slot count has the whole. */
	totalsOf(event) {
		if (!this.eventTotals.has(event)) {
			const totals = new Float64Array(this.count + 1);
			totals.set(this.data.self[event]);
			for (let i = this.count - 1; i >= 0; i--)
				totals[this.parent[i] < 0 ? this.count : this.parent[i]] += totals[i];
			this.eventTotals.set(event, totals);
		}
		return this.eventTotals.get(event);
	}

	chooseEvent(event) {
		this.chosen = event;
		this.event = this.events[event];
		this.self = Float64Array.from(this.data.self[event]);
		this.totals = this.totalsOf(event);
		this.total = this.totals[this.count];
	}

	/* A metric's steps, in reverse Polish order, of samples of each event; null: it has no value. */
	valueOf(metric, counts) {
		const stack = [];
		const apply = {'+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b,
			'/': (a, b) => b ? a / b : NaN, min: Math.min, max: Math.max};
		for (const step of metric.steps) {
			if (typeof step === 'number')
				stack.push(step);
			else if (Array.isArray(step))
				stack.push(counts[step[0]] * step[1]);
			else if (step === 'neg')
				stack.push(-stack.pop());
			else
				stack.push(apply[step](...stack.splice(-2)));
		}
		return Number.isFinite(stack[0]) ? stack[0] : null;
	}

	/* Samples with any of the marked functions on their stack. */
	shareOf(marked) {
		const inside = new Uint8Array(this.count);
		let sum = 0;
		for (let i = 0; i < this.count; i++) {
			inside[i] = marked[this.frame[i]] || (this.parent[i] >= 0 && inside[this.parent[i]]);
			if (inside[i])
				sum += this.self[i];
		}
		return sum;
	}

	/* Of one function wherever it stands: with what it called (recursion once), and alone. */
	sumsOf(id) {
		const marked = new Uint8Array(this.functions.length);
		let self = 0;
		marked[id] = 1;
		for (let i = 0; i < this.count; i++)
			if (this.frame[i] === id)
				self += this.self[i];
		return {total: this.shareOf(marked), self};
	}

	/* Samples by image, most first. */
	imageShares() {
		const shares = new Map();
		for (let i = 0; i < this.count; i++) {
			const image = this.functions[this.frame[i]].image;
			shares.set(image, (shares.get(image) || 0) + this.self[i]);
		}
		return [...shares].sort((a, b) => b[1] - a[1]);
	}
}

/*
 * A node: parent, depth, frame (a function's number, -1: the whole), start and total (samples left
 * of it, and in it), self, kids (null until expand), and from: the contexts that it stands for.
 */
class Tree {
	constructor(profile, of = -1) {
		this.profile = profile;
		this.of = of;
		this.sums = new Float64Array(profile.functions.length);
		this.root = {parent: null, depth: 0, frame: -1, start: 0, total: profile.total, self: 0,
			kids: null, from: null};
	}

	/* From [function, total, from] to nodes, widest first. */
	adopt(node, groups) {
		groups.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
		let start = node.start;
		node.kids = groups.map(([frame, total, from]) => {
			const kid = {parent: node, depth: node.depth + 1, frame, start, total, self: 0,
				kids: null, from};
			start += total;
			return kid;
		});
		return node.kids;
	}
}

/* Callers above callees: contexts with the same function are one, whatever the place of the call. */
class TopDown extends Tree {
	expand(node) {
		const p = this.profile, groups = new Map();
		if (node.kids)
			return node.kids;
		for (const i of node.from || [p.count]) {
			for (let kid = p.first[i]; kid >= 0; kid = p.next[kid]) {
				const group = groups.get(p.frame[kid]);
				if (!group) {
					groups.set(p.frame[kid], [p.frame[kid], p.totals[kid], [kid]]);
				} else {
					group[1] += p.totals[kid];
					group[2].push(kid);
				}
			}
		}
		return this.adopt(node, [...groups.values()].filter(group => group[1] > 0));
	}

	selfOf(node) {
		return node.from ? node.from.reduce((sum, i) => sum + this.profile.self[i], 0) : 0;
	}

	/* Samples of each event in a node. */
	countsOf(node) {
		const p = this.profile;
		return p.events.map((_, event) => (node.from || [p.count]).reduce((sum, i) =>
			sum + p.totalsOf(event)[i], 0));
	}
}

/*
 * Where the samples were taken first, then who called. With `of`, a function's number: from that one alone
 * out, by all that was taken in it and in what it called; of calls within calls the outermost counts.
 */
class BottomUp extends Tree {
	/* The samples of an event that a context in which a path begins stands for. */
	weights(event) {
		return this.of < 0 ? this.profile.data.self[event] : this.profile.totalsOf(event);
	}

	leaves() {
		const p = this.profile, leaves = [], inside = new Uint8Array(p.count);
		const asked = p.metrics.length ? [...p.events.keys()] : [p.chosen]; /* metrics are of all */
		for (let i = 0; i < p.count; i++) {
			const within = this.of >= 0 && p.parent[i] >= 0 && inside[p.parent[i]];
			inside[i] = within || p.frame[i] === this.of;
			if ((this.of < 0 || (inside[i] && !within)) && asked.some(event => this.weights(event)[i]))
				leaves.push(i);
		}
		return leaves;
	}

	expand(node) {
		const p = this.profile, groups = new Map(), weights = this.weights(p.chosen);
		/* leaf: where the samples were taken; at: the context on the way out from there. */
		const join = (at, leaf) => {
			const group = groups.get(p.frame[at]);
			if (!group) {
				groups.set(p.frame[at], [p.frame[at], weights[leaf], {at: [at], leaf: [leaf]}]);
			} else {
				group[1] += weights[leaf];
				group[2].at.push(at);
				group[2].leaf.push(leaf);
			}
		};
		if (node.kids)
			return node.kids;
		if (!node.from) {
			this.leaves().forEach(i => join(i, i));
		} else {
			node.from.at.forEach((at, i) => {
				if (p.parent[at] >= 0)
					join(p.parent[at], node.from.leaf[i]);
			});
		}
		return this.adopt(node, [...groups.values()].filter(group => group[1] > 0));
	}

	/* Samples whose stack begins here. */
	selfOf(node) {
		const p = this.profile, weights = this.weights(p.chosen);
		return !node.from ? 0 : node.from.at.reduce((sum, at, i) =>
			sum + (p.parent[at] < 0 ? weights[node.from.leaf[i]] : 0), 0);
	}

	countsOf(node) {
		const p = this.profile;
		return p.events.map((_, event) => node.from ?
			node.from.leaf.reduce((sum, i) => sum + this.weights(event)[i], 0) :
			p.totalsOf(event)[p.count]);
	}
}
