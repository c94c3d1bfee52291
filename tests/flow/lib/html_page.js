#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// html_page.js - looks at a page of trainprof-merge -f html in a headless browser
//
// usage: node html_page.js PAGE.html SHOTS [BROWSER] [VIEW=text.out ...]
//
// Opens the page from its file, goes through all views by the keyboard, zooms, sorts, searches,
// switches ranks, compares every table line of the texts (trainprof-merge -v VIEW) with the rows on
// the page, and looks at it at three widths, in both themes, on paper and without its script
// (html_looks.js). Pictures go to SHOTS-*.png. Prints a line "name: what was found" for each thing that
// was looked at; the caller says what it should be. SHOTS `-`: only how soon it can be read, and how long a frame
// of the timeline takes while it is zoomed.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const {pathToFileURL} = require('url');
const {wait, withPage} = require('./browser.js');
const looks = require('./html_looks.js');

const [file, shots, browserName, ...texts] = process.argv.slice(2);
const tell = (name, value) => process.stdout.write(`${name}: ${value}\n`);

const PANEL = 'document.querySelector(".panel:not([hidden])")';

async function goTo(page, tab)
{
	await page.evaluate(`location.hash = '${tab}'`);
	await page.until(`!document.getElementById('view-${tab}').hidden`, 10);
	await wait(150);
}

// Figures of a text table's line, its name first; null: it is no such line, or it was cut.
function cellsOf(line)
{
	const cells = line.trim().split(/ {2,}/).map((cell) => cell.replace(/[\u2580-\u259f ]+$/, ''))
		.filter(Boolean);

	return cells.length < 3 || /[\u2026\u2581-\u259f]/.test(line) ||
		!cells.slice(1).some((cell) => /^-?[\d.,]+ ?\D{0,5}$/.test(cell)) ? null : cells;
}

// Lines of the text that have no row on the page with the same cells.
async function compare(page, view, text)
{
	await goTo(page, view);
	await page.evaluate(`${PANEL}.querySelectorAll('.more:not([hidden])').forEach((b) => b.click())`);
	const rows = await page.evaluate(`[...${PANEL}.querySelectorAll('tr')].map((tr) =>
		[...tr.children].flatMap((cell) => cell.textContent.trim().split(/ {2,}/)))`);
	const lines = text.split('\n').map(cellsOf).filter(Boolean);
	const missing = lines.filter((cells) => !rows.some((row) => cells.every((cell) => row.includes(cell))));

	for (const cells of missing.slice(0, 4))
		process.stderr.write(`${view}: not on the page: ${cells.join(' | ')}\n`);
	tell(`${view}: lines compared`, lines.length);
	tell(`${view}: lines missing`, missing.length);
}

async function byKeyboard(page)
{
	const n = await page.evaluate('document.querySelectorAll("[role=tab]").length');
	const seen = [];

	await page.key('Tab');
	await page.key('Tab');
	tell('second stop of the focus', await page.evaluate('document.activeElement.getAttribute("role")'));
	for (let i = 0; i < n; i++) {
		await wait(200);
		const [name, length, wide] = await page.evaluate(`[document.activeElement.id.slice(4),
			${PANEL}.innerText.length, document.documentElement.scrollWidth > window.innerWidth]`);

		seen.push(name);
		if (length < 60)
			tell(`${name}: almost empty`, length);
		if (wide)
			tell(`${name}: wider than the window`, wide);
		if (await page.evaluate('document.activeElement.id.slice(4) !== ' +
			`${PANEL}.id.slice(5)`))
			tell(`${name}: another panel is shown`, true);
		await page.screenshot(`${shots}-1280-${name}.png`);
		await page.key('ArrowRight');
	}
	tell('views', seen.join(' '));
	await page.key('End');
	await page.key('Home');
	await wait(100);
	tell('Home', await page.evaluate('document.activeElement.id'));
}

