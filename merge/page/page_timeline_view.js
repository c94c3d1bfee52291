// SPDX-License-Identifier: Apache-2.0
//
// page_timeline_view.js - what stands in the view of the timeline: all recorded steps to choose from, the one
// that is shown, and what was clicked in it

const STEPS_SEARCHED = 64;	// for a name

// All steps of the page, coloured by duration; a click shows one.
function stepStrip(data, go)
{
	const names = processNames(), procs = [...new Set(data.steps.map((step) => step.proc))];
	const scale = timeScale(data.steps.map((step) => step.time_ns));

	return new StepMap({title: 'Recorded steps, by duration', rows: procs.map((proc) => names[proc]), go, help: 'shows it',
		cells: data.steps.map((its) => ({row: procs.indexOf(its.proc), step: its.step, its,
			share: scale.share(its.time_ns),
			text: `${names[its.proc]}, step ${showCount(its.step)}: ${showNs(its.time_ns)}` +
				(its.why && its.why !== 'only' ? `, the ${its.why} one` : '')})),
		scale: scale.text});
}

// Where the span comes from, and its row in a table.
function spanCard(data, step, span)
{
	const {module, shapes, stack} = detailOf(data, span), tab = span.kind === 'k' || span.kind === 'm' ? 'kernel' : 'operator';
	const item = (label, value) => value ? [el('dt', {}, label), el('dd', {}, value)] : [];
	const ns = (span.end - span.begin) * step.time_ns;

	return el('section', {class: 'card span'}, el('h2', {}, span.name),
		el('dl', {}, item('kind', (KINDS[span.kind] || KINDS.r).title),
			item('time', `${showNs(span.longest)}, ${showPercent(100 * span.longest / step.time_ns)} of the step`),
			span.n > 1 ? item('stands for', `${showCount(span.n)} spans in ${showNs(Math.round(ns))}; it is the longest`) : [],
			item('starts', `${showNs(Math.round(span.begin * step.time_ns))} into the step`),
			span.from === undefined ? [] : item('launched', `${showNs(Math.round((span.begin - span.from) *
				step.time_ns))} before it ran`),
			item('module', module), item('shapes', shapes),
			item('called from', stack.length ? el('span', {}, stack.map((line) => el('span', {class: 'line'}, line))) : null)),
		hasRow(tab, span.name) ? el('a', {href: `#${tab}/${encodeURIComponent(span.name)}`}, 'Its row in the table') : null);
}

// A legend entry for each kind that the run has: from its lightest to its darkest shade.
function kindLegend(data)
{
	const used = Object.entries(KINDS).filter(([kind]) => data.kinds.includes(kind));

	return el('ul', {class: 'legend', 'aria-label': 'Colours'}, used.map(([kind, {title}]) => el('li', {},
		el('i', {'data-kind': kind, style: {background: `linear-gradient(90deg, ${kindColour(kind, 0)}, ` +
			`${kindColour(kind, SHADES - 1)})`}}), title)));
}

class TimelineView {
	constructor(panel)
	{
		this.data = load('timeline');
		this.body = el('div');
		this.detail = el('div', {'aria-live': 'polite'});
		this.count = el('span', {class: 'count', role: 'status'});
		this.search = el('input', {type: 'search', placeholder: 'Search', 'aria-label': 'Search the step',
			oninput: () => this.find(), onkeydown: (event) => {
				if (event.key === 'Enter')
					this.timeline.next();
			}});
		this.strip = stepStrip(this.data, ({its}) => this.show(its));
		const each = this.data.recorded.reduce((all, n) => all + n, 0) > this.data.steps.length;

		panel.append(this.strip.element, el('div', {class: 'tools'}, this.search, this.count, kindLegend(this.data)),
			this.body, this.detail, el('p', {class: 'help'}, 'Drag moves; w and s, + and - or Ctrl and the wheel zoom; ' +
				'a and d, the arrows or the wheel sideways move; 0 shows all; a double click shows one span, a click ' +
				'what is known of it, as do up, down, comma and full stop for the span beside it. ' +
				'The slowest and the median step ' +
				`have the most detail.${each ? ' Of the others every few steps one is in the page.' : ''}`));
		this.show([...this.data.steps].sort((a, b) => b.time_ns - a.time_ns)[0]);
	}

	show(step)
	{
		const names = processNames();

		this.step = step;
		this.timeline = new Timeline(this.data, step, (span) =>
			this.detail.replaceChildren(...(span ? [spanCard(this.data, step, span)] : [])));
		this.body.replaceChildren(el('p', {class: 'which'}, `${names[step.proc]}, step ${showCount(step.step)}` +
			(step.why ? ` (${step.why} of its recorded steps)` : '') +
			`: ${showNs(step.time_ns)}, ${showCount(step.events)} spans`), this.merged(step), this.timeline.element);
		this.detail.replaceChildren();
		this.strip.select(this.strip.its.cells.find((cell) => cell.its === step));
		this.find();
	}

	// From which length on spans are what they were.
	merged(step)
	{
		const ns = Math.round(step.fine * step.time_ns / this.data.slots);

		return this.timeline.spans.some((its) => its.n > 1)
			? el('p', {class: 'help'}, `Spans shorter than ${showNs(ns)} that follow each other are drawn as one.`) : '';
	}

	find()
	{
		const n = this.timeline.search(this.search.value);

		this.count.textContent = this.search.value.trim() ? `${showCount(n)} found; Enter goes to the next` : '';
	}

	// A span of that name: in the step that is shown or the first that has one, the best known ones first.
	goTo(name)
	{
		const {data} = this, others = [...data.steps].sort((a, b) => (b.why !== '') - (a.why !== '')).slice(0, STEPS_SEARCHED);
		const step = [this.step, ...others].find((its) => decodeSpans(data, its).some((span) => span.name === name));

		if (step && step !== this.step)
			this.show(step);
		this.search.value = name;
		this.find();
		this.timeline.next();
		this.timeline.canvas.scrollIntoView({block: 'center'});
		this.timeline.canvas.focus({preventScroll: true});
	}

	// The step of a process, or the nearest that the page has.
	go(proc, number)
	{
		const apart = (step) => Math.abs(step.step - number);
		const its = this.data.steps.filter((step) => step.proc === proc).sort((a, b) => apart(a) - apart(b))[0];

		if (its)
			this.show(its);
	}
}

// The builder of the tab; what it returns is told of "#timeline/PROCESS/STEP" and "#timeline/find/NAME".
function buildTimeline(panel)
{
	const view = panel.timeline = new TimelineView(panel);

	return ([proc, what]) => proc === 'find' ? view.goTo(what) : view.go(Number(proc), Number(what));
}
