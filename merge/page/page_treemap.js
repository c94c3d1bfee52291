// SPDX-License-Identifier: Apache-2.0
//
// page_treemap.js - areas in proportion to bytes: what held memory at its peak, by category

// Rectangles of the parts (largest first) in a box, as near to squares as they get:
// Bruls, Huizing and van Wijk, "Squarified treemaps", 2000. parts: [{value}]; returns [{part, x, y, w, h}].
function squarify(parts, x, y, w, h)
{
	const placed = [];
	let left = parts.filter((part) => part.value > 0);
	const all = left.reduce((sum, part) => sum + part.value, 0), scale = all > 0 ? w * h / all : 0;

	while (left.length && w > 0 && h > 0) {
		const side = Math.min(w, h), row = [];
		let sum = 0, worst = Infinity;

		for (const part of left) {
			const area = part.value * scale, next = sum + area, least = Math.min(area, ...row.map((its) => its.value * scale));
			const most = Math.max(area, ...row.map((its) => its.value * scale));
			const ratio = Math.max(side * side * most / (next * next), next * next / (side * side * least));

			if (row.length && ratio > worst)
				break;
			row.push(part);
			sum = next;
			worst = ratio;
		}
		const depth = sum / side;
		let at = 0;

		for (const part of row) {
			const its = part.value * scale / depth;

			placed.push(w >= h ? {part, x, y: y + at, w: depth, h: its} : {part, x: x + at, y, w: its, h: depth});
			at += its;
		}
		if (w >= h) {
			x += depth;
			w -= depth;
		} else {
			y += depth;
			h -= depth;
		}
		left = left.slice(row.length);
	}
	return placed;
}

const TREEMAP_HEIGHT = 320, TREEMAP_HEAD = 18;

// groups: [{name, colour, parts: [{value, name, text}]}]; names are shown where there is room.
function treemap(groups, title)
{
	const box = el('div', {class: 'treemap', role: 'list', 'aria-label': title, style: {height: `${TREEMAP_HEIGHT}px`}});
	const sums = groups.map((its) => ({...its, value: its.parts.reduce((sum, part) => sum + part.value, 0),
		parts: [...its.parts].sort((a, b) => b.value - a.value)})).sort((a, b) => b.value - a.value);
	const place = (className, {x, y, w, h}, background, text, tip) => el('div', {class: className, role: 'listitem',
		'aria-label': tip, style: {left: `${x}px`, top: `${y}px`, width: `${Math.max(1, w - 1)}px`,
			height: `${Math.max(1, h - 1)}px`, background},
		onmousemove: (event) => showTip(event, tip), onmouseleave: hideTip}, text);

	onWidth(box, (width) => {
		const drawn = [];

		for (const outer of squarify(sums, 0, 0, width, TREEMAP_HEIGHT)) {
			const {part: group, x, y, w, h} = outer, head = h > 60 && w > 60 ? TREEMAP_HEAD : 0;
			const whole = `${group.name}: ${showBytes(group.value)}`;

			drawn.push(place('group', outer, group.colour, head ? whole : null, whole));
			for (const its of squarify(group.parts, x + 1, y + head, w - 2, h - head - 1))
				if (its.w >= 2 && its.h >= 2)
					drawn.push(place('part', its, null, its.w > 60 && its.h > 16 ? its.part.name : null,
						`${its.part.text}: ${showBytes(its.part.value)}`));
		}
		box.replaceChildren(...drawn);
	});
	return el('figure', {class: 'chart'}, el('figcaption', {}, title), box);
}

// Of each device of each rank what held tensors at the peak.
function treemaps()
{
	const table = findTable(viewsOf('memory'), 'tensor_holders'), places = new Map();

	if (!table)
		return [];
	const fields = ['process', 'device', 'peak_bytes', 'category', 'operator', 'module', 'line'];

	for (const [process, device, bytes, category, operator, module, line] of cellsOf(table, fields)) {
		if (!(bytes > 0))
			continue;
		const place = [process, device].filter(Boolean).join(', '), groups = places.get(place) || new Map();
		const name = category || 'tensors';

		places.set(place, groups);
		if (!groups.has(name))
			groups.set(name, []);
		groups.get(name).push({value: bytes, name: [operator, line].filter(Boolean).join(' \u00b7 ') || '(not recorded)',
			text: [name, operator, module, line].filter(Boolean).join(', ')});
	}
	return [...places].map(([place, groups]) => treemap([...groups].map(([name, parts]) =>
		({name, parts, colour: memoryColour(name, 72)})),
	`Tensors at the peak${place ? `, ${place}` : ''}`));
}