async function zoomMemory(page)
{
	await goTo(page, 'memory');
	const at = await page.evaluate(`(() => { const box = ${PANEL}.querySelector('.plot canvas');
		box.scrollIntoView({block: 'center'}); const r = box.getBoundingClientRect();
		return [r.left, r.top, r.width, r.height]; })()`);
	const rows = () => page.evaluate(`[...${PANEL}.querySelectorAll('.count')].map((p) => p.textContent).join('|')`);
	const reset = `${PANEL}.querySelector('figcaption .small')`;
	const y = at[1] + at[3] / 2;

	await page.drag(at[0] + at[2] * 0.4, y, at[0] + at[2] * 0.55, y);
	await wait(200);
	tell('memory zoomed', await page.evaluate(`!${reset}.hidden`));
	tell('memory: rows while zoomed', /\d+ of \d+ rows/.test(await rows()));
	await page.screenshot(`${shots}-1280-zoomed.png`);
	// Windows at 0-10, 20-30, 30-40; points where slots of 3 begin.
	tell('gaps between windows', await page.evaluate(`JSON.stringify(withGaps(
		[[0, 1], [9, 1], [18, 1], [27, 1], [30, 1], [36, 1]], [[0, 0, 10], [0, 20, 30], [0, 30, 40]], 3)
		.map((its, i) => its[1] === null ? [i, its[0]] : null).filter(Boolean))`));
	await page.evaluate(`${PANEL}.querySelector('.plot').focus()`);
	await page.key('Escape');
	await wait(100);
	tell('memory after Escape', await page.evaluate(`${reset}.hidden`) && !/\d of \d/.test(await rows()));
	await page.key('+');
	tell('memory by keys', await page.evaluate(`!${reset}.hidden`));
	await page.key('0');
}

async function sortAndSearch(page)
{
	await goTo(page, 'operator');
	const cells = (c) => page.evaluate(`[...${PANEL}.querySelectorAll('.table tbody tr')].map((tr) =>
		tr.children[${c}].textContent)`);
	const titles = await page.evaluate(`[...${PANEL}.querySelectorAll('.table thead th')].map((th) => th.textContent)`);
	const calls = titles.indexOf('calls');

	await page.evaluate(`${PANEL}.querySelectorAll('.table thead th button')[${calls}].click()`);
	const down = (await cells(calls)).map((text) => Number(text.replace(/,/g, '')));

	tell('sorted by calls', down.length > 3 && down.every((n, i) => !i || n <= down[i - 1]));
	tell('aria-sort', await page.evaluate(`${PANEL}.querySelectorAll('.table thead th')[${calls}].getAttribute('aria-sort')`));
	const name = (await cells(0))[0];

	await page.evaluate(`(() => { const input = ${PANEL}.querySelector('.table input[type=search]');
		if (input) { input.value = ${JSON.stringify(name)}; input.dispatchEvent(new Event('input')); } })()`);
	tell('searched', (await cells(0)).every((text) => text.toLowerCase().includes(name.toLowerCase())));
}

// The average step of the second rank, where there is one, as the card says it.
async function switchRank(page)
{
	await goTo(page, 'overview');
	const card = '[data-card=breakdown]';
	const names = await page.evaluate(`[...document.querySelectorAll('${card} option')].map((o) => o.value)`);
	const big = () => page.evaluate(`document.querySelector('${card} .big').firstChild.textContent`);

	tell('average step', await page.until(`document.querySelector('${card} .big')`, 2) && await big());
	if (names.length < 2)
		return;
	await page.evaluate(`(() => { const list = document.querySelector('${card} select');
		list.value = ${JSON.stringify(names[names.length - 1])}; list.dispatchEvent(new Event('change')); })()`);
	tell(`average step of ${names[names.length - 1]}`, await big());
}

async function charts(page)
{
	await goTo(page, 'flame');
	const count = `${PANEL}.querySelectorAll('.flame > div:not(.around)').length`;
	const before = await page.evaluate(count);

	await page.evaluate(`${PANEL}.querySelector('.flame > div').focus()`);
	for (const key of ['ArrowDown', 'ArrowDown', 'Enter'])
		await page.key(key);
	tell('flame graph', before > 3);
	tell('flame graph zoomed', await page.evaluate(`${PANEL}.querySelectorAll('.flame .around').length`) >= 1);
	await page.key('Escape');
	tell('flame graph after Escape', await page.evaluate(count) === before);
	const rank = await page.evaluate(`(() => { const list = ${PANEL}.querySelectorAll('select')[1];
		if (!list)
			return null;
		list.value = list.options[1].value;
		list.dispatchEvent(new Event('change'));
		return list.value; })()`);

	await wait(150);
	tell('flame graph of one rank', rank && await page.evaluate(
		`${PANEL}.querySelector('.flame > div').textContent.trim()`) === rank);
	await goTo(page, 'timeline');
	await page.evaluate(`${PANEL}.querySelector('canvas').focus()`);
	tell('timeline drawn', await page.evaluate(`(() => { const c = ${PANEL}.querySelector('canvas');
		const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Set();
		for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
		return seen.size; })()`) > 4);
	await page.key('w');
	tell('timeline zoomed', / shown$/.test(await page.evaluate(
		`${PANEL}.querySelector('.timeline').parentElement.querySelector('.value').textContent`)));
	await page.key('0');
	await goTo(page, 'comm');
	await wait(250);
	tell('colours of the maps of ranks', (await page.evaluate(looks.mapColours)).join('; ') || 'in their legends');
	tell('heat map cells', await page.evaluate(`${PANEL}.querySelectorAll('.map:first-of-type .heat .cell').length`));
	tell('a cell leads to its step', await page.evaluate(`(() => {
		const cells = ${PANEL}.querySelectorAll('.map:first-of-type .heat .cell');
		if (!cells.length)
			return null;
		cells[cells.length - 1].dispatchEvent(new Event('click'));
		return new Promise((done) => setTimeout(() => done(${PANEL}.id + ' ' +
			${PANEL}.querySelector('.which').textContent.split(' (')[0].split(':')[0]), 300)); })()`));
}

