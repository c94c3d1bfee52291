/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - tables: their columns, rows in their order, cells with their figures
 */
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/model/table_in.h"

/* A row that waits for its place. */
struct tp_table_key {
	struct tp_cell cell;
	uint32_t at;		/* of all that were added: equal ones stay in this order */
	const void *row;
	void *copy;		/* of it, from malloc; NULL: it lives on */
};

struct tp_row {
	enum { OUTLINE, COLUMNS, KEY, CELLS } what;
	struct tp_table *table;
	uint32_t at;		/* column that comes next */
	uint32_t wanted;	/* of a key */
	struct tp_cell *cell;	/* that is given: of a key the only one */
	struct tp_cell *cells;
	struct tp_table_row *row;
};

const char *tp_unit_name(enum tp_unit unit)
{
	static const char *const name[TP_UNITS] = {"text",  "place", "ns",	"bytes", "count",
						   "number", "real",  "percent", "bar"};

	return name[unit];
}

/* ---- columns ---- */

static bool has_rows(const struct tp_table *table)
{
	return table->out && table->out->rows != TP_ROWS_NONE;
}

static bool is_there(const struct tp_table *table, const struct tp_column *column)
{
	if (has_rows(table))
		return column->field;
	return column->title && !(column->how & TP_ROWS_ONLY);
}

static bool is_same(const struct tp_column *a, const struct tp_column *b)
{
	const char *x = a->field ? a->field : a->title, *y = b->field ? b->field : b->title;

	return x == y || (x && y && !strcmp(x, y));
}

/* The conditions of columns are those of the table: but for them each has its place. */
static bool find_place(struct tp_row *r, const struct tp_column *column)
{
	for (uint32_t i = 0; i < r->table->n_columns; i++, r->at++) {
		if (r->at >= r->table->n_columns)
			r->at = 0;
		if (is_same(&r->table->column[r->at], column))
			return true;
	}
	return false;
}

bool tp_row_takes(struct tp_row *r, const struct tp_column *column)
{
	struct tp_table *table = r->table;
	uint32_t at;

	if (r->what == OUTLINE ? !column->field : !is_there(table, column))
		return false;
	if (r->what <= COLUMNS) {
		if (table->n_columns < TP_TABLE_COLUMNS)
			table->column[table->n_columns++] = *column;
		return false;
	}
	if (!find_place(r, column))
		return false;
	at = r->at++;
	if (r->what == KEY)
		return at == r->wanted;
	r->cell = &r->cells[at];
	return true;
}

bool tp_row_is_outline(const struct tp_row *r)
{
	return r->what == OUTLINE;
}

bool tp_row_is_there(const struct tp_row *r)
{
	return r->what == CELLS;
}

bool tp_row_is_for_programs(const struct tp_row *r)
{
	return has_rows(r->table);
}

bool tp_row_is_for_terminal(const struct tp_row *r)
{
	return tp_out_is_terminal(r->table->out);
}

static void find_columns(struct tp_table *table, bool is_outline)
{
	struct tp_row r = {.what = is_outline ? OUTLINE : COLUMNS, .table = table};

	table->def->columns(&r, table->ctx, NULL);
}

uint32_t tp_table_outline(const struct tp_table_def *def, struct tp_column *column, uint32_t cap)
{
	struct tp_table table = {.def = def};

	find_columns(&table, true);
	if (table.n_columns < cap)
		cap = table.n_columns;
	memcpy(column, table.column, cap * sizeof(*column));
	return cap;
}

static uint32_t find_field(const struct tp_table *table, const char *field)
{
	for (uint32_t c = 0; field && c < table->n_columns; c++)
		if (table->column[c].field && !strcmp(table->column[c].field, field))
			return c;
	return TP_TABLE_COLUMNS;
}

static uint32_t find_order(const struct tp_table *table)
{
	uint32_t at = find_field(table, table->out->sort);

	return at < TP_TABLE_COLUMNS ? at : find_field(table, table->def->order);
}

const char *tp_table_order(const struct tp_table_def *def, const void *ctx, struct tp_out *out)
{
	struct tp_table table = {.def = def, .ctx = ctx, .out = out};
	uint32_t at;

	find_columns(&table, false);
	at = find_order(&table);
	return at < TP_TABLE_COLUMNS ? table.column[at].help : "";
}

bool tp_table_has_field(const struct tp_table_def *def, const char *field)
{
	struct tp_table table = {.def = def};

	find_columns(&table, true);
	return find_field(&table, field) < TP_TABLE_COLUMNS;
}

/* ---- cells ---- */

void tp_row_integer(struct tp_row *r, int64_t value)
{
	r->cell->kind = TP_CELL_INTEGER;
	r->cell->integer = value;
}

