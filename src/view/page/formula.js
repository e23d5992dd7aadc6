/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * Derived metrics as culprit-metrics(7) has them: the same language, errors and values as those of
 * analyze/query/metric.c, against which tests/browser/view.mjs holds this. The events of the databases on
 * a page that has several are named with the database's number, "cycles [2]"; without, the first is meant.
 */
const STEPS_MAX = 256, NESTING_MAX = 64, EVENTS_MAX = 8, TEXT_MAX = 4096;
const WORD = /[A-Za-z0-9_.:]/;

class Parser {
	constructor(text) {
		Object.assign(this, {text, at: 0, steps: [], events: [], nesting: 0});
	}

	fail(at, what) {
		const rest = this.text.slice(at, at + 12);
		throw new Error(`position ${at + 1} (${rest ? `at '${rest}'` : 'its end'}): ${what}`);
	}

	skip() {
		while (/\s/.test(this.text[this.at] || ''))
			this.at++;
	}

	take(c) {
		this.skip();
		if (this.text[this.at] !== c)
			return false;
		this.at++;
		return true;
	}

	step(at, step) {
		if (this.steps.length === STEPS_MAX)
			this.fail(at, 'the formula is too long');
		this.steps.push(step);
	}

	name() {
		const begin = this.at;
		if (this.text[begin] === '"') {
			const end = this.text.indexOf('"', begin + 1);
			if (end < 0)
				this.fail(begin, 'the quote is not closed');
			this.at = end + 1;
			return end > begin + 1 ? this.text.slice(begin + 1, end) : this.fail(begin, 'the name is empty');
		}
		while (WORD.test(this.text[this.at] || '') ||
			(this.text[this.at] === '-' && WORD.test(this.text[this.at + 1] || '')))
			this.at++;
		return this.text.slice(begin, this.at);
	}

	event(op, name, at) {
		let index = this.events.indexOf(name);
		if (index < 0) {
			if (this.events.length === EVENTS_MAX)
				this.fail(at, 'a formula may have 8 events');
			index = this.events.push(name) - 1;
		}
		this.step(at, {op, event: index});
	}

	close() {
		if (!this.take(')'))
			this.fail(this.at, "')' is missing");
	}

	named() {
		const at = this.at, name = this.name();
		if (this.text[at] === '"' || !this.take('('))
			return this.event('event', name, at);
		if (name === 'min' || name === 'max') {
			this.sum();
			if (!this.take(','))
				this.fail(this.at, 'expected two values, separated by a comma');
			this.sum();
			this.close();
			return this.step(at, {op: name});
		}
		if (name !== 'samples' && name !== 'total')
			this.fail(at, 'no such function; the functions are min, max, samples, total');
		this.skip();
		if (!/["A-Za-z_]/.test(this.text[this.at] || ''))
			this.fail(this.at, 'expected the name of an event');
		const begin = this.at;
		this.event(name, this.name(), begin);
		return this.close();
	}

	number() {
		const found = /^(0[xX][0-9a-fA-F]+|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)/.exec(this.text.slice(this.at));
		const value = found ? Number(found[0]) : NaN;
		if (!Number.isFinite(value))
			this.fail(this.at, 'this is not a number');
		const end = this.at + found[0].length;
		if (WORD.test(this.text[end] || ''))
			this.fail(end, 'expected an operator');
		this.at = end;
		this.step(end, {op: 'number', number: value});
	}

	factor() {
		if (++this.nesting > NESTING_MAX)
			this.fail(this.at, 'nested too deeply');
		this.skip();
		const at = this.at, c = this.text[at] || '';
		if (this.take('-')) {
			this.factor();
			this.step(at, {op: 'neg'});
		} else if (this.take('(')) {
			this.sum();
			this.close();
		} else if (/[\d.]/.test(c)) {
			this.number();
		} else if (/["A-Za-z_]/.test(c)) {
			this.named();
		} else {
			this.fail(at, "expected a number, an event or '('");
		}
		this.nesting--;
	}

	chain(operand, operators) {
		operand.call(this);
		for (;;) {
			this.skip();
			const at = this.at, op = this.text[at];
			if (!op || !operators.includes(op))
				return;
			this.at++;
			operand.call(this);
			this.step(at, {op});
		}
	}

	sum() {
		this.chain(() => this.chain(this.factor, '*/'), '+-');
	}
}

/* The event that a name means: by its label, else by its name, also without its modifiers. */
function findEvent(events, name) {
	const label = events.find(event => event.label === name) || events.find(event => event.name === name);
	if (label)
		return label;
	const found = events.filter(event => event.set === 0 && event.plain.startsWith(name) &&
		(event.plain.length === name.length || event.plain[name.length] === ':'));
	if (found.length > 1)
		throw new Error(`'${name}' matches ${found.length} events; write NAME:PERIOD or NAME:MODIFIERS`);
	if (!found.length)
		throw new Error(`there is no event '${name}'; the events are: ${events.map(event => event.label).join(', ')}`);
	return found[0];
}

/* "NAME = FORMULA" over events. Throws an Error whose message is for the user. */
export function parseMetric(text, events) {
	const parser = new Parser(text);
	if (text.length > TEXT_MAX)
		throw new Error(`a metric of more than ${TEXT_MAX} characters`);
	parser.skip();
	if (!/["A-Za-z_]/.test(text[parser.at] || ''))
		parser.fail(parser.at, 'a metric begins with its name, as in ipc = instructions / cycles');
	const name = parser.name();
	if (!parser.take('='))
		parser.fail(parser.at, "'=' is missing after the name");
	parser.skip();
	const formula = text.slice(parser.at);
	parser.sum();
	parser.skip();
	if (parser.at < text.length)
		parser.fail(parser.at, 'expected an operator, or the end');
	return {name, formula, text, steps: parser.steps, bound: parser.events.map(event => findEvent(events, event))};
}

/* Of samples of each event; null: it has no value. */
export function metricValue(metric, samples) {
	const stack = [];
	const units = event => event.units || 1;
	const apply = {'+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b,
		'/': (a, b) => b ? a / b : NaN, min: Math.min, max: Math.max};
	for (const step of metric.steps) {
		const event = metric.bound[step.event];
		if (step.op === 'number')
			stack.push(step.number);
		else if (step.op === 'event')
			stack.push(samples[event.index] * units(event));
		else if (step.op === 'samples')
			stack.push(samples[event.index]);
		else if (step.op === 'total')
			stack.push(event.total * units(event));
		else if (step.op === 'neg')
			stack.push(-stack.pop());
		else
			stack.push(apply[step.op](...stack.splice(-2)));
	}
	return Number.isFinite(stack[0]) ? stack[0] : null;
}
