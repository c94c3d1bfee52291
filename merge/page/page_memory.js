// SPDX-License-Identifier: Apache-2.0
//
// page_memory.js - what stands in the views of memory and of the machine: curves over time, and the tables that
// follow their zoom

// [process, begin, end] of each, in order.
function windowsOf(proc)
{
	return load('steps').windows.filter((its) => its[0] === proc).sort((a, b) => a[1] - b[1]);
}

// Slots as points; the extremes of one as two.
function pointsOf(curve)
{
	const points = [];
	let at = 0;

	curve.at.forEach((by, i) => {
		at += by;
		const ns = at * curve.width_ns, least = curve.least ? curve.least[i] : curve.most[i];

		if (least !== curve.most[i])
			points.push([ns, least]);
		points.push([ns + (least !== curve.most[i] ? curve.width_ns / 2 : 0), curve.most[i]]);
	});
	return points;
}

// A value holds until the next one, for it is recorded when it changes; between two windows of a process
// nothing is known: what came before ends with its window. A point stands where its slot begins: up to
// `width_ns` before what is in it.
function withGaps(points, windows, width_ns)
{
	const result = [];
	const holdTo = (ns) => {
		const last = result[result.length - 1];

		if (last && last[0] < ns)
			result.push([ns, last[1]]);
	};
	let next = 1;

	for (const point of points) {
		for (; next < windows.length && windows[next][1] <= point[0] + width_ns; next++)
			if (result.length && windows[next - 1][2] < windows[next][1]) {
				holdTo(windows[next - 1][2]);
				result.push([result[result.length - 1][0] + 1, null]);
			}
		result.push(point);
	}
	if (windows.length)
		holdTo(windows[next - 1][2]);
	return result;
}

function curveName(curve)
{
	const place = curve.device === undefined ? 'host' : `GPU ${curve.device}`;

	if (curve.kind === 'tensors')
		return `tensors, ${place}`;
	if (curve.kind === 'reserved')
		return `reserved by the allocator, ${place}`;
	return curve.device === undefined ? curve.name : `${curve.name}, ${place}`;
}

function curvesChart(curves, title, zoom, range)
{
	const names = processNames();
	const several = new Set(curves.map((its) => its.proc)).size > 1;

	return new Curves(curves.map((its, i) => ({
		label: (several ? `${names[its.proc]}: ` : '') + curveName(its), colour: colour(i),
		points: curvePoints(its),
	})), {title, x: 'ns', y: curves[0].kind === 'counter' ? curves[0].unit : 'B', zoom, steps: true, range});
}

// Tensors by category, from the view's table of the largest in each stretch of time.
function categoriesChart(table, process, device, zoom, range)
{
	const at = columnAt(table, 'peak_ns'), first = columnAt(table, 'bytes') + 1;
	const who = columnAt(table, 'process'), where = columnAt(table, 'device');
	const rows = table.rows.filter((row) => row[who] === process && row[where] === device &&
		typeof row[at] === 'number').sort((a, b) => a[at] - b[at]);

	const windows = windowsOf(processNames().indexOf(process));

	return rows.length < 2 ? null : new Curves(table.columns.slice(first).map((its, i) => ({
		label: its.title, colour: memoryColour(its.title, 58),
		points: withGaps(rows.map((row) => [row[at], row[first + i] || 0]), windows, 0),
	})).filter((its) => its.points.some((point) => point[1])),
	{title: `Tensors by category, ${device}`, x: 'ns', y: 'B', zoom, stacked: true, range});
}

// The first and last step of a process in a stretch of time.
function stepsIn(proc, [from, to])
{
	const its = load('steps').procs.find((each) => each.proc === proc);
	let first = Infinity, last = -Infinity;

	if (its)
		its.step.forEach((step, i) => {
			if (its.begin_ns[i] < to && its.begin_ns[i] + its.time_ns[i] > from) {
				first = Math.min(first, step);
				last = Math.max(last, step + its.per - 1);
			}
		});
	return [first, last];
}

