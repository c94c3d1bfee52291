// SPDX-License-Identifier: Apache-2.0
//
// page_base.js - what all parts of the page use: elements, figures, colours, the page's data
//
// Whatever a trace says reaches the document as text (textContent, setAttribute of a title) and in
// no other way.

const SVG = 'http://www.w3.org/2000/svg';

// A path that does not fit a line goes on in the next one behind one of its folders.
function breakable(text)
{
	return text.split(/(?<=\/)(?=[^\/\s])/).flatMap((part, i) => i ? [document.createElement('wbr'), part] : [part]);
}

// el('p', {class: 'note', onclick: f}, 'text', otherElement, ...)
function fill(element, attributes, children)
{
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith('on'))
			element.addEventListener(name.slice(2), value);
		else if (name === 'style')
			for (const [key, its] of Object.entries(value))
				element.style.setProperty(key, its);
		else
			element.setAttribute(name, value === true ? '' : value);
	}
	for (const child of children.flat())
		if (child !== undefined && child !== null)
			element.append(child);
	return element;
}

function el(tag, attributes, ...children)
{
	const parts = children.flat().flatMap((child) => typeof child === 'string' ? breakable(child) : [child]);

	return fill(document.createElement(tag), attributes, parts);
}

function svg(tag, attributes, ...children)
{
	return fill(document.createElementNS(SVG, tag), attributes, children);
}

const loaded = {};

// A part of the page's data, read when it is first requested; null: the page has none.
function load(id)
{
	if (!(id in loaded)) {
		const element = document.getElementById(`data-${id}`);

		loaded[id] = element ? JSON.parse(element.textContent) : null;
	}
	return loaded[id];
}

// ---- figures, as merge/kit/show.c writes them ----

// As C rounds: of two numbers as near as each other the one that ends with an even digit.
function fixed(value, decimals)
{
	const exact = value.toFixed(decimals + 25), kept = exact.slice(0, -25).replace(/\.$/, '');
	const isTie = /^50+$/.test(exact.slice(-25));

	return isTie && Number(kept[kept.length - 1]) % 2 === 0 ? kept : value.toFixed(decimals);
}

function threeDigits(value, unit)
{
	return `${fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
}

function showNs(ns)
{
	const sign = ns < 0 ? '-' : '', size = Math.abs(ns), seconds = Math.floor(size / 1e9);
	const two = (n) => String(n).padStart(2, '0');

	if (size < 1000)
		return `${sign}${Math.round(size)} ns`;
	for (const [unit, per, most] of [['us', 1e3, 999.5], ['ms', 1e6, 999.5], ['s', 1e9, 119.5]])
		if (size / per < most)
			return sign + threeDigits(size / per, unit);
	if (seconds < 7200)
		return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
	return `${sign}${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

function showBytes(bytes)
{
	const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'], sign = bytes < 0 ? '-' : '';
	let value = Math.abs(bytes), unit = 0;

	if (value < 1024)
		return `${sign}${Math.round(value)} B`;
	for (value /= 1024; value >= 999.5 && unit < 5; unit++)
		value /= 1024;
	return sign + threeDigits(value, units[unit]);
}

function showCount(n)
{
	return String(n).replace(/\B(?=(\d{3})+$)/g, ',');
}

function showPercent(percent)
{
	if (percent > 0 && percent < 0.05)
		return '<0.1 %';
	return Math.abs(percent) < 1e6 ? `${fixed(percent, 1)} %` : `${percent.toPrecision(2)} %`;
}

// By the unit of a column: enum tp_unit of merge/model/table.h.
const SHOW = {ns: showNs, bytes: showBytes, count: showCount, percent: showPercent};

function show(value, unit)
{
	return typeof value === 'number' && SHOW[unit] ? SHOW[unit](value) : String(value);
}

// A scale's value of a counter's unit: B and B/s are bytes.
function showUnit(value, unit)
{
	if (unit === 'B' || unit === 'B/s')
		return showBytes(value) + unit.slice(1);
	if (unit === 'ns')
		return showNs(value);
	return `${Math.abs(value) >= 1000 ? showCount(Math.round(value)) : +value.toPrecision(3)} ${unit}`;
}

// ---- colours ----

// Told apart by people who do not see red or green, too (Okabe and Ito), in a dark room as well.
// The first one is too dark on black.
const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
const PALETTE = [isDark ? '#3d9bdc' : '#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8c7ae6', '#808080'];
// By the title of a category of tensors.
const MEMORY_HUE = {parameters: 205, gradients: 265, 'optimizer state': 160, activations: 325, inputs: 40, temporary: 16,
	buffers: 230, unknown: 90, 'kept across steps': 0};

function memoryColour(title, lightness)
{
	return title in MEMORY_HUE ? `hsl(${MEMORY_HUE[title]} 50% ${lightness}%)` : colourOf(title);
}

// By the field of a category of a step's time.
const CATEGORY = {
	kernel_ns: '#009e73', memcpy_ns: '#56b4e9', memset_ns: '#8fd3f4', communication_ns: '#cc79a7',
	runtime_ns: '#e69f00', data_ns: '#d55e00', cpu_ns: '#0072b2', other_ns: '#9aa0a6',
};

function colour(i)
{
	return i < PALETTE.length ? PALETTE[i] : `hsl(${i * 137 % 360} 50% 50%)`;
}

// The same name has the same colour in every chart and in every page.
function colourOf(name)
{
	let hash = 2166136261;

	for (let i = 0; i < name.length && i < 80; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
	return `hsl(${hash % 360} 55% ${70 + (hash >>> 9) % 12}%)`;
}

function cssColour(name)
{
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// ---- the tip beside the pointer ----

function showTip(event, text)
{
	const tip = document.getElementById('tip');

	tip.textContent = text;
	tip.hidden = false;
	const box = tip.getBoundingClientRect(), margin = 12;
	const x = Math.min(event.clientX + margin, window.innerWidth - box.width - 4);
	const y = event.clientY + margin + box.height > window.innerHeight
		? event.clientY - box.height - margin : event.clientY + margin;

	tip.style.left = `${Math.max(4, x)}px`;
	tip.style.top = `${Math.max(4, y)}px`;
}

function hideTip()
{
	document.getElementById('tip').hidden = true;
}

// A choice of one of several: select(label, [[value, text], ...], now, f)
function select(label, choices, now, change)
{
	const list = el('select', {onchange: () => change(list.value)},
		choices.map(([value, text]) =>
			el('option', {value, selected: String(value) === String(now)}, text)));

	return el('label', {class: 'choice'}, `${label} `, list);
}

// What happens to `element` when its width changes, and when it is first seen.
function onWidth(element, draw)
{
	let last = 0;

	new ResizeObserver(() => {
		const width = Math.floor(element.clientWidth);

		if (width && width !== last) {
			last = width;
			draw(width);
		}
	}).observe(element);
}
