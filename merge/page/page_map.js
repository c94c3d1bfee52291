// SPDX-License-Identifier: Apache-2.0
//
// page_map.js - ranks by steps, coloured by a figure; a click or Enter on a cell leads somewhere

// Light to dark blue, then red: also told apart in grey. Each is a class of the scale, and stands in the legend.
const HEAT = ['#dee8f2', '#b3d3e8', '#7fb9db', '#4292c6', '#1f68a9', '#084594', '#a50f15'];

function heatColour(share)
{
	return HEAT[Math.max(0, Math.min(HEAT.length - 1, Math.floor(share * HEAT.length)))];
}

// From the shortest of the times to the longest: the part of the scale that a time is, and back, in words.
function timeScale(times)
{
	const shortest = times.reduce((a, b) => Math.min(a, b), Infinity);
	const room = times.reduce((a, b) => Math.max(a, b), -Infinity) - shortest;

	return {share: (time) => (time - shortest) / Math.max(1, room),
		text: (share) => showNs(Math.round(shortest + room * share))};
}

class StepMap {
	// its: {title, rows: [names], cells: [{row: its number, step, share (of the scale), text}],
	// scale(share): its value in words, go(cell), help}. A column that stands for several steps shows
	// the cell with the highest share.
	constructor(its)
	{
		this.its = its;
		this.steps = [...new Set(its.cells.map((cell) => cell.step))].sort((a, b) => a - b);
		this.columnOf = new Map(this.steps.map((step, i) => [step, i]));
		this.box = el('div', {class: 'heat', tabindex: '0', role: 'group', 'aria-label':
			`${its.title}: the arrows move, Enter ${its.help}`, onkeydown: (event) => this.key(event)});
		this.value = el('p', {class: 'value', role: 'status'}, '\u00a0');
		this.element = el('figure', {class: 'chart map'}, el('figcaption', {}, its.title), this.box, this.value,
			this.legend());
		onWidth(this.box, (width) => this.draw(width));
	}

	// Each colour, and from which value to which it stands.
	legend()
	{
		const limits = [...HEAT.keys(), HEAT.length].map((i) => this.its.scale(i / HEAT.length));
		const n = limits.every((limit) => limit === limits[0]) ? 0 : HEAT.length;

		return el('p', {class: 'scale'}, limits.slice(0, n || 1).map((limit, i) =>
			[el('span', {}, limit), el('i', {style: {background: HEAT[i]}})]).flat(),
		n ? el('span', {}, limits[n]) : null);
	}

	// The cell that is looked at; undefined: none
	select(cell)
	{
		this.picked = cell;
		this.markPicked();
	}

	draw(width)
	{
		const {rows, cells} = this.its, left = Math.min(120, width / 4), bottom = 20, room = width - left;
		const per = Math.max(1, Math.ceil(this.steps.length * 4 / room)), columns = Math.ceil(this.steps.length / per);
		const each = Math.min(48, room / columns), tall = Math.max(7, Math.min(22, 640 / rows.length));
		const worst = new Map();

		this.size = {left, each, tall, per, columns};
		for (const cell of cells) {
			const key = this.keyOf(cell), before = worst.get(key);

			if (!before || cell.share > before.share)
				worst.set(key, cell);
		}
		this.shown = worst;
		this.mark = svg('rect', {class: 'mark', visibility: 'hidden'});
		this.box.replaceChildren(svg('svg', {width, height: rows.length * tall + bottom},
			rows.map((row, i) => tall < 11 && i % 4 ? null
				: svg('text', {x: left - 6, y: (i + 0.5) * tall + 4, class: 'end'}, row)),
			[...worst].map(([key, cell]) => svg('rect', {
				class: 'cell', x: left + key % 1e6 * each, y: Math.floor(key / 1e6) * tall,
				width: Math.max(1, each - (each > 5 ? 1 : 0)), height: tall - 1, fill: heatColour(cell.share),
				onmousemove: (event) => showTip(event, cell.text), onmouseleave: hideTip,
				onclick: () => this.its.go(cell),
			})),
			this.mark, this.drawScale(rows.length * tall + 15)));
		this.markPicked();
	}

	drawScale(y)
	{
		const {left, each, per, columns} = this.size;
		const every = Math.max(1, roundStep(70 / each)), texts = [];

		for (let i = 0; i < columns; i += every)
			texts.push(svg('text', {x: left + i * each, y}, `${i ? '' : 'step '}${showCount(this.steps[i * per])}`));
		return texts;
	}

	keyOf(cell)
	{
		return cell.row * 1e6 + Math.floor(this.columnOf.get(cell.step) / this.size.per);
	}

	markPicked()
	{
		if (!this.mark)
			return;
		this.mark.setAttribute('visibility', this.picked ? 'visible' : 'hidden');
		if (!this.picked)
			return;
		const {left, each, tall} = this.size, key = this.keyOf(this.picked);

		for (const [name, value] of [['x', left + key % 1e6 * each], ['y', Math.floor(key / 1e6) * tall],
					     ['width', Math.max(2, each - 1)], ['height', tall - 1]])
			this.mark.setAttribute(name, value);
		this.value.textContent = this.picked.text;
	}

	key(event)
	{
		if (!this.shown)
			return;
		const now = this.picked ? this.keyOf(this.picked) : -1;
		const by = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1e6, ArrowUp: -1e6}[event.key];

		if (event.key === 'Enter' && this.picked)
			this.its.go(this.picked);
		else if (by && now < 0)
			this.select(this.shown.values().next().value);
		else if (by && this.shown.has(now + by))
			this.select(this.shown.get(now + by));
		else if (!by)
			return;
		event.preventDefault();
	}
}
