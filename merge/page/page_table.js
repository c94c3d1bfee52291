// SPDX-License-Identifier: Apache-2.0
//
// page_table.js - a view's table: sorted by any column, searched, filtered by a chart's zoom

const ROWS_AT_FIRST = 40;
const SEARCH_FROM = 12;		// rows
const PLACE_CUT_FROM = 24;
const CUT_FROM = 48;		// letters: a longer text is cut to one line, or, if it is made of words, broken
const PLACE_FIELDS = new Set(['process', 'device']);	// the same in all rows of most tables
const DEVICE_FIELD = /(^|_)(device|gpu|kernel|cuda|stream|launch)/;

function compareCells(a, b)
{
	const isA = typeof a === 'number', isB = typeof b === 'number';

	if (isA && isB)
		return a - b;
	if (isA !== isB)
		return isA ? 1 : -1;
	return String(a).localeCompare(String(b), undefined, {numeric: true});
}

function showCell(value, column)
{
	if (column.decimals !== undefined)
		return fixed(value, column.decimals);
	return (column.signed && value >= 0 ? '+' : '') + show(value, column.unit);
}

// "12.5 ms": units stand below each other, and so do the figures.
function addFigure(cell, text)
{
	const at = text.lastIndexOf(' ');

	if (at < 0 || /\d$/.test(text))
		cell.textContent = text;
	else
		cell.append(text.slice(0, at + 1), el('span', {class: 'unit'}, text.slice(at + 1)));
}

class Table {
	// link(name): where a row's name leads, null: nowhere; may be missing
	constructor(table, title, link)
	{
		this.table = table;
		this.link = link;
		// Bars are for terminals: here each share has one behind it.
		this.shown = table.columns.map((_, c) => c).filter((c) => table.columns[c].unit !== 'bar' && this.isOfUse(c));
		this.takePlaces(title || '');
		this.outermost = table.depths ? Math.min(...table.depths) : 0;
		this.order = table.rows.map((_, i) => i);
		this.column = -1;
		this.isDown = true;
		this.words = '';
		this.filter = null;
		this.isWhole = false;
		this.element = this.build(title);
		this.update();
	}

	// Columns that are not seen: where all rows are of one process, one device, that is told once, in the title or
	// beside the search.
	takePlaces(title)
	{
		const rows = this.table.rows, isSame = (c) => PLACE_FIELDS.has(this.table.columns[c].field) &&
			rows.length > 1 && rows.every((row) => row[c] === rows[0][c]);
		const same = this.shown.filter(isSame);
		const places = same.map((c) => rows[0][c]).filter((place) => place && !title.includes(place));

		this.same = new Set(same);
		this.first = this.shown.find((c) => !this.same.has(c));
		this.places = places.length ? `All of ${places.join(', ')}. ` : '';
	}

	// Rows of the step and process that a zoom shows; null: all.
	setFilter(filter)
	{
		this.filter = filter;
		this.update();
	}

	// Of runs without a GPU those columns of devices that say nothing are not shown.
	isOfUse(c)
	{
		return load('run').has_gpu || !DEVICE_FIELD.test(this.table.columns[c].field || '') ||
			this.table.rows.some((row) => row[c] !== undefined && row[c] !== 0 && row[c] !== '' && row[c] !== '-');
	}

	columnOf(field)
	{
		return columnAt(this.table, field);
	}

