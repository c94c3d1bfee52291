// SPDX-License-Identifier: Apache-2.0
//
// page_charts.js - curves (by the chart library, where the page has it), bars of shares, columns

// ---- curves ----

// Its legend writes markup and styles that the page's own policy forbids: ours stands below.
if (typeof Dygraph !== 'undefined')
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

// series: [{label, colour, points: [[x, y], ...]}], by x. options: {x, y: units ('ns', 'step', 'B', ...),
// title, marks: [[from, to], ...], zoom(range), steps, stacked: how it is drawn, range: of all charts
// beside it}.
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

		this.from = options.range ? options.range[0] : xs.reduce((a, b) => Math.min(a, b), Infinity);
		this.to = options.range ? options.range[1] : xs.reduce((a, b) => Math.max(a, b), -Infinity);
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
		const ticker = (unit, pixels) => (from, to, room) => ticksOf(from, to, room / pixels, unit).ticks
			.map(({at, text}) => ({v: at, label: text}));

		// The library fixes the width of its element: one inside ours, which can shrink.
		this.box.replaceChildren(el('div'));
		this.graph = new Dygraph(this.box.firstChild, this.rows(), {
			labels: ['x', ...this.series.map((_, i) => `s${i}`)],
			colors: this.series.map((its) => its.colour),
			width, height: 240, legend: 'never', strokeWidth: 1.4, connectSeparatedPoints: true,
			stepPlot: Boolean(this.options.steps), includeZero: true,
			stackedGraph: Boolean(this.options.stacked), stackedGraphNaNFill: 'none', fillAlpha: 0.55,
			animatedZooms: false, dateWindow: this.to > this.from ? [this.from, this.to] : null,
			gridLineColor: 'rgba(128,128,128,0.22)', axisLineColor: 'rgba(128,128,128,0.5)',
			highlightCircleSize: 3, xRangePad: 4,
			axes: {
				x: {ticker: ticker(x, 90), axisLabelWidth: 80},
				y: {ticker: ticker(y, 36), axisLabelWidth: 74},
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
		this.value.textContent = `${showOn(at, this.options.x)}: ` + points.slice(0, 12).map((point) =>
			`${this.series[+point.name.slice(1)].label} ${showOn(point.yval, this.options.y)}`).join(', ');
	}

	zoomed()
	{
		const [from, to] = this.graph.xAxisRange();
		const isWhole = !(to - from < (this.to - this.from) * 0.999);

		this.reset.hidden = isWhole;
		if (this.options.zoom)
			this.options.zoom(isWhole ? null : [from, to]);
	}

	// range: null for the whole. isQuiet: it follows another chart.
	zoomTo(range, isQuiet)
	{
		if (!this.graph)
			return;
		this.graph.updateOptions({dateWindow: range || (this.to > this.from ? [this.from, this.to] : null)});
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
		const height = 240, left = 80, bottom = 22;
		const top = Math.max(...this.series.flatMap((its) => its.points.map((p) => p[1] || 0)), 1e-9);
		const x = (value) => left + (value - this.from) / (this.to - this.from || 1) * (width - left - 6);
		const y = (value) => (height - bottom) * (1 - value / top) + 2;

		this.box.replaceChildren(svg('svg', {width, height},
			ticksOf(0, top, 5, this.options.y).ticks.map(({at, text}) =>
				svg('text', {x: left - 6, y: y(at) + 10, class: 'end'}, text)),
			ticksOf(this.from, this.to, (width - left) / 90, this.options.x).ticks.map(({at, text}) =>
				svg('text', {x: x(at), y: height - 4, class: 'middle'}, text)),
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
		const height = 200, left = 64, bottom = 20, room = width - left;
		const per = Math.max(1, Math.ceil(steps.length * 3 / room));
		const shown = steps.filter((_, i) => i % per === 0), each = room / shown.length;
		const scale = (height - bottom - 16) / most;
		const every = Math.max(1, roundStep(shown.length / Math.max(1, Math.floor(room / 60))));
		const drawStep = (step, i) => {
			let y = height - bottom;

			return svg('g', {onmousemove: (event) => showTip(event, `${step.label}: ` +
				step.parts.filter((part) => part[1] > 0).map((part) =>
					`${part[0]} ${show(part[1], unit)}`).join(', ')), onmouseleave: hideTip},
			step.parts.filter((part) => part[1] > 0).map((part) => {
				y -= part[1] * scale;
				return svg('rect', {x: left + i * each, width: Math.max(1, each - (each > 4 ? 1 : 0)),
						    y, height: Math.max(0.5, part[1] * scale), fill: part[2]});
			}),
			i % every ? null : svg('text', {x: left + (i + 0.5) * each, y: height - 5,
							class: 'middle'}, step.short));
		};

		box.replaceChildren(svg('svg', {width, height},
			ticksOf(0, most, 4, unit).ticks.map(({at, text}) => [
				svg('line', {x1: left, x2: width, y1: height - bottom - at * scale,
					     y2: height - bottom - at * scale, class: 'grid'}),
				svg('text', {x: left - 6, y: height - bottom - at * scale + 4, class: 'end'},
					text)]).flat(),
			shown.map(drawStep)));
	});
	return el('figure', {}, el('figcaption', {}, title), box);
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
