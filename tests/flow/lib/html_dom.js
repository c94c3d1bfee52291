#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// html_dom.js - runs the code of a page of trainprof-merge -f html without a browser
//
// usage: node html_dom.js PAGE.html [VIEW=text.out | changes]..
//
// A document of few words stands for the browser's: elements, their texts and classes. All views are
// built, all tables sorted by every column; nothing may throw, and no text may say undefined or NaN or
// hold a picture made of characters. Each table line of the texts (trainprof-merge -v VIEW) has a row
// on the page with the same cells; changes: the graph of two runs' modules is as their table. Prints what is
// wrong, exits 1 when something is; else how many lines were compared. How it looks is 434-html-page.sh's.
'use strict';
const fs = require('fs');
const vm = require('vm');

const [file, ...texts] = process.argv.slice(2);
const html = fs.readFileSync(file, 'utf8');
const wrong = [];

class Node {
	constructor(tag)
	{
		const classes = new Set();

		Object.assign(this, {tagName: tag.toUpperCase(), childNodes: [], attributes: {}, listeners: {},
			dataset: {}, clientWidth: 800, value: ''});
		this.classList = {add: (name) => classes.add(name), remove: (name) => classes.delete(name),
			toggle: (name, on) => (on ? classes.add(name) : classes.delete(name)),
			contains: (name) => classes.has(name)};
		this.style = {setProperty(name, value) { this[name] = value; }};
	}
	get children() { return this.childNodes.filter((its) => its instanceof Node); }
	get lastElementChild() { return this.children.at(-1) || null; }
	get firstChild() { return this.childNodes[0] || null; }
	append(...nodes) { this.childNodes.push(...nodes); }
	replaceChildren(...nodes) { this.childNodes = nodes; }
	addEventListener(name, listener) { (this.listeners[name] = this.listeners[name] || []).push(listener); }
	click() { (this.listeners.click || []).forEach((listener) => listener({})); }
	getAttribute(name) { return this.attributes[name] ?? null; }
	removeAttribute(name) { delete this.attributes[name]; }
	setAttribute(name, value)
	{
		this.attributes[name] = String(value);
		if (name === 'class')
			String(value).split(' ').filter(Boolean).forEach((its) => this.classList.add(its));
	}
	get textContent()
	{
		return this.childNodes.map((its) => (its instanceof Node ? its.textContent : String(its))).join('');
	}
	set textContent(text) { this.childNodes = [String(text)]; }
	getBoundingClientRect() { return {left: 0, top: 0, right: 800, bottom: 100, width: 800, height: 100}; }
	getContext()
	{
		return new Proxy({measureText: () => ({width: 10})},
			{get: (its, name) => (name in its ? its[name] : () => {}), set: () => true});
	}
	scrollIntoView() {}
	focus() {}
	querySelector() { return null; }
	querySelectorAll() { return []; }
	*walk()
	{
		yield this;
		for (const child of this.children)
			yield* child.walk();
	}
}

function openPage()
{
	const ids = {}, code = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map((its) => its[1]).join('\n');

	for (const [, id, text] of html.matchAll(/<script type="application\/json" id="([^"]+)">([\s\S]*?)<\/script>/g)) {
		ids[id] = new Node('script');
		ids[id].textContent = text;
	}
	for (const [, id] of html.replace(/<script[\s\S]*?<\/script>/g, '').matchAll(/id="([\w-]+)"/g))
		ids[id] = ids[id] || new Node('div');
	const context = vm.createContext({
		document: {getElementById: (id) => ids[id] || null, createElement: (tag) => new Node(tag),
			createElementNS: (_, tag) => new Node(tag), documentElement: new Node('html'), addEventListener() {}},
		window: {addEventListener() {}, innerWidth: 1000, innerHeight: 800, devicePixelRatio: 1},
		location: {hash: ''}, performance, getComputedStyle: () => ({getPropertyValue: () => '#000'}),
		ResizeObserver: class {
			constructor(draw) { this.draw = draw; }
			observe() { this.draw([]); }
			disconnect() {}
		},
		atob, requestAnimationFrame: (draw) => draw(0), matchMedia: () => ({matches: false, addEventListener() {}}),
	});

	vm.runInContext(code.replace('new Page();', 'globalThis.page = new Page();'), context, {filename: 'page.js'});
	return context.page;
}

