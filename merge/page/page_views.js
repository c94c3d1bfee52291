// SPDX-License-Identifier: Apache-2.0
//
// page_views.js - what stands in each view: its charts, then the blocks that the view printed

const FOLDED = new Set(['step_breakdown', 'comm_steps', 'tensor_curve']);	// long tables that a chart shows

// Titles begin sections; sections: [{title, blocks}]
function sectionsOf(view)
{
	const sections = [];

	for (const block of view.blocks) {
		if (block.kind === 't')
			sections.push({title: block.text, blocks: []});
		else {
			if (!sections.length)
				sections.push({title: '', blocks: []});
			sections[sections.length - 1].blocks.push(block);
		}
	}
	return sections.filter((its) => its.blocks.length);
}

// Items that follow each other are one list; one without a label goes on with the one before.
function addItem(parent, block)
{
	let list = parent.lastElementChild;

	if (!list || list.tagName !== 'DL') {
		list = el('dl');
		parent.append(list);
	}
	if (!block.label && list.lastElementChild) {
		list.lastElementChild.append(el('span', {class: `line ${block.style || ''}`}, block.text));
		return;
	}
	list.append(el('dt', {class: block.style}, block.label),
		    el('dd', {class: block.style}, el('span', {class: 'line'}, block.text)));
}

// Into `parent`; tables made go to `tables`.
function addBlocks(parent, blocks, title, tables)
{
	for (const block of blocks) {
		if (block.rows) {
			const table = new Table(block, title);

			tables.push(table);
			parent.append(FOLDED.has(block.name)
				? el('details', {}, el('summary', {}, `As a table (${showCount(block.rows.length)} rows)`),
				     table.element)
				: table.element);
		} else if (block.kind === 'i') {
			addItem(parent, block);
		} else {
			parent.append(el('p', {class: `line ${block.style || ''} ${block.indent > 2 ? 'deeper' : ''}`},
					 block.text));
		}
	}
}

function section(its, tables, className)
{
	const element = el('section', {class: className}, its.title ? el('h2', {}, its.title) : null);

	addBlocks(element, its.blocks, its.title, tables);
	return element;
}

function viewsOf(name)
{
	return load('views').filter((view) => view.name === name);
}

function processNames()
{
	return load('run').procs;
}

// ---- overview ----

// The parts of a step's time: [column, its title, its colour] of each.
function categoriesOf(table)
{
	return table.columns.map((its, c) => [c, its.title, CATEGORY[its.field] || colourOf(its.title), its])
		.filter(([, , , its]) => its.unit === 'ns' && its.field !== 'time_ns');
}

// Sums of the table of all recorded steps, by category.
function breakdownOf(table, process)
{
	const time = columnAt(table, 'time_ns'), who = columnAt(table, 'process');
	const rows = table.rows.filter((row) => process === null || row[who] === process), n = rows.length || 1;
	const sum = (c) => rows.reduce((all, row) => all + row[c], 0);

	return {n: rows.length, all: Math.floor(sum(time) / n),
		parts: categoriesOf(table).map(([c, title, colour]) => [title, Math.floor(sum(c) / n), colour])
			.filter(([, value]) => value > 0)};
}

// A column for each step: of a rank, or the average of the ranks that recorded it.
function stepColumns(table, rows, isAverage)
{
	const steps = new Map(), number = columnAt(table, 'step'), categories = categoriesOf(table);

	for (const row of rows) {
		const its = steps.get(row[number]) || {n: 0, ns: categories.map(() => 0)};

		its.n++;
		categories.forEach(([c], i) => { its.ns[i] += row[c]; });
		steps.set(row[number], its);
	}
	return steps.size < 2 ? '' : stackedColumns([...steps].sort((a, b) => a[0] - b[0]).map(([step, its]) => ({
		label: `step ${showCount(step)}${isAverage ? `, average of ${its.n} ranks` : ''}`, short: showCount(step),
		parts: categories.map(([, title, colour], i) => [title, Math.round(its.ns[i] / its.n), colour]),
	})), 'Recorded steps', 'ns');
}

