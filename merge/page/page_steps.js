// SPDX-License-Identifier: Apache-2.0
//
// page_steps.js - what stands in the views of steps, communication and the timeline: ranks by steps

const STEP_FIGURES = [['time_ns', 'time', 'ns'], ['data_wait_ns', 'waiting for data', 'ns'],
	['optimizer_ns', 'optimizer', 'ns'], ['peak_bytes', 'peak of tensors on the host', 'B'],
	['device_peak_bytes', 'peak of tensors on devices', 'B']];
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

// A chart for each figure, all of the same steps and zoomed together.
function buildSteps(panel)
{
	const tables = [], all = load('steps').procs, names = processNames(), body = el('div');
	const figures = STEP_FIGURES.filter(([field]) => all.some((its) => its[field].some((value) => value > 0)));
	const draw = (proc) => {
		const procs = all.filter((its) => proc === '' || its.proc === Number(proc)), charts = [];
		const per = Math.max(...procs.map((its) => its.per)), numbers = procs.flatMap((its) => its.step);
		const marks = recordedOf(procs), isWhole = procs[0].phase.every((phase) => phase === PHASE_ACTIVE);
		const range = [numbers.reduce((a, b) => Math.min(a, b), Infinity),
			numbers.reduce((a, b) => Math.max(a, b), -Infinity)];
		const zoom = (to) => {
			charts.forEach((chart) => chart.zoomTo(to, true));
			filterTables(tables, to, 0, true);
		};

		for (const [field, title, unit] of figures)
			charts.push(new Curves(procs.slice(0, 64).map((its, i) => ({
				label: names[its.proc], colour: colour(i), points: its.step.map((step, k) => [step, its[field][k]]),
			})), {title: `Every step of the run: ${title}` + (per > 1 ? `, the slowest of ${per} each` : ''),
			      x: 'step', y: unit, marks: isWhole ? [] : marks, zoom, range}));
		body.replaceChildren(...charts.map((chart) => chart.element), isWhole ? ''
			: el('p', {class: 'scale'}, el('i', {class: 'recorded'}), el('span', {}, 'recorded')));
	};

	const sections = sectionsOf(viewsOf('steps')[0]);

	panel.append(...answersOf(sections, 4));
	if (figures.length) {
		if (all.length > 1)
			panel.append(el('div', {class: 'tools'}, select('Rank', [['', 'all'],
				...all.map((its) => [its.proc, names[its.proc]])], '', draw)));
		panel.append(body);
		draw('');
	}
	for (const its of sections)
		panel.append(section(its, tables));
}

// ---- communication ----

// Arrival skew and time of each rank in each recorded step; a cell leads to that step's timeline.
function commMaps(steps)
{
	const names = processNames(), rows = [...new Set(column(steps, 'process'))];
	const cells = cellsOf(steps, ['process', 'step', 'late_ns', 'time_ns']).map(([process, step, late, time]) =>
		({row: rows.indexOf(process), proc: names.indexOf(process), step, late, time}));
	const skew = (cell) => cell.time > 0 ? cell.late / cell.time : 0;
	const most = Math.max(...cells.map(skew), 0.1), scaleOfTime = timeScale(cells.map((cell) => cell.time));
	const go = ({proc, step}) => { location.hash = `timeline/${proc}/${step}`; };
	const map = (title, share, text, scale) => new StepMap({title, rows, go, scale, help: 'shows the step',
		cells: cells.map((cell) => ({...cell, share: share(cell), text: `${rows[cell.row]}, step ${cell.step}: ${text(cell)}`}))});

	return [map('Arrival skew of each rank in each step', (cell) => skew(cell) / most,
		(cell) => `${showNs(cell.late)} late in ${showNs(cell.time)}`,
		(share) => share ? showPercent(100 * most * share) + (share < 1 ? '' : ' of the step late') : 'on time'),
	map('Time of each step', (cell) => scaleOfTime.share(cell.time), (cell) => showNs(cell.time), scaleOfTime.text)];
}

function buildComm(panel)
{
	const views = viewsOf('comm'), steps = findTable(views, 'comm_steps'), tables = [];
	const sections = sectionsOf(views[0]);

	panel.append(section(sections[0], tables));
	if (steps)
		panel.append(...commMaps(steps).map((its) => its.element),
			el('p', {class: 'help'}, 'A click on a cell shows that rank\'s step in the timeline.'));
	for (const its of sections.slice(1))
		panel.append(section(its, tables));
}
