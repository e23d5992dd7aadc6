/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/* Elements and numbers. Names only ever become text nodes: whatever they hold, they are no markup. */

export function make(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name === 'class')
			e.className = value;
		else if (name.startsWith('on'))
			e.addEventListener(name.slice(2), value);
		else if (value !== false && value !== null && value !== undefined)
			e.setAttribute(name, value === true ? '' : value);
	}
	e.append(...children.filter(child => child !== null && child !== undefined));
	return e;
}

export function byId(id) {
	return document.getElementById(id);
}

const counts = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});

export function formatCount(n) {
	if (n === 0)
		return '';
	return n >= 1e7 ? formatShort(n) : counts.format(n);
}

/* Three digits and a letter: 12.3M. */
export function formatShort(n) {
	const size = Math.abs(n);
	for (const [unit, letter] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
		if (size >= unit)
			return (n / unit).toPrecision(3) + letter;
	return size >= 100 ? counts.format(n) : String(+n.toPrecision(3));
}

export function formatPercent(part, whole) {
	if (!whole || !part)
		return '';
	const percent = 100 * part / whole;
	return percent >= 99.95 ? percent.toFixed(0) : percent.toFixed(1);
}

export function formatTime(ns) {
	for (const [unit, name] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']])
		if (ns >= unit)
			return (ns / unit).toPrecision(3) + ' ' + name;
	return ns.toFixed(0) + ' ns';
}

export function formatAddress(base, offset) {
	return '0x' + (BigInt(base) + BigInt(offset)).toString(16);
}

export function lastComponent(path) {
	return path.slice(path.lastIndexOf('/') + 1) || path;
}

/* Long names in the middle of a table: the beginning is enough; all of it is in the tooltip. */
export function clip(name, most) {
	return name.length > most ? name.slice(0, most - 1) + '…' : name;
}

/* Without what stands in <> behind a name, but of operators and of Python's <module>. */
export function withoutArguments(name) {
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

/* The expression that somebody typed; null: it is none (yet). */
export function compile(text) {
	try {
		return text ? new RegExp(text, /[A-Z]/.test(text) ? '' : 'i') : null;
	} catch {
		return null;
	}
}

export function download(name, type, text) {
	const url = URL.createObjectURL(new Blob([text], {type}));
	const link = make('a', {href: url, download: name});
	document.body.append(link);
	link.click();
	link.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}