function breakdownCard(table)
{
	const body = el('div'), who = columnAt(table, 'process'), names = [...new Set(table.rows.map((row) => row[who]))];
	const draw = (process) => {
		const {n, all, parts} = breakdownOf(table, process);
		const rows = table.rows.filter((row) => process === null || row[who] === process);

		body.replaceChildren(el('p', {class: 'big'}, showNs(Math.round(all)),
			el('small', {}, ` a step, average of ${showCount(n)} recorded`)),
			stackedBar(parts, all, 'ns'), legendOf(parts, all, 'ns', 'step'),
			stepColumns(table, rows, process === null && names.length > 1));
	};

	draw(null);
	return el('section', {class: 'card', 'data-card': 'breakdown'}, el('h2', {}, 'Where a step goes'),
		names.length > 1 ? select('Rank', [['', 'all'], ...names.map((name) => [name, name])], '',
			(value) => draw(value || null)) : null, body);
}

// The rules that are broken, the most expensive first: what, how much, where, what to do.
function adviceCard(table)
{
	const [rule, cost, evidence, place, todo] =
		['rule', 'step_percent', 'evidence', 'place', 'advice'].map((field) => column(table, field));

	return el('section', {class: 'card advice'}, el('h2', {}, 'What holds it back'),
		el('ol', {}, table.rows.map((_, i) => el('li', {class: table.styles[i]},
			el('p', {}, el('strong', {}, rule[i]), typeof cost[i] === 'number' && cost[i] > 0
				? el('span', {class: 'cost'}, `${showPercent(cost[i])} of a step`) : null),
			el('p', {}, evidence[i]),
			place && place[i] ? el('p', {}, el('code', {}, place[i])) : null,
			todo && todo[i] ? el('p', {class: 'dim'}, todo[i]) : null))));
}

function buildOverview(panel)
{
	const views = viewsOf('overview'), tables = [];
	const table = findTable(views, 'step_breakdown'), advice = findTable(views, 'advice');
	const sections = sectionsOf({blocks: views[0].blocks.filter((block) => block !== advice)});
	const who = sections[0];

	who.title = 'The run';
	panel.append(el('div', {class: 'first'},
		advice ? adviceCard(advice) : null,
		table ? breakdownCard(table) : null,
		section(who, tables, 'card who')));
	for (const its of sections)
		if (its !== who)
			panel.append(section(its, tables));
}

// ---- operators, kernels ----

const RANKED = new Set(['ns', 'bytes', 'count']);	// units of which a largest is of interest

function topCard(table)
{
	const figures = table.columns.map((its, c) => [c, its]).filter(([c, its]) => RANKED.has(its.unit) &&
		table.rows.some((row) => typeof row[c] === 'number'));
	const name = table.columns.findIndex((its) => !its.right);

	if (!figures.length || name < 0 || table.rows.length < 2)
		return null;
	const box = el('div');
	const draw = (c, n) => {
		const rows = [...table.rows].filter((row) => typeof row[c] === 'number' && row[c] > 0)
			.sort((a, b) => b[c] - a[c]).slice(0, n);

		box.replaceChildren(topBars(rows.map((row) => [row[name], row[c]]),
			table.columns[c].unit, `Most ${table.columns[c].title}`));
	};
	let now = figures.find(([, its]) => its.field === table.order) || figures[0], n = 10;

	draw(now[0], n);
	return el('section', {class: 'card'}, el('h2', {}, 'Top'), el('div', {class: 'tools'},
		select('by', figures.map(([c, its]) => [c, its.title]), now[0], (value) => {
			now = [Number(value)];
			draw(now[0], n);
		}), select('top', [5, 10, 20, 40].map((its) => [its, its]), n, (value) => {
			n = Number(value);
			draw(now[0], n);
		})), box);
}

