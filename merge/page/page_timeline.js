// SPDX-License-Identifier: Apache-2.0
//
// page_timeline.js - a step of a rank: its threads and streams, a row a depth, zoomed by the wheel,
// by dragging or by keys

const LANE_ROW = 16, LANE_GAP = 22;
const KIND_COLOUR = {o: null, r: '#9aa0a6', c: '#e69f00', k: '#009e73', m: '#56b4e9', n: '#cc79a7', s: '#d55e00'};
const KIND_NAME = {o: 'operator', r: 'range', c: 'CUDA call', k: 'kernel', m: 'copy', n: 'communication', s: 'wait'};

class Timeline {
	constructor(data, step)
	{
		const FIELDS = 8;

		this.data = data;
		this.step = step;
		this.spans = [];
		for (let i = 0; i < step.spans.length; i += FIELDS) {
			const [lane, depth, begin, slots, name, n, longest, kind] = step.spans.slice(i, i + FIELDS);

			this.spans.push({lane, depth, begin: begin / data.slots, end: (begin + slots) / data.slots,
					 name: data.names[name] || '?', n, longest, kind: String.fromCharCode(kind)});
		}
		this.from = 0;
		this.to = 1;
		this.canvas = el('canvas', {tabindex: '0', role: 'img', 'aria-label':
			`Timeline of step ${step.step}: + and - zoom, arrows move, 0 shows all`,
			onwheel: (event) => this.wheel(event), onkeydown: (event) => this.key(event),
			onpointerdown: (event) => this.hold(event), onpointermove: (event) => this.move(event),
			onpointerup: () => { this.held = null; }, onmouseleave: hideTip});
		this.value = el('p', {class: 'value', role: 'status'}, '\u00a0');
		this.box = el('div', {class: 'timeline'}, this.canvas);
		this.element = el('div', {}, this.value, this.box);
		this.layOut();
		onWidth(this.box, (width) => this.draw(width));
	}

	layOut()
	{
		let y = 0;

		this.lanes = this.step.lanes.map((name, i) => {
			const deepest = this.spans.reduce((most, its) => its.lane === i ? Math.max(most, its.depth) : most, 0);
			const lane = {name, y: y + LANE_GAP};

			y += LANE_GAP + (deepest + 1) * LANE_ROW + 6;
			return lane;
		});
		this.height = Math.max(y, 40) + 22;
	}

	draw(width)
	{
		if (!width)
			return;
		const scale = window.devicePixelRatio || 1, canvas = this.canvas;

		this.width = width;
		canvas.width = width * scale;
		canvas.height = this.height * scale;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${this.height}px`;
		const pen = canvas.getContext('2d'), text = cssColour('--text'), dim = cssColour('--dim');

		pen.scale(scale, scale);
		pen.clearRect(0, 0, width, this.height);
		pen.font = '12px system-ui, sans-serif';
		this.lanes.forEach((lane) => {
			pen.fillStyle = dim;
			pen.fillText(lane.name, 2, lane.y - 6);
		});
		for (const its of this.spans) {
			const [x, w] = this.extent(its);

			if (x + w < 0 || x > width)
				continue;
			pen.fillStyle = KIND_COLOUR[its.kind] || colourOf(its.name);
			pen.globalAlpha = its.n > 1 ? 0.55 : 1;
			pen.fillRect(x, this.rowOf(its), Math.max(1, w - 0.5), LANE_ROW - 1);
			pen.globalAlpha = 1;
			if (w > 40) {
				pen.save();
				pen.beginPath();
				pen.rect(x, this.rowOf(its), w - 2, LANE_ROW);
				pen.clip();
				pen.fillStyle = '#111';
				pen.fillText(its.n > 1 ? `${showCount(its.n)} x, ${its.name}` : its.name,
					     Math.max(x, 0) + 3, this.rowOf(its) + 12);
				pen.restore();
			}
		}
		this.drawScale(pen, width, text, dim);
	}

	drawScale(pen, width, text, dim)
	{
		const n = Math.max(2, Math.floor(width / 110));

		pen.strokeStyle = dim;
		pen.fillStyle = text;
		for (let i = 0; i < n; i++) {
			const at = this.from + (this.to - this.from) * i / n;

			pen.globalAlpha = 0.25;
			pen.fillRect(width * i / n, 0, 1, this.height - 16);
			pen.globalAlpha = 1;
			pen.fillText(showNs(Math.round(at * this.step.time_ns)), width * i / n + 2, this.height - 5);
		}
	}

	rowOf(span)
	{
		return this.lanes[span.lane].y + span.depth * LANE_ROW;
	}

	extent(span)
	{
		const scale = this.width / (this.to - this.from), x = (span.begin - this.from) * scale;

		return [x, (span.end - span.begin) * scale];
	}

	at(x, y)
	{
		return this.spans.find((its) => {
			const [left, width] = this.extent(its), top = this.rowOf(its);

			return y >= top && y < top + LANE_ROW && x >= left && x < left + Math.max(2, width);
		});
	}

	textOf(span)
	{
		const part = (span.end - span.begin) * this.step.time_ns;

		return span.n > 1
			? `${showCount(span.n)} spans in ${showNs(Math.round(part))}, the longest: ${span.name}, ` +
			  showNs(span.longest)
			: `${span.name} (${KIND_NAME[span.kind]}), ${showNs(span.longest)}, ` +
			  `at ${showNs(Math.round(span.begin * this.step.time_ns))}`;
	}

	show(from, to)
	{
		const width = Math.max(1e-5, Math.min(1, to - from));

		this.from = Math.max(0, Math.min(1 - width, from));
		this.to = this.from + width;
		this.value.textContent = width < 1 ? `${showNs(Math.round(width * this.step.time_ns))} shown` : '\u00a0';
		this.draw(this.width);
	}

	zoom(factor, at)
	{
		const centre = this.from + (this.to - this.from) * at, width = (this.to - this.from) * factor;

		this.show(centre - width * at, centre + width * (1 - at));
	}

	wheel(event)
	{
		// The page scrolls by the wheel; with Ctrl (or a pinch) it zooms.
		if (!event.ctrlKey && !event.metaKey)
			return;
		event.preventDefault();
		this.zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / this.width);
	}

	hold(event)
	{
		this.held = {x: event.clientX, from: this.from, to: this.to};
		this.canvas.setPointerCapture(event.pointerId);
	}

	move(event)
	{
		if (this.held) {
			const by = (this.held.x - event.clientX) / this.width * (this.held.to - this.held.from);

			this.show(this.held.from + by, this.held.to + by);
			return;
		}
		const span = this.at(event.offsetX, event.offsetY);

		if (span)
			showTip(event, this.textOf(span));
		else
			hideTip();
	}

	key(event)
	{
		const width = this.to - this.from;

		if (event.key === '+' || event.key === '=')
			this.zoom(0.5, 0.5);
		else if (event.key === '-')
			this.zoom(2, 0.5);
		else if (event.key === '0' || event.key === 'Escape')
			this.show(0, 1);
		else if (event.key === 'ArrowLeft')
			this.show(this.from - width / 4, this.to - width / 4);
		else if (event.key === 'ArrowRight')
			this.show(this.from + width / 4, this.to + width / 4);
		else
			return;
		event.preventDefault();
	}
}
