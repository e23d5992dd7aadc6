/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

export const INLINED = 1, KERNEL = 2, NOTE = 4;
const UNKNOWN_IMAGE = 9, NOTE_IMAGE = 10;

/* The page's data: base64 of gzip of JSON. */
export async function unpack(text) {
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return JSON.parse(await new Response(stream).text());
}

/*
 * The profile as view_json.c tells it: addresses (frames) with their functions, inlined functions,
 * lines and loops; samples by address (flat), and stacks as a tree of addresses (nodes), each parent
 * before its children.
 */
export class Profile {
	constructor(data) {
		this.data = data;
		this.strings = data.strings;
		this.sets = data.sets.map(set => ({...set, name: this.strings[set.name]}));
		this.several = this.sets.length > 1;
		this.readNames(data);
		this.readFrames(data);
		this.readSamples(data);
		this.code = new Map();
		for (const code of data.code)
			this.addCode(code);
		this.sources = new Map(data.sources.map(source => [source.file, source]));
		this.causes = data.causes;
	}

	/* What the server told of one function, with the names, addresses and loops that are new with it. */
	extend(more) {
		const data = this.data, join = (name, from, fields = 1) => {
			/* Another answer may have told of a part of them already. */
			data[name] = data[name].slice(0, from * fields).concat(more[name]);
		};
		const [strings, functions, places, frames, loops] = more.from;
		join('strings', strings);
		join('functions', functions, 4);
		join('places', places, 3);
		for (const name of ['frameImage', 'frameOffset', 'framePlace', 'framePlaces', 'frameLoop'])
			join(name, frames);
		for (const name of ['loopParent', 'loopFrame', 'loopIrreducible'])
			join(name, loops);
		this.strings = data.strings;
		this.readNames(data);
		this.readFrames(data);
		this.readLoopLines();
		more.code.forEach(code => this.addCode(code));
		more.sources.forEach(source => this.sources.set(source.file, source));
	}

	addCode(code) {
		const f = this.sameFunction[code.f], known = this.code.get(f);
		/* Of several databases the first with samples is shown. */
		if (!known || (!known.samples && code.samples))
			this.code.set(f, code);
	}

	readNames(data) {
		const strings = this.strings, paths = new Map(), functions = new Map();
		this.images = [];
		for (let i = 0; i < data.images.length; i += 4) {
			const [path, id, base, kind] = data.images.slice(i, i + 4);
			this.images.push({index: i / 4, path: strings[path], id, base, kind,
				note: kind === NOTE_IMAGE, unknown: kind === UNKNOWN_IMAGE});
		}
		/* With several databases, an image is what has its path, whatever build it is, and a function
		 * what has its name there: that is what is to be compared. */
		this.sameImage = this.images.map((image, i) => {
			if (!this.several)
				return i;
			if (!paths.has(image.path))
				paths.set(image.path, i);
			return paths.get(image.path);
		});
		this.functions = [];
		this.sameFunction = [];
		for (let i = 0; i < data.functions.length; i += 4) {
			const [name, image, flags, start] = data.functions.slice(i, i + 4);
			const f = {index: i / 4, name: strings[name], image: this.sameImage[image], flags, start, file: 0};
			const key = name + ' ' + f.image + ' ' + flags;
			this.functions.push(f);
			if (this.several && !functions.has(key))
				functions.set(key, f.index);
			this.sameFunction.push(this.several ? functions.get(key) : f.index);
		}
	}

	readFrames(data) {
		const places = data.places.length / 3;
		this.placeFunction = new Int32Array(places);
		this.placeFile = new Int32Array(places);
		this.placeLine = new Int32Array(places);
		for (let i = 0; i < places; i++) {
			const f = this.sameFunction[data.places[3 * i]];
			this.placeFunction[i] = f;
			this.placeFile[i] = data.places[3 * i + 1];
			this.placeLine[i] = data.places[3 * i + 2];
			const known = this.functions[f], line = this.placeLine[i];
			if (!known.file)
				known.file = this.placeFile[i];
			if (line && known.file === this.placeFile[i] && !(known.line <= line))
				known.line = line; /* the first that was seen */
		}
		this.frameImage = Int32Array.from(data.frameImage);
		this.frameOffset = Float64Array.from(data.frameOffset);
		this.framePlace = Int32Array.from(data.framePlace);
		this.framePlaces = Int32Array.from(data.framePlaces);
		this.frameLoop = Int32Array.from(data.frameLoop);
		this.loopParent = Int32Array.from(data.loopParent);
		this.loopFrame = Int32Array.from(data.loopFrame);
		this.loopIrreducible = data.loopIrreducible;
		this.loopLines = new Map(); /* the least and greatest line seen in each */
		this.sameLoop = this.joinLoops();
		this.frameLoops = new Map();
	}