// A span is clicked, searched for, zoomed by the wheel; its colour is the legend's.
async function timeline(page)
{
	await page.evaluate("location.hash = ''");
	await goTo(page, 'timeline');
	tell('colours that are not the legend\'s', (await page.evaluate(looks.colours)).join('; ') || 'none');
	tell('colours of the strip of steps', (await page.evaluate(looks.mapColours)).join('; ') || 'in their legends');
	const at = await page.evaluate(`(() => { const view = ${looks.timelineView};
		const its = [...view.spans].sort((a, b) => b.end - b.begin - a.end + a.begin)[0];
		view.canvas.scrollIntoView({block: 'center'});
		const r = view.canvas.getBoundingClientRect(), [x, w] = view.extent(its);
		return [r.left + x + w / 2, r.top + view.rowOf(its) + 8, its.name]; })()`);

	await page.drag(at[0], at[1], at[0], at[1]);
	await wait(150);
	tell('what was clicked', await page.evaluate(`(${PANEL}.querySelector('.span h2') || {}).textContent`) === at[2]);
	await page.evaluate(`(() => { const input = ${PANEL}.querySelector('input[type=search]');
		input.value = ${JSON.stringify(at[2])}; input.dispatchEvent(new Event('input')); })()`);
	tell('found in the step', /^[\d,]+ found/.test(await page.evaluate(`${PANEL}.querySelector('.count').textContent`)));
	await page.call('Input.dispatchMouseEvent', {type: 'mouseWheel', x: at[0], y: at[1], deltaX: 0, deltaY: -200, modifiers: 2});
	await wait(150);
	tell('zoomed by the wheel', await page.evaluate(`${looks.timelineView}.to - ${looks.timelineView}.from < 1`));
	await page.screenshot(`${shots}-1280-clicked.png`);
}

// From an operator's row to the timeline, and back to its row; from span to span by the keys.
async function links(page)
{
	await goTo(page, 'operator');
	const name = await page.evaluate(`(() => { const a = ${PANEL}.querySelector('.table tbody a');
		a.click(); return a.textContent; })()`);

	await wait(300);
	tell('a row leads to its span', await page.evaluate(`[${PANEL}.id,
		${PANEL}.querySelector('.span h2').textContent].join(' ')`) === `view-timeline ${name}`);
	await page.evaluate(`${PANEL}.querySelector('.span a').click()`);
	await wait(300);
	tell('a span leads to its row', await page.evaluate(`[${PANEL}.id, document.activeElement.className,
		document.activeElement.firstElementChild.textContent].join(' ')`) === `view-operator found ${name}`);
	await goTo(page, 'timeline');
	await page.evaluate(`${PANEL}.querySelector('canvas').focus()`);
	const seen = [];

	for (const key of ['.', ',']) {
		await page.key(key);
		seen.push(await page.evaluate(`(() => { const its = ${looks.timelineView}.picked;
			return [its.lane, its.row, its.begin].join(); })()`));
	}
	tell('from span to span by keys', seen[0] !== seen[1]);
}

// Milliseconds between frames while the timeline is zoomed in and out, the median and the 90th of 100.
async function frames(page)
{
	await goTo(page, 'timeline');
	tell('milliseconds a frame, p50 and p90, of spans', await page.evaluate(`new Promise((done) => {
		const view = ${looks.timelineView}, times = [];
		let last = performance.now();
		const next = (now) => {
			times.push(now - last);
			last = now;
			view.zoom(times.length % 40 < 20 ? 0.85 : 1 / 0.85, 0.3);
			if (times.length < 104)
				requestAnimationFrame(next);
			else
				done([...times.slice(4).sort((a, b) => a - b).filter((_, i) => i === 50 || i === 90)
					.map((ms) => ms.toFixed(1)), view.spans.length].join(' '));
		};
		requestAnimationFrame(next); })`));
}

const theme = (page, name) => page.call('Emulation.setEmulatedMedia',
	{features: [{name: 'prefers-color-scheme', value: name}]});

