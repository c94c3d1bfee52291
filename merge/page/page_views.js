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
	return sections;
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
		list.lastElementChild.append(el('span', {class: `line ${block.style || ''}`}, withTabs(block.text)));
		return;
	}
	list.append(el('dt', {class: block.style}, block.label),
		    el('dd', {class: block.style}, el('span', {class: 'line'}, withTabs(block.text))));
}

// Into `parent`; tables made go to `tables`; link: as of Table.
function addBlocks(parent, blocks, title, tables, link)
{
	for (const block of blocks) {
		if (block.rows) {
			const table = new Table(block, title, link);

			tables.push(table);
			parent.append(FOLDED.has(block.name)
				? el('details', {}, el('summary', {}, `As a table (${showCount(block.rows.length)} row${block.rows.length === 1 ? '' : 's'})`),
				     table.element)
				: table.element);
		} else if (block.kind === 'i') {
			addItem(parent, block);
		} else {
			parent.append(el('p', {class: `line ${block.style || ''} ${block.indent > 2 ? 'deeper' : ''}`},
					 withTabs(block.text)));
		}
	}
}

function section(its, tables, className, link)
{
	const element = el('section', {class: className}, its.title ? el('h2', {}, its.title) : null);

	addBlocks(element, its.blocks, its.title, tables, link);
	return element;
}

// The sentences that answer what these sections' titles ask, at most so many, taken from them: they stand above a
// tab's charts.
function answersOf(sections, most)
{
	const of = sections.filter(({blocks: [first]}) => first && first.kind === 'l' && /bold|yellow/.test(first.style));

	return of.slice(0, most).map((its) => el('p', {class: `answer ${its.blocks[0].style}`},
		of.length > 1 ? el('span', {class: 'dim'}, `${its.title.replace(/[?:]$/, '')}: `) : null, its.blocks.shift().text));
}

