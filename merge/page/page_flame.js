// SPDX-License-Identifier: Apache-2.0
//
// page_flame.js - flame graphs: a row a depth, as wide as the share, zoomed by a click or Enter

const FLAME_ROW = 20;

// node: {name, value, below: [nodes], up, calls, own, base}; values include what is below. options: {title, unit},
// and, instead of the usual ones, text(node) and colour(node).
class Flame {
	constructor(root, options)
	{
		this.root = root;
		this.top = root;
		this.options = options;
		this.words = '';
		this.box = el('div', {class: 'flame', role: 'tree', 'aria-label': options.title,
				      onkeydown: (event) => this.key(event)});
		this.path = el('p', {class: 'value', role: 'status'});
		this.search = el('input', {type: 'search', placeholder: 'Mark names', 'aria-label': 'Mark names',
					   oninput: () => {
			this.words = this.search.value.toLowerCase();
			this.draw(this.width);
		}});
		this.element = el('figure', {class: 'chart'}, el('figcaption', {}, options.title),
			el('div', {class: 'tools'}, this.search, el('button', {type: 'button', class: 'small',
				onclick: () => this.zoom(this.root)}, 'Whole graph')), this.path, this.box);
		onWidth(this.box, (width) => this.draw(width));
	}

	zoom(node)
	{
		this.top = node;
		this.draw(this.width);
		this.say(node);
		const first = this.box.querySelector('[data-top]');

		if (first)
			first.focus({preventScroll: true});
	}

	text(node)
	{
		if (this.options.text)
			return this.options.text(node);
		return `${node.name}: ${show(node.value, this.options.unit)}, ` +
			`${showPercent(100 * node.value / (this.root.value || 1))}` +
			(node.own === undefined ? '' : `, own ${show(node.own, this.options.unit)}`) +
			(node.calls ? `, ${showCount(node.calls)} calls` : '');
	}

	colour(node)
	{
		return this.options.colour ? this.options.colour(node) : colourOf(node.name);
	}

	say(node)
	{
		this.path.textContent = this.text(node);
	}

	// Those around it, then all below it that are a pixel wide.
	place(width)
	{
		const placed = [], around = [];
		let depth = 0;

		for (let node = this.top.up; node; node = node.up)
			around.unshift(node);
		for (const node of around)
			placed.push({node, depth: depth++, x: 0, width, isAround: true});
		const walk = (node, x, its, at) => {
			placed.push({node, depth: at, x, width: its});
			for (const below of node.below) {
				const part = node.value ? its * below.value / node.value : 0;

				if (part >= 1)
					walk(below, x, part, at + 1);
				x += part;
			}
		};
		walk(this.top, 0, width, depth);
		return placed;
	}

	draw(width)
	{
		if (!width)
			return;
		this.width = width;
		this.placed = this.place(width);
		this.box.style.height = `${(Math.max(...this.placed.map((its) => its.depth)) + 1) * FLAME_ROW}px`;
		this.box.replaceChildren(...this.placed.map((its, i) => el('div', {
			class: `${its.isAround ? 'around' : ''} ${this.words &&
				its.node.name.toLowerCase().includes(this.words) ? 'marked' : ''}`,
			role: 'treeitem', tabindex: its.node === this.top ? '0' : '-1',
			'data-i': i, 'data-top': its.node === this.top, 'aria-level': its.depth + 1,
			'aria-label': its.width < 30 ? its.node.name : null,
			style: {left: `${its.x}px`, width: `${Math.max(1, its.width - 1)}px`,
				top: `${its.depth * FLAME_ROW}px`, background: this.colour(its.node)},
			onclick: () => this.zoom(its.node),
			onmousemove: (event) => showTip(event, this.text(its.node)),
			onmouseleave: hideTip, onfocus: () => this.say(its.node),
		}, its.width > 30 ? its.node.name : null)));
	}

