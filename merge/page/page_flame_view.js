// SPDX-License-Identifier: Apache-2.0
//
// page_flame_view.js - what stands in the views of flame graphs and modules

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
		el('p', {class: 'help'}, 'Width is the share of the whole; callees sit below their callers. A click or Enter ' +
			'zooms, arrows move, Escape shows all.'));
	choose(what);
}

// ---- modules ----

// A table's rows as a tree, by the depths of its rows. valueOf(row): with what is below it; baseOf(row): the same of
// the run that is compared with, whose module of the same name may be of another class.
function moduleTree(table, valueOf, baseOf = null)
{
	const name = table.columns.findIndex((its) => its.tree), calls = columnAt(table, 'calls'), type = columnAt(table, 'class');
	const root = {name: 'all modules', value: 0, calls: 0, base: 0, below: []}, open = [];

	table.rows.forEach((row, i) => {
		const node = {name: baseOf && row[type] !== row[name] ? `${row[name]} (${row[type]})` : String(row[name]),
			      calls: Number(row[calls]) || 0, value: Math.max(0, valueOf(row)), base: baseOf ? baseOf(row) : 0,
			      below: []};

		while (open.length && open[open.length - 1].depth >= table.depths[i])
			open.pop();
		(open.length ? open[open.length - 1].node : root).below.push(node);
		open.push({depth: table.depths[i], node});
	});
	// What is inside may be more than what is around it: averages, memory that others freed.
	const settle = (node) => {
		const inside = node.below.reduce((sum, its) => sum + settle(its), 0);

		node.value = Math.max(node.value, inside);
		node.own = node === root ? undefined : node.value - inside;
		return node.value;
	};

	settle(root);
	root.base = root.below.reduce((sum, its) => sum + its.base, 0);
	return linkNodes(root, null);
}

// The ways to see modules as an icicle: [title, unit, columns that are added]
const MODULE_FIGURES = [
	['time on the host, forward and backward', 'ns', ['forward_ns', 'backward_ns']],
	['time on devices, forward and backward', 'ns', ['device_forward_ns', 'device_backward_ns']],
	['memory kept after a call', 'bytes', ['kept_bytes']],
];

function buildModules(panel)
{
	const table = findTable(viewsOf('module'), 'module'), body = el('div');
	const ways = !table || !table.depths ? [] : MODULE_FIGURES.map(([title, unit, fields]) => {
		const at = fields.map((field) => columnAt(table, field)).filter((c) => c >= 0);

		return {title, unit, sum: (row) => at.reduce((all, c) => all + (Number(row[c]) || 0), 0)};
	}).filter((way) => table.rows.some((row) => way.sum(row) > 0));
	const draw = (way) => body.replaceChildren(new Flame(moduleTree(table, way.sum),
		{title: `Modules: ${way.title}`, unit: way.unit}).element);

	const sections = sectionsOf(viewsOf('module')[0]), tables = [];

	panel.append(...answersOf(sections, 1));
	if (ways.length) {
		panel.append(el('div', {class: 'tools'}, select('Show', ways.map((way, i) => [i, way.title]), 0,
			(value) => draw(ways[value]))), body);
		draw(ways[0]);
	}
	panel.append(...sections.map((its) => section(its, tables)));
}

// ---- two runs ----

// From blue (less than in the base run) to red (more); the half of it, or twice as much, is as strong as it gets.
function changeColour(now, base)
{
	const change = (now - base) / Math.max(now, base, 1), part = Math.min(1, 2 * Math.abs(change));

	return `hsl(${change > 0 ? 10 : 212} ${Math.round(80 * part)}% ${Math.round(84 - 14 * part)}%)`;
}

function changeText(name, now, base)
{
	const sign = now < base ? '-' : '+';

	return `${name}: ${showNs(now)}, base ${showNs(base)}, ${sign}${showNs(Math.abs(now - base))}` +
		(base > 0 && now > 0 ? ` (${sign}${showPercent(100 * Math.abs(now - base) / base)})` : now > 0 ? ' (new)' : ' (gone)');
}

// [title, the column of this run, that of the base run]
const CHANGE_FIGURES = [
	['time on the host, forward and backward', 'now_ns', 'base_ns'],
	['time on devices', 'now_device_ns', 'base_device_ns'],
];

// The modules of two runs as one flame graph: as wide as they are in the one, coloured by the change.
function changeFlame(table)
{
	const body = el('div'), ways = [];

	for (const [title, now, base] of CHANGE_FIGURES)
		for (const [width, of, other] of [['this run', now, base], ['the base run', base, now]]) {
			const at = columnAt(table, of), with_ = columnAt(table, other), isNow = of === now;

			if (at < 0 || !table.rows.some((row) => row[at] > 0))
				continue;
			const change = (node) => isNow ? [node.value, node.base] : [node.base, node.value];

			ways.push({title: `${title}, as wide as in ${width}`, draw: () => new Flame(
				moduleTree(table, (row) => row[at], (row) => Number(row[with_]) || 0),
				{title: `Modules, per step: ${title}`, unit: 'ns', colour: (node) => changeColour(...change(node)),
				 text: (node) => changeText(node.name, ...change(node))}).element});
		}
	if (!ways.length)
		return null;
	const draw = (i) => body.replaceChildren(ways[i].draw());

	draw(0);
	return el('div', {}, el('div', {class: 'tools'},
		select('Show', ways.map((way, i) => [i, way.title]), 0, draw)), body, el('p', {class: 'help'},
		'Red takes longer than in the base run, blue shorter, grey as long. What is gone is in the graph of the base run.'));
}

function buildDifference(panel)
{
	const table = findTable(viewsOf('diff'), 'diff_modules'), tables = [];

	for (const its of viewsOf('diff').flatMap(sectionsOf)) {
		const element = section({...its, blocks: []}, tables);

		if (table && table.depths && its.blocks.includes(table))
			element.append(changeFlame(table) || '');
		addBlocks(element, its.blocks, its.title, tables);
		panel.append(element);
	}
}