// Every view at three widths in both themes.
async function otherSizes(page)
{
	const tabs = await page.evaluate('[...document.querySelectorAll("[role=tab]")].map((tab) => tab.id.slice(4))');
	const wide = [], broken = [], pale = [], nameless = [];

	for (const [width, name] of [[390, 'light'], [800, 'light'], [1400, 'light'], [390, 'dark'], [800, 'dark'],
				     [1400, 'dark']]) {
		await theme(page, name);
		await page.size(width, 900, width < 500);
		for (const tab of tabs) {
			await goTo(page, tab);
			const where = (text) => `${tab} at ${width}, ${name}: ${text}`;

			if (await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'))
				wide.push(where('too wide'));
			if (name === 'light')
				broken.push(...(await page.evaluate(looks.brokenWords)).map(where));
			if (width === 1400)
				pale.push(...(await page.evaluate(looks.pale)).map(where));
			if (width === 1400 && name === 'light')
				nameless.push(...(await page.evaluate(looks.nameless)).map(where));
			await page.screenshot(`${shots}-${width}-${name}-${tab}.png`);
		}
	}
	tell('does not fit', wide.join('; ') || 'none');
	tell('words broken', broken.slice(0, 5).join('; ') || 'none');
	tell('contrast under 4.5', pale.slice(0, 5).join('; ') || 'none');
	tell('controls without a name', nameless.slice(0, 5).join('; ') || 'none');
	tell('dark', await page.evaluate('getComputedStyle(document.body).backgroundColor'));
	await page.size(1280, 900);
	await page.call('Emulation.setEmulatedMedia', {features: []});
	await page.paper(`${shots}-paper.pdf`);
	await page.call('Emulation.setEmulatedMedia', {media: 'print'});
	await wait(300);
	tell('on paper', await page.evaluate(`[...document.querySelectorAll('.panel')].every((panel) =>
		panel.innerText.length > 20 && getComputedStyle(panel).display === 'block')`));
	await page.screenshot(`${shots}-print.png`);
	await page.call('Emulation.setEmulatedMedia', {media: ''});
}

// From a site whose policy forbids the page's script and styles, as wikis and build servers do.
async function strictSite(page)
{
	const server = http.createServer((_, answer) => {
		answer.writeHead(200, {'Content-Type': 'text/html', 'Content-Security-Policy': "default-src 'self'"});
		fs.createReadStream(file).pipe(answer);
	});

	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	await page.open(`http://127.0.0.1:${server.address().port}/`);
	tell('rows where a policy forbids the script', await page.until(
		'[...document.querySelectorAll("#plain tbody tr")].filter((tr) => tr.getClientRects().length).length > 5', 20));
	await page.screenshot(`${shots}-strict.png`);
	server.closeAllConnections();
	server.close();
}

async function look(page)
{
	const address = pathToFileURL(path.resolve(file)).href;

	await page.size(1280, 900);
	await page.open(address);
	tell('ready', await page.until('document.documentElement.dataset.readyMs', 60));
	tell('milliseconds to ready', await page.evaluate('document.documentElement.dataset.readyMs'));
	if (shots === '-') {
		await frames(page);
		return;
	}
	await byKeyboard(page);
	for (const text of texts) {
		const [view, name] = text.split('=');

		await compare(page, view, fs.readFileSync(name, 'utf8'));
	}
	await switchRank(page);
	await sortAndSearch(page);
	if (await page.evaluate('typeof Dygraph !== "undefined" && ' +
				'Boolean(document.querySelector("#view-memory .plot"))'))
		await zoomMemory(page);
	await charts(page);
	tell('stops of the focus', await looks.tabOrder(page));
	await timeline(page);
	await links(page);
	await otherSizes(page);
	tell('hacked', await page.evaluate('String(window.hacked)'));
	tell('elements that are not ours', await page.evaluate(
		'document.querySelectorAll("img, iframe, object, embed, body svg[onload]").length'));
	tell('requests', page.requests.filter((url) => !url.startsWith('file:')).length);
	await page.call('Emulation.setScriptExecutionDisabled', {value: true});
	await page.open(address);
	await wait(800);
	await page.screenshot(`${shots}-plain.png`);
	tell('rows without the script', await page.evaluate('document.querySelectorAll("#plain tbody tr").length') > 5);
	tell('errors on the console', page.said.length);
	for (const said of page.said.slice(0, 5))
		process.stderr.write(`console: ${String(said).slice(0, 400)}\n`);
	await page.call('Emulation.setScriptExecutionDisabled', {value: false});
	await strictSite(page);
}

withPage(browserName, look).catch((e) => {
	process.stderr.write(`html_page.js: ${e.stack}\n`);
	process.exitCode = 1;
});