void tp_row_count(struct tp_row *r, uint64_t n)
{
	tp_row_integer(r, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

void tp_row_real(struct tp_row *r, double value, uint8_t decimals)
{
	r->cell->kind = TP_CELL_REAL;
	r->cell->real = value;
	r->cell->decimals = decimals;
}

void tp_row_percent(struct tp_row *r, double part, double whole)
{
	r->cell->kind = TP_CELL_PERCENT;
	r->cell->part = part;
	r->cell->whole = whole;
}

void tp_row_text(struct tp_row *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	r->cell->kind = TP_CELL_TEXT;
	r->cell->text = tp_out_format(format, args);
	va_end(args);
	if (r->cell->text && !tp_row_is_for_programs(r))
		tp_show_paths(r->cell->text);
}

void tp_row_style(struct tp_row *r, const char *style)
{
	r->row->style = style;
}

void tp_row_depth(struct tp_row *r, uint32_t depth)
{
	r->row->depth = depth;
}

static void free_cells(struct tp_cell *cell, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cell[i].kind == TP_CELL_TEXT)
			free(cell[i].text);
}

/* ---- rows ---- */

struct tp_table *tp_table_begin(const struct tp_table_def *def, const void *ctx, uint32_t top,
				struct tp_out *out)
{
	struct tp_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	*table = (struct tp_table){.def = def, .ctx = ctx, .out = out, .top = top};
	table->tells_left = top == TP_TOP_ASKED;
	if (top == TP_TOP_ASKED)
		table->top = out->top;
	else if (top == TP_TOP_NONE)
		table->top = 0;
	find_columns(table, false);
	table->order = find_order(table);
	if (has_rows(table) && def->name)
		tp_table_rows_begin(table);
	return table;
}

/* A row's cells: kept, or written and forgotten. */
static void show_row(struct tp_table *table, const void *of)
{
	uint64_t n = has_rows(table) ? 0 : table->n_rows;
	struct tp_row r = {.what = CELLS, .table = table};

	if (!tp_grow(&table->cell, &table->cap_cells, (n + 1) * table->n_columns,
		     sizeof(*table->cell)) ||
	    !tp_grow(&table->row, &table->cap_rows, n + 1, sizeof(*table->row)))
		return;
	r.cells = table->cell + n * table->n_columns;
	r.row = &table->row[n];
	memset(r.cells, 0, table->n_columns * sizeof(*r.cells));
	*r.row = (struct tp_table_row){.style = NULL};
	table->def->columns(&r, table->ctx, of);
	table->n_rows = (uint32_t)n + 1;
	if (!has_rows(table))
		return;
	tp_table_rows_put(table);
	free_cells(table->cell, table->n_columns);
	table->n_rows = 0;
}

static void keep_key(struct tp_table *table, const void *of)
{
	struct tp_table_key *key;
	struct tp_row r = {.what = KEY, .table = table, .wanted = table->order};

	if (!tp_grow(&table->key, &table->cap_keys, (uint64_t)table->n_keys + 1, sizeof(*key)))
		return;
	key = &table->key[table->n_keys];
	*key = (struct tp_table_key){.at = table->n_keys, .row = of};
	if (table->def->row_bytes) {
		key->copy = malloc(table->def->row_bytes);
		if (!key->copy)
			return;
		key->row = memcpy(key->copy, of, table->def->row_bytes);
	}
	r.cell = &key->cell;
	table->def->columns(&r, table->ctx, of);
	table->n_keys++;
}

void tp_table_add(struct tp_table *table, const void *row)
{
	if (!table)
		return;
	table->n_added++;
	if (has_rows(table) && !table->def->name)
		return;
	if (table->order < TP_TABLE_COLUMNS) {
		keep_key(table, row);
	} else if (!table->top || table->n_shown < table->top) {
		table->n_shown++;
		show_row(table, row);
	}
}

static double figure_of(const struct tp_cell *cell)
{
	if (cell->kind == TP_CELL_PERCENT)
		return cell->whole > 0 ? cell->part / cell->whole : 0;
	return cell->real;
}

/* Figures from the largest on, text from A; what has none is last. */
static int compare_cells(const struct tp_cell *a, const struct tp_cell *b)
{
	bool has_a = a->kind > TP_CELL_TEXT, has_b = b->kind > TP_CELL_TEXT;

	if (!has_a && !has_b)
		return strcmp(a->kind && a->text ? a->text : "", b->kind && b->text ? b->text : "");
	if (has_a != has_b)
		return has_a ? -1 : 1;
	if (a->kind == TP_CELL_INTEGER && b->kind == TP_CELL_INTEGER)
		return (a->integer < b->integer) - (a->integer > b->integer);
	return (figure_of(a) < figure_of(b)) - (figure_of(a) > figure_of(b));
}

static int compare_keys(const void *a, const void *b)
{
	const struct tp_table_key *x = a, *y = b;
	int by = compare_cells(&x->cell, &y->cell);

	return by ? by : (x->at > y->at) - (x->at < y->at);
}

static void show_sorted(struct tp_table *table)
{
	if (table->n_keys)
		qsort(table->key, table->n_keys, sizeof(*table->key), compare_keys);
	for (uint32_t i = 0; i < table->n_keys; i++) {
		if (!table->top || i < table->top) {
			table->n_shown++;
			show_row(table, table->key[i].row);
		}
		free_cells(&table->key[i].cell, 1);
		free(table->key[i].copy);
	}
	free(table->key);
}

uint32_t tp_table_end(struct tp_table *table)
{
	uint32_t n_left;
	char a[32];

	if (!table)
		return 0;
	show_sorted(table);
	if (table->out->to)
		table->out->to->table(table->out->to->ctx, table);
	else if (!has_rows(table))
		tp_table_text(table);
	else
		tp_table_rows_end(table);
	n_left = table->n_added - table->n_shown;
	if (n_left && table->tells_left)
		tp_out_line(table->out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(a, n_left));
	free_cells(table->cell, (size_t)table->n_rows * table->n_columns);
	free(table->cell);
	free(table->row);
	free(table);
	return n_left;
}

uint32_t tp_table_show(const struct tp_table_def *def, const void *ctx, const void *rows,
			uint32_t n, size_t size, uint32_t top, struct tp_out *out)
{
	struct tp_table *table = tp_table_begin(def, ctx, top, out);

	for (uint32_t i = 0; i < n; i++)
		tp_table_add(table, (const char *)rows + i * size);
	return tp_table_end(table);
}
