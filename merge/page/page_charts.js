// SPDX-License-Identifier: Apache-2.0
//
// page_charts.js - curves (by the chart library, where the page has it), bars, rings, the heat map

// ---- curves ----

// Its legend writes markup and styles that the page's own policy forbids: ours stands below.
if (typeof Dygraph !== 'undefined')
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

// series: [{label, colour, points: [[x, y], ...]}], by x. options: {x, y: how figures are shown,
// title, marks: [[from, to], ...], zoom(range), steps, stacked: how it is drawn, isBytes}.
class Curves {
	constructor(series, options)
	{
		this.series = series;
		this.options = options;
		this.box = el('div', {class: 'plot', role: 'img', 'aria-label': options.title, tabindex: '0',
				      onkeydown: (event) => this.key(event)});
		this.legend = el('ul', {class: 'legend'}, series.map((its) =>
			el('li', {}, el('i', {style: {background: its.colour}}), its.label)));
		this.value = el('p', {class: 'value', role: 'status'}, '\u00a0');
		this.reset = el('button', {type: 'button', class: 'small', hidden: true,
					   onclick: () => this.zoomTo(null)}, 'Whole range');
		this.element = el('figure', {class: 'chart'},
			el('figcaption', {}, options.title, ' ', this.reset), this.box, this.value,
			series.length > 1 ? this.legend : null);
		const xs = series.flatMap((its) => its.points.map((point) => point[0]));

		this.from = xs.reduce((a, b) => Math.min(a, b), Infinity);
		this.to = xs.reduce((a, b) => Math.max(a, b), -Infinity);
		onWidth(this.box, (width) => this.draw(width));
	}

	// What the library wants: a row for each x, a column for each curve.
	rows()
	{
		const at = new Map();

		this.series.forEach((its, i) => its.points.forEach(([x, y]) => {
			if (!at.has(x))
				at.set(x, new Array(this.series.length).fill(undefined));
			at.get(x)[i] = y;
		}));
		// undefined: this curve has no point here; NaN would break it, as a null point does.
		return [...at.keys()].sort((a, b) => a - b).map((x) =>
			[x, ...at.get(x).map((y) => y === undefined ? null : y === null ? NaN : y)]);
	}

	draw(width)
	{
		if (typeof Dygraph === 'undefined') {
			this.drawPlain(width);
			return;
		}
		if (this.graph) {
			this.graph.resize(width, 240);
			return;
		}
		const {x, y} = this.options;

		// The library fixes the width of its element: one inside ours, which can shrink.
		this.box.replaceChildren(el('div'));
		this.graph = new Dygraph(this.box.firstChild, this.rows(), {
			labels: ['x', ...this.series.map((_, i) => `s${i}`)],
			colors: this.series.map((its) => its.colour),
			width, height: 240, legend: 'never', strokeWidth: 1.4, connectSeparatedPoints: true,
			stepPlot: Boolean(this.options.steps), includeZero: true,
			stackedGraph: Boolean(this.options.stacked), stackedGraphNaNFill: 'none', fillAlpha: 0.55,
			animatedZooms: false,
			gridLineColor: 'rgba(128,128,128,0.22)', axisLineColor: 'rgba(128,128,128,0.5)',
			highlightCircleSize: 3, xRangePad: 4,
			axes: {
				x: {axisLabelFormatter: (value) => x(value), pixelsPerLabel: 80},
				y: {axisLabelFormatter: (value) => y(value), axisLabelWidth: 74,
				    labelsKMG2: Boolean(this.options.isBytes)},
			},
			underlayCallback: (canvas, area, graph) => this.drawMarks(canvas, area, graph),
			highlightCallback: (_, at, points) => this.say(at, points),
			unhighlightCallback: () => { this.value.textContent = '\u00a0'; },
			zoomCallback: () => this.zoomed(),
		});
	}

	drawMarks(canvas, area, graph)
	{
		canvas.fillStyle = 'rgba(230,159,0,0.16)';
		for (const [from, to] of this.options.marks || []) {
			const left = graph.toDomXCoord(from), right = graph.toDomXCoord(to);

			canvas.fillRect(Math.max(left, area.x), area.y,
				Math.max(2, Math.min(right, area.x + area.w) - Math.max(left, area.x)), area.h);
		}
	}

	say(at, points)
	{
		this.value.textContent = `${this.options.x(at)}: ` + points.slice(0, 12).map((point) =>
			`${this.series[+point.name.slice(1)].label} ${this.options.y(point.yval)}`).join(', ');
	}

