// SPDX-License-Identifier: Apache-2.0
//
// page.js - the page: who it is about, a tab for each view, the one that is shown

const hasPart = (id) => load('parts')[`data-${id}`] === 1;
const hasRows = (name) => viewsOf(name).some((view) => view.blocks.some((block) => block.rows));

// In this order; a view that is not among them comes behind. has: is there anything to see?
const TABS = [
	{name: 'overview', title: 'Overview', build: buildOverview, has: () => true},
	{name: 'steps', title: 'Steps', build: buildSteps, has: () => hasPart('steps')},
	{name: 'operator', title: 'Operators', build: (panel) => buildRanked(panel, 'operator')},
	{name: 'module', title: 'Modules', build: buildModules},
	{name: 'kernel', title: 'Kernels', build: (panel) => buildRanked(panel, 'kernel')},
	{name: 'memory', title: 'Memory', build: buildMemory,
	 has: () => hasRows('memory') || load('curves').curves.some(isMemory)},
	{name: 'memory-at', title: 'Memory at', build: (panel) => buildBlocks(panel, 'memory-at')},
	{name: 'comm', title: 'Communication', build: buildComm},
	{name: 'timeline', title: 'Timeline', build: buildTimeline, isOwn: true,
	 has: () => hasPart('timeline')},
	{name: 'trace', title: 'Trace', build: (panel) => buildBlocks(panel, 'trace')},
	{name: 'flame', title: 'Flame graph', build: buildFlame, isOwn: true,
	 has: () => hasPart('flame') || hasPart('stacks')},
	{name: 'hot', title: 'Functions', build: (panel) => buildBlocks(panel, 'hot')},
	{name: 'machine', title: 'Machine', isOwn: true,
	 build: (panel) => buildCurves(panel, (curve) => !isMemory(curve), []),
	 has: () => load('curves').curves.some((curve) => !isMemory(curve))},
	{name: 'diff', title: 'Difference', build: buildDifference},
	{name: 'health', title: 'Health', build: (panel) => buildBlocks(panel, 'health'), has: () => true},
];

function tabsOfPage()
{
	const names = [...new Set(load('views').map((view) => view.name))];
	const others = names.filter((name) => !TABS.some((tab) => tab.name === name)).map((name) =>
		({name, title: name, build: (panel) => buildBlocks(panel, name)}));

	// What was not recorded still says why, when it is requested: it stands at the end.
	return [...TABS, ...others].filter((tab) => tab.isOwn ? tab.has() : names.includes(tab.name))
		.map((tab) => ({...tab, isEmpty: !(tab.has || (() => hasRows(tab.name)))()}))
		.sort((a, b) => a.isEmpty - b.isEmpty);
}

// As encodeURIComponent made it; what nobody made so stays what it is.
function decodePart(text)
{
	try {
		return decodeURIComponent(text);
	} catch (error) {
		return text;
	}
}

class Page {
	constructor()
	{
		this.tabs = tabsOfPage();
		this.list = document.getElementById('tabs');
		this.main = document.getElementById('main');
		for (const tab of this.tabs)
			this.add(tab);
		this.list.addEventListener('keydown', (event) => this.key(event));
		window.addEventListener('hashchange', () => this.go(location.hash.slice(1)));
		window.addEventListener('beforeprint', () => this.tabs.forEach((tab) => this.build(tab)));
		this.showHead();
		this.go(location.hash.slice(1));
	}

	// "timeline/0/12": the tab, and what it is told
	go(hash)
	{
		const [name, ...rest] = hash.split('/').map(decodePart);
		const tab = this.show(name);

		if (rest.length && tab.go)
			tab.go(rest);
	}

	add(tab)
	{
		tab.button = el('button', {type: 'button', role: 'tab', id: `tab-${tab.name}`,
			'aria-controls': `view-${tab.name}`, 'aria-selected': 'false', tabindex: '-1',
			class: tab.isEmpty ? 'empty' : null, onclick: () => { location.hash = tab.name; }}, tab.title);
		tab.panel = el('div', {role: 'tabpanel', id: `view-${tab.name}`, tabindex: '-1',
			'aria-labelledby': `tab-${tab.name}`, class: 'panel', hidden: true},
			el('h2', {class: 'paper'}, tab.title));
		this.list.append(tab.button);
		this.main.append(tab.panel);
	}

	build(tab)
	{
		if (tab.isBuilt)
			return;
		tab.isBuilt = true;
		tab.go = tab.build(tab.panel);
		addIndex(tab.panel);
	}

	show(name)
	{
		const now = this.tabs.find((tab) => tab.name === name) || this.tabs[0];

		for (const tab of this.tabs) {
			tab.button.setAttribute('aria-selected', String(tab === now));
			tab.button.tabIndex = tab === now ? 0 : -1;
			tab.panel.hidden = tab !== now;
		}
		this.build(now);
		// Where things are is known with the next frame; asked now, everything would be laid out once more.
		requestAnimationFrame(() => now.button.scrollIntoView({block: 'nearest', inline: 'nearest'}));
		hideTip();
		return now;
	}

	key(event)
	{
		const i = this.tabs.findIndex((tab) => tab.button === document.activeElement), n = this.tabs.length;
		const next = {ArrowRight: (i + 1) % n, ArrowLeft: (i + n - 1) % n, Home: 0, End: n - 1}[event.key];

		if (i < 0 || next === undefined)
			return;
		event.preventDefault();
		this.tabs[next].button.focus();
		location.hash = this.tabs[next].name;
	}

	showHead()
	{
		// Paths in a command are long: their last parts say as much.
		const run = load('run'), name = (run.program || run.path).replace(/(^|\s)\/\S*\/(?=[^/\s])/g, '$1');
		const facts = [run.host, `${run.procs.length} process${run.procs.length === 1 ? '' : 'es'}`,
			       `${showCount(run.events)} events`,
			       run.real_ms > 0 ? new Date(run.real_ms).toISOString().slice(0, 16).replace('T', ' ') + ' UTC' : null,
			       run.program && run.program !== name ? run.program : null, run.path];

		document.title = `${name} - trainprof`;
		document.getElementById('program').textContent = name;
		document.getElementById('facts').textContent = facts.filter(Boolean).join(' · ');
	}
}

new Page();
// The plain tables, which come behind, are for where no script runs.
document.documentElement.classList.add('scripted');
document.addEventListener('DOMContentLoaded', () => document.querySelectorAll('#plain').forEach((its) => its.remove()));
document.documentElement.dataset.readyMs = String(Math.round(performance.now()));
