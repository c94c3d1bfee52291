// SPDX-License-Identifier: Apache-2.0
//
// page_spans.js - the spans of a step, as page_spans.c writes them, and in which lanes they are drawn

// What kinds are called, and their colour: hue, saturation, lightness; names differ in lightness.
const KINDS = {
	o: {title: 'operator', hue: 205, saturation: 62},
	r: {title: 'range', hue: 215, saturation: 10},
	c: {title: 'CUDA call', hue: 40, saturation: 80},
	k: {title: 'kernel', hue: 160, saturation: 50},
	m: {title: 'copy', hue: 265, saturation: 45},
	n: {title: 'communication', hue: 325, saturation: 50},
	s: {title: 'wait', hue: 16, saturation: 75},
};
const SHADES = 7, LIGHTEST = 82, SHADE = 3;	// never so dark that a dark name could not be read on it

// shade: 0 to SHADES - 1
function kindColour(kind, shade)
{
	const its = KINDS[kind] || KINDS.r;

	return `hsl(${its.hue} ${its.saturation}% ${LIGHTEST - SHADE * shade}%)`;
}

function shadeOf(name)
{
	let hash = 2166136261;

	for (let i = 0; i < name.length && i < 80; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
	return (hash >>> 9) % SHADES;
}

class Varints {
	constructor(base64)
	{
		this.bytes = atob(base64);
		this.at = 0;
	}

	get isEnd() { return this.at >= this.bytes.length; }

	// Times are more than 32 bits: no shifts.
	next()
	{
		let value = 0, unit = 1, byte;

		do {
			byte = this.bytes.charCodeAt(this.at++);
			value += (byte & 127) * unit;
			unit *= 128;
		} while (byte > 127);
		return value;
	}
}

// Of data (the page's part "timeline") a step's spans, as page_spans.h says: begin and end are shares of the step.
function decodeSpans(data, step)
{
	const from = new Varints(step.spans), spans = [];

	while (!from.isEnd) {
		const lane = from.next(), row = from.next(), n = from.next();
		let begin = 0;

		for (let i = 0; i < n; i++) {
			begin += from.next();
			const head = from.next(), word = Math.floor(head / 4), isOne = head % 2 === 0;
			const slots = isOne ? 0 : from.next(), its = {lane, row, begin: begin / data.slots,
				name: data.names[word] || '(no name)', kind: data.kinds[word], n: isOne ? 1 : from.next(),
				longest: from.next(), detail: from.next()};

			its.end = its.begin + (isOne ? Math.max(its.longest / step.time_ns, 1 / data.slots) : slots / data.slots);
			if (head & 2)
				Object.assign(its, {fromLane: from.next(), from: its.begin - from.next() / data.slots});
			its.colour = kindColour(its.kind, shadeOf(its.name));
			spans.push(its);
		}
	}
	return spans;
}

// What is known of where a span comes from: {module, shapes, stack: [lines, innermost first]}
function detailOf(data, span)
{
	const [module, shapes, stack] = data.details.slice(3 * span.detail, 3 * span.detail + 3);

	return {module: data.modules[module] || '', shapes: data.shapes[shapes] || '',
		stack: (data.stacks[stack] || []).map((frame) => data.frames[frame])};
}

const LANE_ORDER = ['thread', 'async', 'collectives', 'stream'];

// The rank's main thread first, its GPUs' streams, then its workers: [{lane, title, rows, spans, inRow: by row}]
function lanesOf(data, spans)
{
	const used = new Map();

	for (const its of spans) {
		const lane = used.get(its.lane) || {lane: its.lane, rows: 0, spans: [], inRow: []};

		for (; lane.rows <= its.row; lane.rows++)
			lane.inRow.push([]);
		lane.spans.push(its);
		lane.inRow[its.row].push(its);
		used.set(its.lane, lane);
	}
	const rank = (its) => {
		const lane = data.lanes[its.lane];

		return [lane.worker || 0, lane.device === undefined ? -1 : lane.device,
			lane.is_main && lane.kind === 'thread' ? -1 : LANE_ORDER.indexOf(lane.kind), its.lane];
	};

	return [...used.values()].sort((a, b) => {
		const x = rank(a), y = rank(b), i = x.findIndex((value, at) => value !== y[at]);

		return i < 0 ? 0 : x[i] - y[i];
	}).map((its) => {
		const {title, worker, device} = data.lanes[its.lane];

		return {...its, title: (worker ? `worker ${worker}: ` : '') +
			(device === undefined ? '' : `GPU ${device}: `) + title};
	});
}