// Views that are shown in two ways: a button for each.
function buildRanked(panel, name)
{
	const views = viewsOf(name), first = views[0].blocks.find((block) => block.rows);
	const fields = new Set(first ? first.columns.map((its) => its.field) : []);
	// One that tells nothing more (no shapes were recorded, no stacks) is left out.
	const ways = views.filter((view, i) => !i || view.blocks.some((block) => block.rows &&
		block.columns.some((its, c) => !fields.has(its.field) && block.rows.some((row) => row[c] !== ''))));
	const body = el('div');
	const draw = (view) => {
		const tables = [], table = view.blocks.find((block) => block.rows);

		body.replaceChildren(...[table ? topCard(table) : null].filter(Boolean),
			...sectionsOf(view).map((its) => section(its, tables)));
	};

	if (ways.length > 1) {
		const buttons = ways.map((view, i) => el('button', {type: 'button', 'aria-pressed': String(!i),
			onclick: () => {
				buttons.forEach((button, k) => button.setAttribute('aria-pressed', String(k === i)));
				draw(view);
			}}, view.way || 'by name'));

		panel.append(el('div', {class: 'ways', role: 'group', 'aria-label': 'Rows'}, buttons));
	}
	draw(ways[0]);
	panel.append(body);
}

// ---- memory, counters ----

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

