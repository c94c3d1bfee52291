// SPDX-License-Identifier: Apache-2.0
//
// page_axis.js - ticks of axes: round numbers, with the unit once

// Size, name, and from which size of the largest value on it is used, if that is another one.
const AXIS_UNITS = {
	ns: [[1, 'ns'], [1e3, 'us'], [1e6, 'ms'], [1e9, 's'], [6e10, 'min', 6e11], [3.6e12, 'h', 3.6e13]],
	B: ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'].map((name, i) => [1024 ** i, name]),
	'B/s': ['B/s', 'KiB/s', 'MiB/s', 'GiB/s', 'TiB/s'].map((name, i) => [1024 ** i, name]),
};

// 1, 2 or 5 times a power of ten, at least `least`.
function roundStep(least)
{
	const power = 10 ** Math.floor(Math.log10(least || 1));

	return power * [1, 2, 5, 10].find((times) => times * power >= least * (1 - 1e-9));
}

// At most some `count` of them in [from, to]: {ticks: [{at, text}], step}. The last one has the unit;
// of steps the first one says what they are.
function ticksOf(from, to, count, unit)
{
	const most = Math.max(Math.abs(from), Math.abs(to)), ticks = [];
	const [per, name] = (AXIS_UNITS[unit] || []).filter(([its, , from]) => (from || its) <= most).pop() ||
		(AXIS_UNITS[unit] || [])[0] || [1, unit === 'step' || unit === 'count' ? '' : unit];
	let step = roundStep(Math.max(to - from, 1e-12) / per / Math.max(1, Math.floor(count)));

	if (unit === 'step' || unit === 'count')
		step = Math.max(1, step);
	const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));

	for (let i = Math.ceil(from / per / step - 1e-9); i * step * per <= to + step * per * 1e-6; i++) {
		const text = (i * step).toFixed(Math.min(decimals, 12));

		ticks.push({at: i * step * per, text: text.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ',')});
	}
	// At the edge there is no room for a text.
	const isAtEdge = ticks.length > 1 && ticks[ticks.length - 1].at > to - (to - from) / 40 ? 1 : 0;

	if (ticks.length && unit === 'step')
		ticks[0].text = `step ${ticks[0].text}`;
	else if (ticks.length && name)
		ticks[ticks.length - 1 - isAtEdge].text += ` ${name}`;
	return {ticks, step: step * per};
}

// A value of an axis, in words.
function showOn(value, unit)
{
	return unit === 'step' ? `step ${showCount(Math.round(value))}` : unit === 'count' ? showCount(Math.round(value))
		: showUnit(unit === 'ns' || unit === 'B' ? Math.round(value) : value, unit);
}
