/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
import {formatCount, formatPercent, formatShort, formatTime} from './text.js';
import {metricValue} from './formula.js';

/*
 * The columns of the tree's table: of each event what a scope has with all that it called (total), and
 * without (self); of two databases the difference and the ratio; and metrics. A column: key, title (two
 * lines), value(scope) (null: none), text(scope), share(scope): of all, for the bar.
 */
const SURE = 3.29; /* standard errors: 0.1% of differences are as large by chance */

function eventColumn(event, inclusive, units) {
	const get = scope => (inclusive ? scope.inclusive : scope.exclusive)[event.index];
	const show = n => units && event.ns ? (n ? formatTime(n * event.ns) : '') : formatCount(units ? n * event.units : n);
	return {
		key: (inclusive ? 't' : 's') + event.index,
		title: event.label,
		part: inclusive ? 'total' : 'self',
		help: inclusive ? `${event.label}: samples in a scope and in all that it called` :
			`${event.label}: samples in a scope itself`,
		event,
		value: get,
		text: scope => show(get(scope)),
		percent: scope => formatPercent(get(scope), event.total),
		share: scope => event.total ? get(scope) / event.total : 0,
	};
}

/* Of the same event in two databases. Shares of the whole are compared: runs differ in length. */
function comparisonColumns(before, after) {
	const both = scope => [scope.inclusive[before.index], scope.inclusive[after.index]];
	const change = scope => {
		const [a, b] = both(scope);
		return a || b ? 100 * b / (after.total || 1) - 100 * a / (before.total || 1) : null;
	};
	/* By the counts' own noise (Poisson), of samples made comparable. */
	const sure = scope => {
		const [a, b] = both(scope), scale = (before.total || 1) / (after.total || 1);
		return Math.abs(a - b * scale) > SURE * Math.sqrt(a + b * scale * scale);
	};
	const ratio = scope => {
		const [a, b] = both(scope);
		return a ? (b / (after.total || 1)) / (a / (before.total || 1)) : null;
	};
	const quiet = scope => !sure(scope);
	return [{
		key: 'd' + before.index, title: before.name, part: 'change', help: 'Change of the share of all samples, in ' +
			'percent points, from database 1 to 2; pale where it may be chance (p > 0.001)',
		value: change, quiet, signed: true,
		text: scope => change(scope) === null ? '' : (change(scope) > 0 ? '+' : '') + change(scope).toFixed(2),
	}, {
		key: 'q' + before.index, title: before.name, part: 'ratio', help: 'Share in database 2 over share in database 1',
		value: ratio, quiet,
		text: scope => ratio(scope) === null ? '' : '×' + ratio(scope).toFixed(2),
	}];
}

function metricColumn(metric, number, inclusive) {
	const get = scope => metricValue(metric, inclusive ? scope.inclusive : scope.exclusive);
	return {
		key: (inclusive ? 'm' : 'M') + number,
		title: metric.name,
		part: inclusive ? 'total' : 'self',
		help: `${metric.name} = ${metric.formula}`,
		value: get,
		text: scope => get(scope) === null ? '' : formatShort(get(scope)),
	};
}

export function makeColumns(profile, metrics, units) {
	const columns = profile.events.flatMap(event => [eventColumn(event, true, units), eventColumn(event, false, units)]);
	for (const before of profile.events) {
		const after = before.set === 0 &&
			profile.events.find(event => event.set === 1 && event.name === before.name);
		if (after)
			columns.push(...comparisonColumns(before, after));
	}
	metrics.forEach((metric, i) => columns.push(metricColumn(metric, i, true), metricColumn(metric, i, false)));
	return columns;
}

/* As a sort of rows: largest first, what has no value last. */
export function compareBy(column, reverse) {
	const sign = reverse ? -1 : 1;
	return (a, b) => {
		const x = column.value(a), y = column.value(b);
		if (x === null || y === null)
			return (x === null) - (y === null);
		return sign * (y - x);
	};
}