	zoomed()
	{
		const [from, to] = this.graph.xAxisRange();
		const isWhole = !this.graph.isZoomed('x');

		this.reset.hidden = isWhole;
		if (this.options.zoom)
			this.options.zoom(isWhole ? null : [from, to]);
	}

	// range: null for the whole. isQuiet: it follows another chart.
	zoomTo(range, isQuiet)
	{
		if (!this.graph)
			return;
		if (range || this.graph.isZoomed('x'))
			this.graph.updateOptions({dateWindow: range});
		this.reset.hidden = !range;
		if (this.options.zoom && !isQuiet)
			this.options.zoom(range);
	}

	// + - and the arrows, when the chart has the focus.
	key(event)
	{
		if (!this.graph || event.target !== this.box)
			return;
		const [from, to] = this.graph.xAxisRange(), width = to - from;
		const next = {'+': [from + width / 4, to - width / 4], '=': [from + width / 4, to - width / 4],
			      '-': [from - width / 2, to + width / 2], ArrowLeft: [from - width / 4, to - width / 4],
			      ArrowRight: [from + width / 4, to + width / 4]}[event.key];

		if (event.key === '0' || event.key === 'Escape')
			this.zoomTo(null);
		else if (next && next[1] - next[0] >= this.to - this.from)
			this.zoomTo(null);
		else if (next)
			this.zoomTo(next);
		else
			return;
		event.preventDefault();
	}

	// Without the library: lines, no zoom.
	drawPlain(width)
	{
		const height = 240, left = 76, bottom = 22;
		const top = Math.max(...this.series.flatMap((its) => its.points.map((p) => p[1] || 0)), 1e-9);
		const x = (value) => left + (value - this.from) / (this.to - this.from || 1) * (width - left - 6);
		const y = (value) => (height - bottom) * (1 - value / top) + 2;

		this.box.replaceChildren(svg('svg', {width, height},
			[0, 0.5, 1].map((part) => svg('text', {x: left - 6, y: y(top * part) + 10, class: 'end'},
				this.options.y(top * part))),
			svg('text', {x: left, y: height - 4}, this.options.x(this.from)),
			svg('text', {x: width - 4, y: height - 4, class: 'end'}, this.options.x(this.to)),
			this.series.map((its) => svg('polyline', {fill: 'none', stroke: its.colour,
				points: its.points.filter((p) => p[1] !== null)
					.map((p) => `${x(p[0])},${y(p[1])}`).join(' ')}))));
	}
}

// ---- bars of shares ----

// parts: [[label, value, colour], ...]; one bar, its legend says what is what.
function stackedBar(parts, total, unit)
{
	return el('div', {class: 'stack', role: 'img', 'aria-label': parts.map(([label, value]) =>
		`${label} ${showPercent(100 * value / total)}`).join(', ')},
		parts.filter(([, value]) => value > 0).map(([label, value, its]) => el('span', {
			style: {background: its, width: `${100 * value / total}%`},
			onmousemove: (event) => showTip(event, `${label}: ${show(value, unit)}, ` +
				showPercent(100 * value / total)),
			onmouseleave: hideTip,
		})));
}

function legendOf(parts, total, unit, whole)
{
	return el('table', {class: 'parts'}, el('tbody', {}, parts.map(([label, value, its]) => el('tr', {},
		el('th', {scope: 'row'}, el('i', {style: {background: its}}), label),
		el('td', {class: 'right'}, show(value, unit)),
		el('td', {class: 'right'}, showPercent(100 * value / total)))),
	el('tr', {class: 'bold'}, el('th', {scope: 'row'}, whole), el('td', {class: 'right'}, show(total, unit)),
		el('td', {class: 'right'}, showPercent(100)))));
}

