// SPDX-License-Identifier: Apache-2.0
//
// page_timeline.js - a step of a rank: its threads and streams, a row a depth; zoomed and moved by wheel,
// pointer and keys, searched, and what a span is in words

const SPAN_ROW = 16, LANE_HEAD = 20, LANE_GAP = 6, SCALE_ROOM = 22, CLICK_MOST = 4, ARROWS_MOST = 300, LABEL_LEAST = 24;

// The first span of a row that ends behind that share of the step.
function firstAfter(row, share)
{
	let low = 0, high = row.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (row[middle].end <= share)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

class Timeline {
	// pick(span): one was clicked; null: none
	constructor(data, step, pick)
	{
		this.data = data;
		this.step = step;
		this.pick = pick;
		this.spans = decodeSpans(data, step);
		this.lanes = lanesOf(data, this.spans);
		this.laneAt = new Map(this.lanes.map((its) => [its.lane, its]));
		this.from = 0;
		this.to = 1;
		this.words = '';
		this.canvas = el('canvas', {tabindex: '0', role: 'application', 'aria-label':
			`Timeline of step ${step.step}: w and s or + and - zoom, a and d or the arrows move, 0 shows all; up, down, ` +
			'comma and full stop go from span to span',
			onwheel: (event) => this.wheel(event), onkeydown: (event) => this.key(event),
			onpointerdown: (event) => this.hold(event), onpointermove: (event) => this.move(event),
			onpointerup: (event) => this.release(event), ondblclick: (event) => this.zoomTo(this.atEvent(event)),
			onmouseleave: () => this.hover(null)});
		this.value = el('p', {class: 'value', role: 'status'}, '\u00a0');
		this.box = el('div', {class: 'timeline'}, this.canvas);
		this.element = el('div', {}, this.value, this.box);
		this.layOut();
		onWidth(this.box, (width) => {
			this.width = width;
			this.draw();
		});
	}

	layOut()
	{
		let y = SCALE_ROOM;

		for (const lane of this.lanes) {
			lane.y = y + LANE_HEAD;
			y += LANE_HEAD + lane.rows * SPAN_ROW + LANE_GAP;
		}
		this.height = Math.max(y, 60);
	}

	// At the next frame, however often it is requested.
	drawSoon()
	{
		if (this.isDue)
			return;
		this.isDue = true;
		requestAnimationFrame(() => {
			this.isDue = false;
			this.draw();
		});
	}

	draw()
	{
		if (!this.width)
			return;
		const scale = window.devicePixelRatio || 1, {canvas, width, height} = this;

		if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
			canvas.width = Math.round(width * scale);
			canvas.height = Math.round(height * scale);
			canvas.style.width = `${width}px`;
			canvas.style.height = `${height}px`;
		}
		const pen = canvas.getContext('2d');

		pen.setTransform(scale, 0, 0, scale, 0, 0);
		pen.clearRect(0, 0, width, height);
		pen.font = '12px system-ui, sans-serif';
		this.ink = cssColour('--text');
		this.drawScale(pen);
		for (const lane of this.lanes) {
			pen.fillStyle = this.ink;
			pen.fillText(lane.title, 2, lane.y - 5);
			for (const row of lane.inRow)
				this.drawRow(pen, row, lane);
		}
		this.drawArrows(pen);
	}

	// Those that are in sight; of several in one pixel the first.
	drawRow(pen, row, lane)
	{
		let painted = -1;

		for (let i = firstAfter(row, this.from); i < row.length && row[i].begin < this.to; i++) {
			const its = row[i], [x, w] = this.extent(its), right = x + Math.max(w, 1);

			if (right <= painted + 0.5 && its !== this.picked && !its.isFound)
				continue;
			painted = right;
			this.drawSpan(pen, its, lane, x, w);
		}
	}

	drawSpan(pen, its, lane, x, w)
	{
		const left = Math.max(x, 0), right = Math.min(x + w, this.width), y = lane.y + its.row * SPAN_ROW;

		pen.globalAlpha = this.words && !its.isFound ? 0.25 : 1;
		pen.fillStyle = its.colour;
		pen.fillRect(left, y, Math.max(1, right - left - (w > 3 ? 0.5 : 0)), SPAN_ROW - 1);
		if (right - left > LABEL_LEAST) {
			pen.fillStyle = '#101418';
			pen.fillText(this.label(pen, its, right - left - 6), left + 3, y + 12);
		}
		if (its === this.picked || its.isFound) {
			pen.strokeStyle = its === this.picked ? this.ink : '#d0006f';
			pen.lineWidth = its === this.picked ? 2 : 1;
			pen.strokeRect(left + 0.5, y + 0.5, Math.max(1, right - left - 1), SPAN_ROW - 2);
		}
		pen.globalAlpha = 1;
	}

	// As much of its name as there is room for, with an ellipsis where it is cut.
	label(pen, its, room)
	{
		if (its.text === undefined) {
			its.text = its.n > 1 ? `${showCount(its.n)} x, ${its.name}` : its.name;
			its.textWidth = pen.measureText(its.text).width;
		}
		if (its.textWidth <= room)
			return its.text;
		for (let n = Math.floor(its.text.length * room / its.textWidth); n > 1; n--) {
			const cut = `${its.text.slice(0, n)}\u2026`;

			if (pen.measureText(cut).width <= room)
				return cut;
		}
		return '';
	}

	drawScale(pen)
	{
		const ns = this.step.time_ns, {ticks} = ticksOf(this.from * ns, this.to * ns, this.width / 90, 'ns');

		pen.fillStyle = cssColour('--dim');
		for (const {at, text} of ticks) {
			const x = (at / ns - this.from) / (this.to - this.from) * this.width;

			pen.globalAlpha = 0.25;
			pen.fillRect(x, SCALE_ROOM - 6, 1, this.height);
			pen.globalAlpha = 1;
			pen.fillText(text, Math.min(x + 3, this.width - pen.measureText(text).width - 2), 12);
		}
	}

	// From the call that launched it to a device's work, and from a call, or what it lies in, to its work.
	drawArrows(pen)
	{
		const its = this.hovered || this.picked;

		if (!its)
			return;
		const works = its.from !== undefined ? [its] : this.spans.filter((work) => work.fromLane === its.lane &&
			work.from >= its.begin && work.from < its.end).slice(0, ARROWS_MOST);

		pen.strokeStyle = pen.fillStyle = this.ink;
		pen.lineWidth = 1;
		for (const work of works) {
			const lane = this.laneAt.get(work.fromLane), scale = this.width / (this.to - this.from);
			const call = lane && lane.spans.filter((one) => one.begin <= work.from && one.end > work.from)
				.sort((a, b) => b.row - a.row)[0];
			const x = (work.from - this.from) * scale, toX = (work.begin - this.from) * scale;
			const y = lane ? lane.y + ((call ? call.row : 0) + 1) * SPAN_ROW - 1 : 0, toY = this.rowOf(work);

			if (!lane)
				continue;
			pen.beginPath();
			pen.moveTo(x, y);
			pen.bezierCurveTo(x, (y + toY) / 2, toX, (y + toY) / 2, toX, toY);
			pen.stroke();
			pen.beginPath();
			pen.moveTo(toX, toY);
			pen.lineTo(toX - 3, toY - 6);
			pen.lineTo(toX + 3, toY - 6);
			pen.fill();
		}
	}

	rowOf(span)
	{
		return this.laneAt.get(span.lane).y + span.row * SPAN_ROW;
	}

	extent(span)
	{
		const scale = this.width / (this.to - this.from), x = (span.begin - this.from) * scale;

		return [x, (span.end - span.begin) * scale];
	}

	atEvent({offsetX: x, offsetY: y})
	{
		const lane = this.lanes.find((its) => y >= its.y && y < its.y + its.rows * SPAN_ROW);

		return lane ? lane.spans.find((its) => {
			const [left, width] = this.extent(its), top = this.rowOf(its);

			return y >= top && y < top + SPAN_ROW && x >= left && x < left + Math.max(2, width);
		}) || null : null;
	}

	textOf(span)
	{
		const ns = (span.end - span.begin) * this.step.time_ns;

		return span.n > 1
			? `${showCount(span.n)} spans in ${showNs(Math.round(ns))}, the longest: ${span.name}, ` +
			  showNs(span.longest)
			: `${span.name} (${(KINDS[span.kind] || KINDS.r).title}), ${showNs(span.longest)}, ` +
			  `at ${showNs(Math.round(span.begin * this.step.time_ns))}`;
	}

	show(from, to)
	{
		const width = Math.max(2e-5, Math.min(1, to - from));

		this.from = Math.max(0, Math.min(1 - width, from));
		this.to = this.from + width;
		this.value.textContent = width < 1 ? `${showNs(Math.round(width * this.step.time_ns))} shown` : '\u00a0';
		this.drawSoon();
	}

	zoom(factor, at)
	{
		const centre = this.from + (this.to - this.from) * at, width = (this.to - this.from) * factor;

		this.show(centre - width * at, centre + width * (1 - at));
	}

	// null: everything
	zoomTo(span)
	{
		const room = span ? (span.end - span.begin) / 8 : 0;

		this.show(span ? span.begin - room : 0, span ? span.end + room : 1);
	}

	pan(share)
	{
		const by = share * (this.to - this.from);

		this.show(this.from + by, this.to + by);
	}

	// The page scrolls by the wheel; with Ctrl (or a pinch) it zooms, sideways or with Shift it moves.
	wheel(event)
	{
		const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);

		if (event.ctrlKey || event.metaKey)
			this.zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / this.width);
		else if (sideways)
			this.pan(sideways / this.width);
		else
			return;
		event.preventDefault();
	}

	hold(event)
	{
		this.held = {x: event.clientX, from: this.from, to: this.to};
		this.canvas.setPointerCapture(event.pointerId);
	}

	release(event)
	{
		const isClick = this.held && Math.abs(event.clientX - this.held.x) < CLICK_MOST;

		this.held = null;
		if (isClick)
			this.choose(this.atEvent(event));
	}

	choose(span)
	{
		this.picked = span;
		this.pick(span);
		this.drawSoon();
	}

	move(event)
	{
		if (this.held) {
			const by = (this.held.x - event.clientX) / this.width * (this.held.to - this.held.from);

			this.show(this.held.from + by, this.held.to + by);
			return;
		}
		const span = this.atEvent(event);

		this.hover(span);
		if (span)
			showTip(event, this.textOf(span));
	}

	hover(span)
	{
		if (!span)
			hideTip();
		if (span === (this.hovered || null))
			return;
		this.hovered = span;
		this.drawSoon();
	}

	// Marks what has the words in its name; returns how many spans have.
	search(words)
	{
		this.words = words.trim().toLowerCase();
		this.found = -1;
		for (const its of this.spans)
			its.isFound = this.words !== '' && its.name.toLowerCase().includes(this.words);
		this.drawSoon();
		return this.spans.filter((its) => its.isFound).length;
	}

	// The next one of those found is chosen, and shown if it is outside.
	next()
	{
		const all = this.spans.filter((its) => its.isFound).sort((a, b) => a.begin - b.begin);

		if (!all.length)
			return;
		this.found = (this.found + 1) % all.length;
		const span = all[this.found], half = (this.to - this.from) / 2;

		if (span.begin < this.from || span.end > this.to)
			this.show(span.begin - half, span.begin + half);
		this.choose(span);
	}

	// To the span around the chosen one, inside or below it (up, down), or beside it (left, right); the first of all.
	walk(rows, columns)
	{
		const its = this.picked, lane = its && this.laneAt.get(its.lane);

		if (!its) {
			this.choose(this.lanes[0].spans[0]);
			return;
		}
		const all = this.lanes.flatMap((one) => one.inRow), row = lane.inRow[its.row];
		const to = rows ? all[all.indexOf(row) + rows] : row, at = to ? firstAfter(to, its.begin) : 0;
		const span = to && (rows ? to[Math.min(at, to.length - 1)] : to[row.indexOf(its) + columns]);

		if (!span)
			return;
		if (span.begin < this.from || span.end > this.to)
			this.show(span.begin - (this.to - this.from) / 2, span.begin + (this.to - this.from) / 2);
		this.choose(span);
	}

	key(event)
	{
		const act = {'+': () => this.zoom(0.5, 0.5), '=': () => this.zoom(0.5, 0.5), w: () => this.zoom(0.5, 0.5),
			     '-': () => this.zoom(2, 0.5), s: () => this.zoom(2, 0.5),
			     '0': () => this.show(0, 1), Escape: () => this.show(0, 1),
			     ArrowLeft: () => this.pan(-0.25), a: () => this.pan(-0.25),
			     ArrowRight: () => this.pan(0.25), d: () => this.pan(0.25), n: () => this.next(),
			     ArrowUp: () => this.walk(-1, 0), ArrowDown: () => this.walk(1, 0),
			     ',': () => this.walk(0, -1), '.': () => this.walk(0, 1)}[event.key];

		if (!act || event.ctrlKey || event.metaKey || event.altKey)
			return;
		act();
		event.preventDefault();
	}
}