	/* With several databases, loops of one function whose headers are on one line are one. */
	joinLoops() {
		const known = new Map(), same = new Int32Array(this.loopParent.length);
		for (let i = 0; i < same.length; i++) {
			const frame = this.loopFrame[i], place = this.framePlace[frame] + this.framePlaces[frame] - 1;
			const parent = this.loopParent[i] < 0 ? -1 : same[this.loopParent[i]];
			const key = [this.placeFunction[this.framePlace[frame]], this.placeFile[place],
				this.placeLine[place], parent].join(' ');
			same[i] = i;
			if (!this.several || !this.placeLine[place])
				continue;
			if (known.has(key))
				same[i] = known.get(key);
			else
				known.set(key, i);
		}
		return same;
	}

	readSamples(data) {
		const count = data.nodeUp.length, index = new Map();
		this.events = data.events.map((event, i) => ({...event, index: i, name: this.strings[event.name],
			plain: this.strings[event.plain]}));
		for (const event of this.events)
			event.label = this.several ? `${event.name} [${event.set + 1}]` : event.name;
		this.nodeCount = count;
		this.parent = new Int32Array(count);
		for (let i = 0; i < count; i++)
			this.parent[i] = data.nodeUp[i] ? i - data.nodeUp[i] : -1;
		this.nodeFrame = Int32Array.from(data.nodeFrame);
		this.self = this.events.map(() => new Float64Array(count));
		for (let i = 0; i < data.selfNode.length; i++)
			this.self[data.selfEvent[i]][data.selfNode[i]] += data.selfCount[i];
		for (const frame of data.flatFrame)
			if (!index.has(frame))
				index.set(frame, index.size);
		this.flatFrame = Int32Array.from(index.keys());
		this.flat = this.events.map(() => new Float64Array(index.size));
		for (let i = 0; i < data.flatFrame.length; i++)
			this.flat[data.flatEvent[i]][index.get(data.flatFrame[i])] += data.flatCount[i];
		/* First child and next sibling of each node; slot count has the roots. */
		this.first = new Int32Array(count + 1).fill(-1);
		this.next = new Int32Array(count);
		for (let i = count - 1; i >= 0; i--) {
			const parent = this.parent[i] < 0 ? count : this.parent[i];
			this.next[i] = this.first[parent];
			this.first[parent] = i;
		}
		this.readLoopLines();
	}

	/* Loops are named by the lines that were seen in them. */
	readLoopLines() {
		for (let frame = 0; frame < this.frameLoop.length; frame++) {
			for (let loop = this.frameLoop[frame]; loop >= 0; loop = this.loopParent[loop]) {
				const same = this.sameLoop[loop], header = this.loopFrame[same];
				const level = this.levelOf(same, frame);
				const file = this.placeFile[this.framePlace[header] + this.levelOf(same, header)];
				const place = this.framePlace[frame] + level, line = this.placeLine[place];
				if (!line || this.placeFile[place] !== file)
					continue;
				const range = this.loopLines.get(same);
				if (!range)
					this.loopLines.set(same, {file, first: line, last: line});
				else if (line < range.first)
					range.first = line;
				else if (line > range.last)
					range.last = line;
			}
		}
	}

	/* At which level of a frame's functions a loop around it is: that of the innermost one that has the
	 * loop's header too. */
	levelOf(loop, frame) {
		const header = this.loopFrame[loop], a = this.framePlace[header], b = this.framePlace[frame];
		const most = Math.min(this.framePlaces[header], this.framePlaces[frame]);
		let level = 0;
		while (level + 1 < most && this.placeFunction[a + level + 1] === this.placeFunction[b + level + 1])
			level++;
		return level;
	}

	/* The loops around a frame at each level of its functions, the outermost first. */
	loopsOf(frame) {
		let levels = this.frameLoops.get(frame);
		if (levels)
			return levels;
		const chain = [];
		for (let loop = this.frameLoop[frame]; loop >= 0; loop = this.loopParent[loop])
			chain.push(loop);
		levels = Array.from({length: this.framePlaces[frame]}, () => []);
		let least = 0;
		for (const loop of chain.reverse()) {
			least = Math.max(least, this.levelOf(loop, frame));
			levels[least].push(this.sameLoop[loop]);
		}
		this.frameLoops.set(frame, levels);
		return levels;
	}

	addressOf(frame) {
		return BigInt(this.images[this.frameImage[frame]].base) + BigInt(this.frameOffset[frame]);
	}

	fileName(file) {
		return this.strings[file] || '';
	}
}