function look(page, tab)
{
	page.build(tab);
	for (const node of tab.panel.walk())
		if (node.tagName === 'TH')
			node.children.filter((its) => its.tagName === 'BUTTON').forEach((its) => its.click());
	const odd = tab.panel.textContent.match(/.{0,60}(?:\bundefined\b|\bNaN\b|\[object |[\u2581-\u2588]{3}).{0,40}/);

	if (odd)
		wrong.push(`${tab.name}: '${odd[0]}'`);
}

// Cells of a text table's line, its name first; null: it is no such line, or it was cut.
function cellsOf(line)
{
	const cells = line.trim().split(/ {2,}/);

	return cells.length < 3 || /[\u2026\u2580-\u259f]/.test(line) ||
		!cells.slice(1).some((cell) => /^-?[\d.,]+ ?\D{0,5}$/.test(cell)) ? null : cells;
}

// How many lines of a text are on the page.
function compare(tab, text)
{
	for (const node of tab.panel.walk())
		if (node.classList.contains('more') && !node.hidden)
			node.click();
	const rows = [...tab.panel.walk()].filter((its) => its.tagName === 'TR').map((row) =>
		row.children.flatMap((cell) => cell.textContent.trim().split(/ {2,}/)));
	const lines = text.split('\n').map(cellsOf).filter(Boolean);

	for (const cells of lines)
		if (!rows.some((row) => cells.every((cell) => row.includes(cell))))
			wrong.push(`${tab.name}: not on the page: ${cells.join(' | ')}`);
	return lines.length;
}

// The graph of two runs' modules: red where the table has more time now, blue where less; each module of this run.
function lookAtChanges(tab)
{
	const cellsOfRow = (row) => row.children.map((cell) => cell.textContent.trim());
	const rowsOf = (table) => [...table.walk()].filter((its) => its.tagName === 'TR').map(cellsOfRow);
	const tables = [...tab.panel.walk()].filter((its) => its.tagName === 'TABLE').map(rowsOf);
	const items = [...tab.panel.walk()].filter((its) => its.attributes.role === 'treeitem');
	const rows = tables.find(([heads]) => heads[0] === 'module').slice(1).filter((cells) => cells[5] !== '0 ns');

	for (const [module, type, , , , , difference, change] of rows) {
		const name = module === type ? module : `${module} (${type})`;
		const hues = items.filter((its) => (its.textContent || its.attributes['aria-label']) === name)
			.map((its) => its.style.background.match(/^hsl\((\d+) /)[1]);

		if (!hues.includes(difference.startsWith('-') ? '212' : '10'))
			wrong.push(`${tab.name}: ${name} is ${difference} (${change}), and has the hues '${hues.join(' ')}'`);
	}
	return rows.length;
}

const page = openPage();
let n = 0;

for (const tab of page.tabs)
	look(page, tab);
if (/"nodes":\[-/.test(html) !== page.tabs.some((tab) => tab.name === 'flame'))
	wrong.push('graphs without a tab, or a tab without graphs');
for (const its of texts) {
	const at = its.indexOf('=');

	if (its === 'changes') {
		n += lookAtChanges(page.tabs.find((tab) => tab.name === 'diff'));
		continue;
	}
	n += compare(page.tabs.find((tab) => tab.name === its.slice(0, at)), fs.readFileSync(its.slice(at + 1), 'utf8'));
}
console.log(wrong.length ? wrong.slice(0, 20).join('\n') : `${n} lines compared`);
process.exit(wrong.length ? 1 : 0);
