// SPDX-License-Identifier: Apache-2.0
//
// html_looks.js - how a page of trainprof-merge -f html looks, for html_page.js: expressions for the browser, each
// a list of what is wrong in the panel that is shown
'use strict';

const PANEL = 'document.querySelector(".panel:not([hidden])")';

// Words of table cells that stand in two lines.
const brokenWords = `[...${PANEL}.querySelectorAll('td, th')].flatMap((cell) => {
	const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), wrong = [];
	for (let node = walk.nextNode(); node; node = walk.nextNode())
		for (const word of node.data.matchAll(/\\S+/g)) {
			const range = document.createRange();
			range.setStart(node, word.index);
			range.setEnd(node, word.index + word[0].length);
			const tops = new Set([...range.getClientRects()].filter((r) => r.width > 0).map((r) => Math.round(r.top)));
			if (tops.size > 1)
				wrong.push(word[0].slice(0, 40));
		}
	return wrong;
}).slice(0, 20)`;

// Texts whose contrast is under 4.5:1; what lies behind is the nearest colours, pictures are not looked at.
const pale = `(() => {
	const parts = (text) => { const n = (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
		return n.length < 4 ? [...n, 1] : n; };
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
	const light = (colour) => colour.slice(0, 3).map((c) => c / 255)
		.map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const backOf = (element) => { const layers = [];
		for (let its = element; its; its = its.parentElement)
			layers.unshift(parts(getComputedStyle(its).backgroundColor));
		return layers.reduce((below, top) => over(top, below), [255, 255, 255]); };
	const wrong = [];
	for (const element of document.querySelectorAll('header *, #tabs *, footer *, .panel:not([hidden]) *')) {
		const text = [...element.childNodes].filter((its) => its.nodeType === 3).map((its) => its.data).join('').trim();
		if (!text || !element.getClientRects().length || element.tagName === 'OPTION')
			continue;
		const style = getComputedStyle(element);
		// Parts of a treemap lie above their group, which is no parent of theirs.
		const back = element.closest('.treemap .part') ? [255, 255, 255] : backOf(element);
		const fore = over(parts(element instanceof SVGElement ? style.fill : style.color), back);
		const [a, b] = [light(fore), light(back)].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5)
			wrong.push(element.tagName + ' ' + text.slice(0, 30) + ' ' + ((a + 0.05) / (b + 0.05)).toFixed(1));
	}
	return wrong.slice(0, 20);
})()`;

// What the focus can be on has a name for those who do not see it.
const nameless = `[...${PANEL}.querySelectorAll('button, input, select, [tabindex]')].filter((its) =>
	its.getClientRects().length && !(its.getAttribute('aria-label') || its.textContent.trim() ||
		(its.labels && its.labels.length))).map((its) => its.outerHTML.slice(0, 80))`;

const timelineView = 'document.getElementById("view-timeline").timeline.timeline';

// Each kind's longest span: its pixels lie between the two ends of the legend's swatch.
const colours = `(() => {
	const view = ${timelineView}, wrong = [];
	view.show(0, 1);
	view.draw();
	const pen = view.canvas.getContext('2d'), scale = window.devicePixelRatio || 1;
	for (const swatch of ${PANEL}.querySelectorAll('.legend i[data-kind]')) {
		const kind = swatch.dataset.kind, ends = getComputedStyle(swatch).backgroundImage.match(/rgba?\\([^)]*\\)/g)
			.map((text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number));
		const its = view.spans.filter((one) => one.kind === kind).sort((a, b) => b.end - b.begin - a.end + a.begin)[0];
		if (!its || view.extent(its)[1] < 3)
			continue;
		const [x, w] = view.extent(its);
		const pixel = [...pen.getImageData((x + Math.min(1.2, w / 2)) * scale, (view.rowOf(its) + 1.5) * scale, 1, 1).data];
		if (pixel.slice(0, 3).some((c, i) => c < Math.min(ends[0][i], ends[1][i]) - 3 || c > Math.max(ends[0][i], ends[1][i]) + 3))
			wrong.push(kind + ' ' + pixel + ' is not in ' + JSON.stringify(ends));
	}
	return wrong;
})()`;

// Cells of a map whose colour stands in no legend below it, and maps of one colour for steps that differ.
const mapColours = `[...${PANEL}.querySelectorAll('.map')].flatMap((map) => {
	const known = new Set([...map.querySelectorAll('.scale i')].map((its) => getComputedStyle(its).backgroundColor));
	const cells = [...map.querySelectorAll('.cell')].map((its) => getComputedStyle(its).fill);
	return cells.filter((its) => !known.has(its)).concat(!cells.length || known.size > 1 && new Set(cells).size < 2
		? [map.querySelector('figcaption').textContent] : []);
}).slice(0, 5)`;

// From the top of the page the focus only goes down, as the eye does.
async function tabOrder(page)
{
	const stops = [];

	await page.evaluate(`location.hash = 'operator'`);
	await page.evaluate(`document.activeElement.blur(); window.scrollTo(0, 0);
		document.querySelector('.skip').focus()`);
	for (let i = 0; i < 10; i++) {
		await page.key('Tab');
		stops.push(await page.evaluate(`(() => { const all = [...document.querySelectorAll('*')];
			return all.indexOf(document.activeElement); })()`));
	}
	return stops.every((stop, i) => !i || stop > stops[i - 1]) ? 'in order' : stops.join(' ');
}

module.exports = {brokenWords, pale, nameless, colours, mapColours, timelineView, tabOrder};