// Between two windows of a process nothing is known: what came before ends with its window. A point
// stands where its slot begins: up to `width_ns` before what is in it.
function withGaps(points, windows, width_ns)
{
	const result = [];
	let next = 1;

	for (const point of points) {
		for (; next < windows.length && windows[next][1] <= point[0] + width_ns; next++)
			if (result.length && windows[next - 1][2] < windows[next][1])
				result.push([Math.max(windows[next - 1][2], result[result.length - 1][0]) + 1, null]);
		result.push(point);
	}
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

function curvesChart(curves, title, zoom)
{
	const names = processNames();
	const several = new Set(curves.map((its) => its.proc)).size > 1;
	const unit = curves[0].kind === 'counter' ? curves[0].unit : 'B';

	return new Curves(curves.map((its, i) => ({
		label: (several ? `${names[its.proc]}: ` : '') + curveName(its), colour: colour(i),
		points: withGaps(pointsOf(its), windowsOf(its.proc), its.width_ns),
	})), {title, x: (ns) => showNs(Math.round(ns)), y: (value) => showUnit(value, unit), zoom, steps: true,
	      isBytes: unit === 'B'});
}

// Tensors by category, from the view's table of the largest in each stretch of time.
function categoriesChart(table, process, device, zoom)
{
	const at = columnAt(table, 'peak_ns'), first = columnAt(table, 'bytes') + 1;
	const who = columnAt(table, 'process'), where = columnAt(table, 'device');
	const rows = table.rows.filter((row) => row[who] === process && row[where] === device &&
		typeof row[at] === 'number').sort((a, b) => a[at] - b[at]);

	const windows = windowsOf(processNames().indexOf(process));

	return rows.length < 2 ? null : new Curves(table.columns.slice(first).map((its, i) => ({
		label: its.title, colour: colour(i),
		points: withGaps(rows.map((row) => [row[at], row[first + i] || 0]), windows, 0),
	})).filter((its) => its.points.some((point) => point[1])),
	{title: `Tensors by category, ${device}`, x: (ns) => showNs(Math.round(ns)), y: (value) => showUnit(value, 'B'),
	 zoom, stacked: true, isBytes: true});
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

function buildCurves(panel, isWanted, tables)
{
	const curves = load('curves').curves.filter(isWanted), names = processNames();
	const procs = [...new Set(curves.map((its) => its.proc))].sort((a, b) => a - b);
	const body = el('div');
	const categories = findTable(viewsOf('memory'), 'tensor_curve');
	const draw = (proc) => {
		const groups = new Map(), charts = [];
		// All of them show the same time.
		const zoom = (range) => {
			charts.forEach((chart) => chart.zoomTo(range, true));
			filterTables(tables, range, proc === null ? procs[0] : proc);
		};

		for (const its of curves) {
			if (proc !== null && its.proc !== proc)
				continue;
			const group = groupOf(its);

			if (!groups.has(group))
				groups.set(group, []);
			groups.get(group).push(its);
		}
		for (const [title, its] of groups) {
			charts.push(curvesChart(its.slice(0, 24), title, zoom));
			if (title === 'Tensor memory' && categories && proc !== null)
				for (const device of new Set(column(categories, 'device'))) {
					const chart = categoriesChart(categories, names[proc], device, zoom);

					if (chart)
						charts.push(chart);
				}
		}
		body.replaceChildren(...charts.map((chart) => chart.element));
		filterTables(tables, null, 0);
	};

	if (!curves.length)
		return false;
	if (procs.length > 1)
		panel.append(select('Rank', [...procs.map((its) => [its, names[its]]), ['', 'all']], procs[0],
			(value) => draw(value === '' ? null : Number(value))));
	panel.append(el('p', {class: 'help'}, 'Drag to zoom, double click or Escape to leave; + - and arrows ' +
		'when a curve has the focus. Tables of steps below show what the zoom shows.'), body);
	draw(procs[0]);
	return true;
}

function isMemory(curve)
{
	return curve.kind !== 'counter' || curve.unit === 'B';
}

function buildMemory(panel)
{
	const tables = [], below = el('div');

	buildCurves(panel, isMemory, tables);
	for (const view of viewsOf('memory'))
		for (const its of sectionsOf(view))
			below.append(section(its, tables));
	panel.append(below);
}

// ---- steps ----

const STEP_FIGURES = [['time_ns', 'time', 'ns'], ['data_wait_ns', 'waiting for data', 'ns'],
	['optimizer_ns', 'optimizer', 'ns'], ['peak_bytes', 'peak of tensors on the host', 'bytes'],
	['device_peak_bytes', 'peak of tensors on devices', 'bytes']];
const PHASE_ACTIVE = 4;

// Recorded steps, as stretches [from, to] of their numbers.
function recordedOf(procs)
{
	const marks = [];

	for (const its of procs.slice(0, 1))
		its.phase.forEach((phase, i) => {
			const last = marks[marks.length - 1];

			if (phase !== PHASE_ACTIVE)
				return;
			if (last && last.i === i - 1) {
				last[1] = its.step[i] + 0.5;
				last.i = i;
			} else {
				marks.push(Object.assign([its.step[i] - 0.5, its.step[i] + 0.5], {i}));
			}
		});
	return marks;
}

function buildSteps(panel)
{
	const tables = [], all = load('steps').procs, names = processNames(), body = el('div');
	const figures = STEP_FIGURES.filter(([field]) => all.some((its) => its[field].some((value) => value > 0)));
	let figure = figures[0], proc = '';
	const draw = () => {
		const procs = all.filter((its) => proc === '' || its.proc === Number(proc));
		const per = Math.max(...procs.map((its) => its.per));

		body.replaceChildren(new Curves(procs.slice(0, 64).map((its, i) => ({
			label: names[its.proc], colour: colour(i),
			points: its.step.map((step, k) => [step, its[figure[0]][k]]),
		})), {title: `Every step of the run: ${figure[1]}` + (per > 1 ? `, the slowest of ${per} each` : ''),
		      x: (step) => `step ${showCount(Math.round(step))}`, y: (value) => show(Math.round(value), figure[2]),
		      marks: recordedOf(procs),
		      isBytes: figure[2] === 'bytes', zoom: (range) => filterTables(tables, range, 0, true)}).element,
		el('p', {class: 'scale'}, el('i', {class: 'recorded'}), el('span', {}, 'recorded')));
	};

	if (figures.length) {
		panel.append(el('div', {class: 'tools'},
			select('Show', figures.map(([field, title]) => [field, title]), figure[0], (value) => {
				figure = figures.find(([field]) => field === value);
				draw();
			}),
			all.length > 1 ? select('Rank', [['', 'all'], ...all.map((its) => [its.proc, names[its.proc]])], '',
				(value) => {
					proc = value;
					draw();
				}) : null), body);
		draw();
	}
	for (const its of sectionsOf(viewsOf('steps')[0]))
		panel.append(section(its, tables));
}

// ---- communication ----

function buildComm(panel)
{
	const views = viewsOf('comm'), steps = findTable(views, 'comm_steps'), tables = [];
	const sections = sectionsOf(views[0]);

	panel.append(section(sections[0], tables));
	if (steps)
		panel.append(heatMap([...new Set(column(steps, 'process'))], cellsOf(steps,
			['process', 'step', 'late_ns', 'time_ns']), 'How late each rank was in each step'));
	for (const its of sections.slice(1))
		panel.append(section(its, tables));
}

// ---- timeline ----

function buildTimeline(panel)
{
	const data = load('timeline'), names = processNames(), body = el('div');
	const procs = [...new Set(data.steps.map((step) => step.proc))];
	let proc = procs[0];
	const draw = (step) => {
		body.replaceChildren(el('p', {}, `${names[step.proc]}, step ${showCount(step.step)} (${step.why} of ` +
			`its recorded steps): ${showNs(step.time_ns)}, ${showCount(step.events)} spans`),
			new Timeline(data, step).element);
	};
	const stepChoice = () => {
		const its = data.steps.filter((step) => step.proc === proc);

		draw(its[0]);
		return select('Step', its.map((step, i) => [i, `${showCount(step.step)} (${step.why}, ` +
			`${showNs(step.time_ns)})`]), 0, (value) => draw(its[Number(value)]));
	};
	const choice = el('span', {}, stepChoice());

	panel.append(el('div', {class: 'tools'},
		procs.length > 1 ? select('Rank', procs.map((its) => [its, names[its]]), proc, (value) => {
			proc = Number(value);
			choice.replaceChildren(stepChoice());
		}) : null, choice),
	el('ul', {class: 'legend'}, Object.entries(KIND_NAME).map(([kind, name]) =>
		el('li', {}, el('i', {style: {background: KIND_COLOUR[kind] || colourOf('aten::mm')}}), name))),
	body, el('p', {class: 'help'}, 'Of each rank its slowest recorded step and the median one. Spans too short ' +
		'for a pixel are drawn together, paler. Drag to move, + - 0 and arrows or Ctrl and the wheel to zoom. ' +
		'Every span of every step: trainprof-merge -f perfetto, or chrome.'));
}

// ---- flame graphs ----

function buildFlame(panel)
{
	const flame = load('flame'), stacks = load('stacks'), body = el('div'), choices = [];
	const procs = [];

	for (let i = 0; flame && i < flame.nodes.length; i += 6)
		if (flame.nodes[i] < 0)
			procs.push([flame.names[flame.nodes[i + 1]], flame.nodes[i + 5]]);
	const costs = stacks ? stacks.costs : [], title = {'time': 'Python and operators', 'host memory': 'host memory by stack'};

	costs.forEach((cost, i) => choices.push([i, `${title[cost.what]}: ${cost.title}`]));
	if (procs.length)
		choices.push(['host', 'operators alone: time of the host']);
	if (procs.some((its) => its[1] > 0))
		choices.push(['device', 'operators alone: time of devices']);
	if (!choices.length)
		return;
	let what = String(choices[0][0]), proc = null;
	const rank = el('span');
	const draw = () => {
		const cost = costs[what];

		body.replaceChildren(new Flame(cost ? stackTree(cost, proc) : operatorTree(flame, proc, what === 'device'),
			{title: choices.find((its) => String(its[0]) === what)[1], unit: cost ? cost.unit : 'ns'}).element);
	};
	const choose = (value) => {
		what = value;
		const names = costs[what] ? processesOf(costs[what]) : procs.map(([name]) => name);

		proc = names.length === 1 && !costs[what] ? names[0] : null;
		rank.replaceChildren(...(names.length < 2 ? [] : [select('Rank', [['', 'all'], ...names.map((name) => [name, name])],
			'', (name) => {
				proc = name || null;
				draw();
			})]));
		draw();
	};

	panel.append(el('div', {class: 'tools'}, select('Show', choices, what, choose), rank), body,
		el('p', {class: 'help'}, 'As wide as its share, in what it was called by; a click or Enter zooms, ' +
			'arrows move, Escape shows all.'));
	choose(what);
}

// ---- the others ----

function buildBlocks(panel, name)
{
	const tables = [];

	for (const view of viewsOf(name))
		for (const its of sectionsOf(view))
			panel.append(section(its, tables));
}