// Links to the sections of a long panel.
function addIndex(panel)
{
	const seen = new Set();
	// One that ends with a colon belongs to the section before.
	const heads = [...panel.querySelectorAll('h2')].filter((its) => its.className !== 'paper' &&
		!its.textContent.endsWith(':') && !seen.has(its.textContent) && seen.add(its.textContent));

	if (heads.length < 4)
		return;
	panel.querySelector('.paper').after(el('nav', {class: 'index', 'aria-label': 'On this page'}, heads.map((head) =>
		el('button', {type: 'button', class: 'small', onclick: () => {
			head.tabIndex = -1;
			head.scrollIntoView({block: 'start'});
			head.focus({preventScroll: true});
		}}, head.textContent))));
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

// A column for each step: of the only rank, or of the one that took longest in it.
function stepColumns(table, rows, isOfRanks)
{
	const steps = new Map(), categories = categoriesOf(table);
	const [number, time, who] = ['step', 'time_ns', 'process'].map((field) => columnAt(table, field));

	for (const row of rows) {
		const before = steps.get(row[number]);

		if (!before || row[time] > before[time])
			steps.set(row[number], row);
	}
	return steps.size < 2 ? '' : stackedColumns([...steps].sort((a, b) => a[0] - b[0]).map(([step, row]) => ({
		label: `step ${showCount(step)}${isOfRanks ? ` of ${row[who]}` : ''}`, short: showCount(step),
		parts: categories.map(([c, title, colour]) => [title, row[c], colour]),
	})), isOfRanks ? 'Recorded steps, the slowest rank in each' : 'Recorded steps', 'ns');
}

function breakdownCard(table)
{
	const body = el('div'), who = columnAt(table, 'process'), names = [...new Set(table.rows.map((row) => row[who]))];
	const draw = (process) => {
		const {n, all, parts} = breakdownOf(table, process);
		const rows = table.rows.filter((row) => process === null || row[who] === process);

		body.replaceChildren(el('p', {class: 'big'}, showNs(Math.round(all)),
			el('small', {}, ` per step, average of ${showCount(n)} recorded`)),
			stackedBar(parts, all, 'ns'), legendOf(parts, all, 'ns', 'step'),
			stepColumns(table, rows, process === null && names.length > 1));
	};

	draw(null);
	return el('section', {class: 'card', 'data-card': 'breakdown'}, el('h2', {}, 'Where a step goes'),
		names.length > 1 ? select('Rank', [['', 'all'], ...names.map((name) => [name, name])], '',
			(value) => draw(value || null)) : null, body);
}

// Advice that names a view leads to its tab here; who reads a page has no command line: clauses and words that are
// options are left out.
function withTabs(text)
{
	return text.split('; ').filter((clause) => !clause.startsWith('--')).join('; ').replace(/ --[a-z][\w-]* \d+/g, '')
		.replace(/-v ([\w-]+)/g, (option, name) => {
			const tab = TABS.find((its) => its.name === name);

			return tab ? `"${tab.title}"` : option;
		});
}

// The rules that are broken, the most expensive first: what, how much, where, what to do.
function adviceCard(table)
{
	const [rule, cost, evidence, place, todo] =
		['rule', 'step_percent', 'evidence', 'place', 'advice'].map((field) => column(table, field));

	return el('section', {class: 'card advice'}, el('h2', {}, 'What holds it back'),
		el('ol', {}, table.rows.map((_, i) => el('li', {class: table.styles[i]},
			el('p', {}, el('strong', {}, rule[i]), typeof cost[i] === 'number' && cost[i] > 0
				? el('span', {class: 'cost'}, `${showPercent(cost[i])} of step time`) : null),
			el('p', {}, evidence[i]),
			place && place[i] ? el('p', {}, el('code', {}, place[i])) : null,
			todo && todo[i] ? el('p', {class: 'dim'}, withTabs(todo[i])) : null))));
}

function buildOverview(panel)
{
	const views = viewsOf('overview'), tables = [];
	const table = findTable(views, 'step_breakdown'), advice = findTable(views, 'advice');
	const sections = sectionsOf({blocks: views[0].blocks.filter((block) => block !== advice)});
	const who = sections.find((its) => its.title.startsWith('Run: '));

	who.title = 'The run';
	// A title with nothing below it is the answer itself: nothing stands out.
	for (const its of sections.filter(({blocks}) => !blocks.length && !advice))
		panel.append(el('p', {class: 'answer bold'}, its.title));
	// What went wrong is told before the run is, here as there.
	const at = sections.indexOf(who);
	const show = (its) => {
		if (its.blocks.length)
			panel.append(section(its, tables));
	};

	sections.slice(0, at).forEach(show);
	panel.append(el('div', {class: 'first'},
		advice ? adviceCard(advice) : null,
		table ? breakdownCard(table) : null,
		section(who, tables, 'card who')));
	sections.slice(at + 1).forEach(show);
}

// ---- operators, kernels ----

const RANKED = new Set(['ns', 'bytes', 'count']);	// units whose largest is of interest

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

// Where a name of operators and kernels leads.
function timelineLink()
{
	const timeline = load('timeline'), names = new Set(timeline ? timeline.names : []);

	return (name) => names.has(name) ? `#timeline/find/${encodeURIComponent(name)}` : null;
}

// Views that are shown in two ways: a button for each. What it returns is told of "#operator/NAME".
function buildRanked(panel, name)
{
	const views = viewsOf(name), first = views[0].blocks.find((block) => block.rows);
	const fields = new Set(first ? first.columns.map((its) => its.field) : []);
	// One that tells nothing more (no shapes were recorded, no stacks) is left out.
	const ways = views.filter((view, i) => !i || view.blocks.some((block) => block.rows &&
		block.columns.some((its, c) => !fields.has(its.field) && block.rows.some((row) => row[c] !== ''))));
	const body = el('div'), link = timelineLink();
	let tables;
	const draw = (view) => {
		const table = view.blocks.find((block) => block.rows);

		tables = [];
		body.replaceChildren(...[table ? topCard(table) : null].filter(Boolean),
			...sectionsOf(view).map((its) => section(its, tables, null, link)));
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
	return ([name]) => tables.length && tables[0].showName(name);
}

// ---- the others ----

// The table of a tab in which names have rows: its first one.
function tableOf(tab)
{
	const views = viewsOf(tab);

	return views.length ? views[0].blocks.find((block) => block.rows && block.name) : null;
}

function hasRow(tab, name)
{
	const table = tableOf(tab);

	return Boolean(table) && table.rows.some((row) => row.includes(name));
}

function buildBlocks(panel, name)
{
	const tables = [];

	for (const its of viewsOf(name).flatMap(sectionsOf))
		panel.append(section(its, tables));
}