// Rows outside the zoom are hidden: blocks that did not live in it, steps that were not in it.
// range: of time, or (isSteps) of numbers of steps; null: everything is shown.
function filterTables(tables, range, proc, isSteps)
{
	const names = processNames();

	for (const table of tables) {
		const step = table.columnOf('step'), process = table.columnOf('process');
		const from = table.columnOf('allocated_ns'), to = table.columnOf('freed_ns');
		const stepsOf = (row) => {
			const its = process < 0 ? -1 : names.indexOf(row[process]);

			return isSteps ? range : stepsIn(its < 0 ? proc : its, range);
		};

		// What was there before, or is there later, has words in place of times.
		if (from >= 0 && to >= 0 && !isSteps)
			table.setFilter(range && ((row) => !(row[from] > range[1]) && !(row[to] < range[0])));
		else if (step >= 0)
			table.setFilter(range && ((row) => {
				const [first, last] = stepsOf(row);

				return row[step] >= first && row[step] <= last;
			}));
	}
}

// Curves of one size stand together: the machine's memory would flatten the process's.
function groupOf(curve)
{
	if (curve.kind !== 'counter')
		return 'Tensor memory';
	if (curve.unit !== 'B')
		return curve.name;
	if (curve.device !== undefined)
		return 'Device memory';
	if (curve.group === 'system')
		return 'Memory of the machine';
	return curve.name === 'virtual' ? 'Addresses of the process' : 'Memory of the process';
}

function curvePoints(curve)
{
	return withGaps(pointsOf(curve), windowsOf(curve.proc), curve.width_ns);
}

// From the first to the last time that any of the curves has.
function rangeOf(curves)
{
	const range = [Infinity, -Infinity];

	for (const its of curves) {
		const points = curvePoints(its);

		if (!points.length)
			continue;
		range[0] = Math.min(range[0], points[0][0]);
		range[1] = Math.max(range[1], points[points.length - 1][0]);
	}
	return range[1] > range[0] ? range : null;
}

// By what stands together, in the order in which they are met.
function groupCurves(curves)
{
	const groups = new Map();

	for (const its of curves) {
		const group = groupOf(its);

		groups.set(group, [...(groups.get(group) || []), its]);
	}
	return groups;
}

// All charts show the same time, and are zoomed together.
function buildCurves(panel, isWanted, tables)
{
	const curves = load('curves').curves.filter(isWanted), names = processNames();
	const procs = [...new Set(curves.map((its) => its.proc))].sort((a, b) => a - b);
	const body = el('div');
	const categories = findTable(viewsOf('memory'), 'tensor_curve');
	const draw = (proc) => {
		const charts = [], chosen = curves.filter((its) => proc === null || its.proc === proc), range = rangeOf(chosen);
		const zoom = (to) => {
			charts.forEach((chart) => chart.zoomTo(to, true));
			filterTables(tables, to, proc === null ? procs[0] : proc);
		};

		for (const [title, its] of groupCurves(chosen)) {
			charts.push(curvesChart(its.slice(0, 24), title, zoom, range));
			if (title === 'Tensor memory' && categories && proc !== null)
				// The host's last: what runs out is a device's.
				for (const device of [...new Set(column(categories, 'device'))].sort((a, b) =>
					(a === 'CPU') - (b === 'CPU'))) {
					const chart = categoriesChart(categories, names[proc], device, zoom, range);

					if (chart)
						charts.push(chart);
				}
		}
		body.replaceChildren(...charts.map((chart) => chart.element));
		filterTables(tables, null, 0);
	};

	if (!curves.length)
		return;
	panel.append(el('div', {class: 'tools'}, procs.length > 1 ? select('Rank',
		[...procs.map((its) => [its, names[its]]), ['', 'all']], procs[0],
		(value) => draw(value === '' ? null : Number(value))) : null,
	el('span', {class: 'help'}, 'Drag to zoom, double click or Escape to leave; + - and arrows when a curve has ' +
		'the focus. All charts and the tables of steps show what the zoom shows.')), body);
	draw(procs[0]);
}

function isMemory(curve)
{
	return curve.kind !== 'counter' || curve.unit === 'B';
}

function buildMemory(panel)
{
	const tables = [], sections = viewsOf('memory').flatMap(sectionsOf);

	panel.append(...answersOf(sections, 1), el('div', {}, ...treemaps()));
	buildCurves(panel, isMemory, tables);
	panel.append(el('div', {}, sections.map((its) => section(its, tables))));
}