// A column a step, each a stack of shares. steps: [{label, parts}]
function stackedColumns(steps, title, unit)
{
	const box = el('div', {class: 'columns', role: 'img', 'aria-label': title});
	const most = Math.max(...steps.map((step) => step.parts.reduce((sum, part) => sum + part[1], 0)), 1);

	onWidth(box, (width) => {
		const height = 200, left = 70, bottom = 20, room = width - left;
		const per = Math.max(1, Math.ceil(steps.length * 3 / room));
		const shown = steps.filter((_, i) => i % per === 0), each = room / shown.length;
		const scale = (height - bottom - 6) / most;
		const labels = Math.ceil(shown.length / Math.max(1, Math.floor(room / 60)));

		box.replaceChildren(svg('svg', {width, height},
			[0, 0.5, 1].map((part) => [
				svg('line', {x1: left, x2: width, y1: height - bottom - most * part * scale,
					     y2: height - bottom - most * part * scale, class: 'grid'}),
				svg('text', {x: left - 6, y: height - bottom - most * part * scale + 4, class: 'end'},
					show(most * part, unit))]).flat(),
			shown.map((step, i) => {
				let y = height - bottom;

				return svg('g', {onmousemove: (event) => showTip(event, `${step.label}: ` +
					step.parts.filter((part) => part[1] > 0).map((part) =>
						`${part[0]} ${show(part[1], unit)}`).join(', ')), onmouseleave: hideTip},
					step.parts.filter((part) => part[1] > 0).map((part) => {
						y -= part[1] * scale;
						return svg('rect', {x: left + i * each, width: Math.max(1, each - (each > 4 ? 1 : 0)),
								    y, height: Math.max(0.5, part[1] * scale), fill: part[2]});
					}),
					i % labels ? null : svg('text', {x: left + (i + 0.5) * each, y: height - 5,
									 class: 'middle'}, step.short));
			})));
	});
	return box;
}

// The largest of a column of figures, as bars with their names.
function topBars(rows, unit, title)
{
	const most = Math.max(...rows.map((row) => row[1]), 1);

	return el('div', {class: 'bars', role: 'img', 'aria-label': title}, rows.map(([label, value]) =>
		el('div', {class: 'bar'}, el('span', {class: 'name', title: label}, label),
			el('span', {class: 'track'}, el('span', {style: {width: `${100 * value / most}%`}})),
			el('span', {class: 'right'}, show(value, unit)))));
}

// ---- ranks by steps ----

function heatColour(share)
{
	// Light to dark blue, then red: also told apart in grey.
	const stops = [[237, 242, 247], [158, 202, 225], [66, 146, 198], [8, 69, 148], [165, 15, 21]];
	const at = Math.max(0, Math.min(1, share)) * (stops.length - 1), i = Math.min(Math.floor(at), 3);

	return `rgb(${stops[0].map((_, c) =>
		Math.round(stops[i][c] + (stops[i + 1][c] - stops[i][c]) * (at - i))).join(' ')})`;
}

// cells: [[row, step, value, whole], ...]; a cell that stands for several shows the worst of them.
function heatMap(rows, cells, title)
{
	const box = el('div', {class: 'heat', role: 'img', 'aria-label': title});
	const steps = [...new Set(cells.map((cell) => cell[1]))].sort((a, b) => a - b);
	const number = new Map(steps.map((step, i) => [step, i]));
	const most = Math.max(...cells.map((cell) => cell[3] > 0 ? cell[2] / cell[3] : 0), 0.1);

	onWidth(box, (width) => {
		const left = Math.min(120, width / 4), bottom = 20, room = width - left;
		const per = Math.max(1, Math.ceil(steps.length * 4 / room));
		const each = room / Math.ceil(steps.length / per), tall = Math.max(6, Math.min(22, 640 / rows.length));
		const worst = new Map();

		for (const cell of cells) {
			const key = rows.indexOf(cell[0]) * 1e6 + Math.floor(number.get(cell[1]) / per);
			const before = worst.get(key);

			if (!before || cell[2] / cell[3] > before[2] / before[3])
				worst.set(key, cell);
		}
		box.replaceChildren(svg('svg', {width, height: rows.length * tall + bottom},
			rows.map((row, i) => tall < 11 && i % 4 ? null
				: svg('text', {x: left - 6, y: (i + 0.5) * tall + 4, class: 'end'}, row)),
			[...worst].map(([key, [row, step, late, whole]]) => svg('rect', {
				x: left + key % 1e6 * each, y: Math.floor(key / 1e6) * tall,
				width: Math.max(1, each - (each > 5 ? 1 : 0)), height: tall - 1,
				fill: heatColour(whole > 0 ? late / whole / most : 0),
				'data-late': late,
				onmousemove: (event) => showTip(event,
					`${row}, step ${step}: ${showNs(late)} late in ${showNs(whole)}`),
				onmouseleave: hideTip,
			})),
			svg('text', {x: left, y: rows.length * tall + 15}, `step ${steps[0]}`),
			svg('text', {x: width, y: rows.length * tall + 15, class: 'end'},
				`step ${steps[steps.length - 1]}`)));
	});
	return el('figure', {class: 'chart'}, el('figcaption', {}, title), box,
		el('p', {class: 'scale'}, el('span', {}, 'on time'),
			[0, 0.25, 0.5, 0.75, 1].map((part) => el('i', {style: {background: heatColour(part)}})),
			el('span', {}, `${showPercent(100 * most)} of the step late`)));
}