	key(event)
	{
		const i = Number(event.target.getAttribute('data-i')), now = this.placed[i];
		const all = this.placed;
		const inside = (its) => its.depth === now.depth + 1 && its.x >= now.x - 0.5 &&
			its.x < now.x + now.width;
		const beside = all.filter((its) => its.depth === now.depth);
		let next = null;

		if (event.key === 'ArrowDown')
			next = all.filter(inside).sort((a, b) => b.width - a.width)[0];
		else if (event.key === 'ArrowUp')
			next = all.find((its) => its.node === now.node.up);
		else if (event.key === 'ArrowRight')
			next = beside[beside.indexOf(now) + 1];
		else if (event.key === 'ArrowLeft')
			next = beside[beside.indexOf(now) - 1];
		else if (event.key === 'Enter' || event.key === ' ')
			this.zoom(now.node);
		else if (event.key === 'Escape')
			this.zoom(this.root);
		else
			return;
		event.preventDefault();
		if (next)
			this.box.children[all.indexOf(next)].focus();
	}
}

// Branches of one name are one; the largest first.
function joinNodes(nodes)
{
	const named = new Map();

	for (const node of nodes) {
		const its = named.get(node.name);

		if (!its) {
			named.set(node.name, {...node, below: [...node.below]});
			continue;
		}
		its.value += node.value;
		its.own += node.own;
		its.calls += node.calls;
		its.base += node.base;
		its.below.push(...node.below);
	}
	return [...named.values()].sort((a, b) => b.value - a.value);
}

function linkNodes(node, up)
{
	node.up = up;
	node.below = joinNodes(node.below);
	for (const below of node.below)
		linkNodes(below, node);
	return node;
}

// Operators of the process (null: all of them), by the host's time or the devices'.
function operatorTree(flame, processName, isDevice)
{
	const nodes = [], FIELDS = 6, procs = [];

	for (let i = 0; i < flame.nodes.length; i += FIELDS) {
		const [parent, name, calls, own, host, device] = flame.nodes.slice(i, i + FIELDS);
		const node = {name: flame.names[name], calls, own: isDevice ? undefined : own,
			      value: isDevice ? device : host, below: []};

		nodes.push(node);
		if (parent < 0)
			procs.push(node);
		else if (node.value > 0)
			nodes[parent].below.push(node);
	}
	const chosen = procs.filter((node) => processName === null || node.name === processName);
	const root = processName === null
		? {name: 'all processes', value: chosen.reduce((sum, node) => sum + node.value, 0),
		   below: chosen.flatMap((node) => node.below)}
		: chosen[0] || {name: processName, value: 0, below: []};

	return linkNodes({...root, calls: 0, own: undefined}, null);
}

// cost.nodes: parent, own value and name of each; a name that came before is its number.
function stackNodes(cost)
{
	const nodes = [], names = [], tops = [];

	for (let i = 0; i < cost.nodes.length; i += 3) {
		const [parent, own, its] = cost.nodes.slice(i, i + 3), up = parent < 0 ? null : nodes[parent];
		const name = typeof its === 'number' ? names[its] : its;

		if (name === its)
			names.push(name);
		const node = {name, own, value: 0, calls: 0, below: [], up};

		(up ? up.below : tops).push(node);
		nodes.push(node);
		for (let each = node; each; each = each.up)
			each.value += own;
	}
	return tops;
}

// Processes of a cost, if there are several.
function processesOf(cost)
{
	return cost.is_by_process ? stackNodes(cost).filter((node) => node.below.length).map((node) => node.name) : [];
}

// Stacks of the process (null: of all, as one).
function stackTree(cost, processName)
{
	const tops = stackNodes(cost), sum = (nodes) => nodes.reduce((all, node) => all + node.value, 0);
	const below = !cost.is_by_process ? tops
		: tops.filter((node) => processName === null || node.name === processName)
			.flatMap((node) => node.below.length ? node.below : [node]);

	return linkNodes({name: processName === null ? 'all stacks' : processName, value: sum(below), below}, null);
}