	build(title)
	{
		const label = title || this.table.name || 'table';

		this.head = el('tr', {}, this.shown.map((c) => this.buildHead(c)));
		this.body = el('tbody');
		this.count = el('p', {class: 'count', role: 'status'});
		this.more = el('button', {type: 'button', class: 'more', onclick: () => {
			this.isWhole = true;
			this.update();
		}});
		this.search = this.table.rows.length < SEARCH_FROM ? null
			: el('input', {type: 'search', placeholder: 'Search', 'aria-label': `Search ${label}`,
				       oninput: () => {
				this.words = this.search.value.toLowerCase();
				this.update();
			}});
		return el('div', {class: 'table', 'data-table': this.table.name},
			el('div', {class: 'tools'}, this.search, this.count),
			el('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': label},
				el('table', {}, el('thead', {}, this.head), this.body)),
			this.more);
	}

	buildHead(c)
	{
		const column = this.table.columns[c];
		const head = el('th', {scope: 'col', hidden: this.same.has(c), class: column.right ? 'right' : column.tree ? 'rest' : null, title: column.help || null});

		if (column.title)
			head.append(el('button', {type: 'button', onclick: () => this.sort(c)},
				       column.title));
		return head;
	}

	sort(c)
	{
		// Figures from the largest on, names from A.
		this.isDown = this.column === c ? !this.isDown : Boolean(this.table.columns[c].right);
		this.column = c;
		this.order.sort((a, b) => compareCells(this.table.rows[a][c], this.table.rows[b][c]) *
			(this.isDown ? -1 : 1) || a - b);
		[...this.head.children].forEach((head, i) => {
			if (this.shown[i] === c)
				head.setAttribute('aria-sort', this.isDown ? 'descending' : 'ascending');
			else
				head.removeAttribute('aria-sort');
		});
		this.update();
	}

	matches(row)
	{
		if (this.filter && !this.filter(row))
			return false;
		return !this.words || this.words.split(' ').every((word) => row.some((cell) =>
			typeof cell === 'string' && cell.toLowerCase().includes(word)));
	}

	buildCell(i, c)
	{
		const column = this.table.columns[c], value = this.table.rows[i][c];
		const cell = c === this.first && typeof value !== 'number' ? el('th', {scope: 'row'})
			: el('td', {hidden: this.same.has(c), class: column.right ? 'right' : null});

		if (value === undefined)
			return cell;
		if (typeof value === 'number') {
			addFigure(cell, showCell(value, column));
			if (column.unit === 'percent') {
				cell.classList.add('share');
				cell.style.setProperty('--share', `${Math.max(0, Math.min(100, value))}%`);
			}
			return cell;
		}
		if (column.tree) {
			cell.classList.add('tree');
			cell.style.setProperty('--depth', this.table.depths[i] - this.outermost);
		}
		this.addText(cell, value, column.unit, c === this.first && this.link ? this.link(value) : null);
		return cell;
	}

	// A place in the code that is too long loses its folders: what tells is its end.
	addText(cell, text, unit, href)
	{
		const inside = href ? el('a', {href, title: 'In the timeline'}, text) : text;

		if (text.length > (unit === 'place' ? PLACE_CUT_FROM : CUT_FROM)) {
			cell.title = text;
			if (unit === 'place') {
				cell.append(el('span', {class: 'cut place'}, el('bdi', {dir: 'ltr'}, inside)));
				return;
			}
			cell.append(el('span', {class: /->/.test(text) || text.split(' ').some((word) => word.length > CUT_FROM / 2)
				? 'cut' : 'words'}, inside));
		} else {
			cell.append(inside);
		}
	}

	// The row of that name: found, marked, and in sight.
	showName(name)
	{
		if (this.search)
			this.search.value = name;
		this.words = this.search ? name.toLowerCase() : '';
		this.isWhole = true;
		this.update();
		const row = [...this.body.children].find((its) => [...its.children].some((cell) => cell.textContent === name));

		if (!row)
			return;
		row.classList.add('found');
		row.tabIndex = -1;
		row.scrollIntoView({block: 'center'});
		row.focus({preventScroll: true});
	}

	update()
	{
		const found = this.order.filter((i) => this.matches(this.table.rows[i]));
		const drawn = this.isWhole ? found : found.slice(0, ROWS_AT_FIRST);
		const n = this.table.rows.length;

		this.body.replaceChildren(...drawn.map((i) => el('tr', {class: this.table.styles[i]},
			this.shown.map((c) => this.buildCell(i, c)))));
		this.count.textContent = this.places + (found.length < n ? `${found.length} of ${n} rows` : '') +
			(this.table.left_out ? ` ${showCount(this.table.left_out)} more are not in the page` : '');
		this.more.hidden = drawn.length === found.length;
		this.more.textContent = `Show all ${showCount(found.length)} rows`;
	}
}

// Columns by field of a table with a name; null: the view has none such.
function findTable(views, name)
{
	for (const view of views)
		for (const block of view.blocks)
			if (block.name === name && block.rows.length)
				return block;
	return null;
}

// -1: there is none
function columnAt(table, field)
{
	return table.columns.findIndex((its) => its.field === field);
}

function column(table, field)
{
	const c = columnAt(table, field);

	return c < 0 ? null : table.rows.map((row) => row[c]);
}

// Of each row the cells of these fields.
function cellsOf(table, fields)
{
	const at = fields.map((field) => columnAt(table, field));

	return table.rows.map((row) => at.map((c) => row[c]));
}
