/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - the public functions of libtrainprof-read.so
 *
 * Tables of a view are made when one of them is first asked for, by one pass over the events with that
 * view alone, and kept. Tables of the library's own are streams (feed.h), each with a run of its own.
 */
#include "merge/arrow/trainprof_read.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "merge/arrow/columns.h"
#include "merge/arrow/feed.h"
#include "merge/arrow/guard.h"
#include "merge/input/fuse.h"
#include "merge/kit/list.h"
#include "merge/pass.h"

#define PUBLIC __attribute__((visibility("default")))

enum { TABLES_MAX = 128, WIDTH = 100 };

struct trainprof_run {
	atomic_uint n_holders;		/* its user, and streams that read it */
	struct tp_fuse_options options;
	char **path;
	char *list[3];
	struct tp_run *ready;		/* opened, and not read yet; NULL: opened when it is needed */
	struct tp_columns *columns[TABLES_MAX];	/* by place, of views; NULL: not asked for yet */
};

/* Where a table comes from. */
struct place {
	const struct tp_raw *raw;
	const struct tp_view *view;
	const struct tp_table_def *def;	/* of a view */
};

/* ---- which tables there are ---- */

/* A comparison needs another run. */
static bool is_shown(const struct tp_view *view)
{
	return view->tables && view != &tp_view_diff;
}

static bool find_at(uint32_t at, struct place *place)
{
	for (uint32_t i = 0; tp_raws[i]; i++)
		if (!at--) {
			*place = (struct place){.raw = tp_raws[i]};
			return true;
		}
	for (uint32_t i = 0; tp_views[i]; i++)
		for (uint32_t t = 0; is_shown(tp_views[i]) && tp_views[i]->tables[t]; t++)
			if (tp_views[i]->tables[t]->name && !at--) {
				*place = (struct place){.view = tp_views[i], .def = tp_views[i]->tables[t]};
				return true;
			}
	return false;
}

static const char *name_of(const struct place *place)
{
	return place->raw ? place->raw->name : place->def->name;
}

PUBLIC struct trainprof_about trainprof_about(uint32_t at)
{
	struct place place;

	if (at >= TABLES_MAX || !find_at(at, &place))
		return (struct trainprof_about){.name = NULL};
	return (struct trainprof_about){name_of(&place), place.view ? place.view->name : "",
					place.raw ? place.raw->help : place.def->help};
}

/* ---- what a call does, and how it fails ---- */

struct ask {
	struct trainprof_run *run;
	struct place place;		/* of a table; or a view's text */
	uint32_t at;
	struct tp_text error;
	struct ArrowArrayStream *stream;
	const char *columns;
	uint8_t picked[TP_BATCH_COLUMNS];
	uint32_t n_picked;
	char *text;
};

static void begin_error(struct ask *ask, char *error, size_t error_bytes)
{
	static char nowhere[1];

	tp_text_init(&ask->error, error_bytes ? error : nowhere, error_bytes ? (uint32_t)error_bytes : 1);
}

/* Half read is none: the next one who asks begins anew. */
static void forget(struct ask *ask)
{
	struct place place;

	for (uint32_t i = 0; i < TABLES_MAX && find_at(i, &place); i++)
		if (place.view && place.view == ask->place.view) {
			tp_columns_let_go(ask->run->columns[i]);
			ask->run->columns[i] = NULL;
		}
}

/* ---- a pass ---- */

static struct tp_run *take_run(struct trainprof_run *run)
{
	struct tp_run *ready = run->ready;

	run->ready = NULL;
	return ready ? ready : tp_run_open(&run->options);
}

static struct tp_columns *columns_of(struct trainprof_run *run, const struct tp_table_def *def)
{
	struct place place;

	for (uint32_t i = 0; i < TABLES_MAX && find_at(i, &place); i++)
		if (place.def == def)
			return run->columns[i];
	return NULL;
}

static void begin_table(void *ctx, const struct tp_table *table)
{
	struct tp_columns *columns = columns_of(ctx, table->def);

	if (columns)
		tp_columns_begin(columns, table);
}

static void take_row(void *ctx, const struct tp_table *table)
{
	struct tp_columns *columns = columns_of(ctx, table->def);

	if (columns)
		tp_columns_row(columns, table);
}

/* 0 or EIO. */
static int read_pass(struct ask *ask, struct tp_out *out)
{
	const struct tp_view_options options = {.all = tp_views};
	struct tp_pass pass = {.options = &options, .view = {ask->place.view}, .n_views = 1};
	int err = 0;

	pass.run = take_run(ask->run);
	if (!pass.run)
		return EIO;
	tp_pass_begin(&pass);
	tp_pass_run(&pass);
	pass.view[0]->print(pass.view_state[0], pass.run, out);
	if (pass.is_bad)
		err = EIO;
	tp_pass_free(&pass);
	tp_run_free(pass.run);
	return err;
}

/* ---- tables of views ---- */

static int read_view(struct ask *ask)
{
	struct tp_rows_to to = {.begin = begin_table, .row = take_row, .ctx = ask->run};
	struct tp_out out = {.rows = TP_ROWS_GIVEN, .rows_to = &to, .width = WIDTH, .is_whole = true};
	struct place place;
	int err;

	for (uint32_t i = 0; i < TABLES_MAX && find_at(i, &place); i++)
		if (place.view == ask->place.view)
			ask->run->columns[i] = tp_columns_new(place.def);
	err = read_pass(ask, &out);
	for (uint32_t i = 0; i < TABLES_MAX && find_at(i, &place); i++)
		if (place.view == ask->place.view)
			tp_columns_end(ask->run->columns[i]);
	return err;
}

/* ---- tables ---- */

static bool find_table(struct ask *ask, const char *name)
{
	while (ask->at < TABLES_MAX && find_at(ask->at, &ask->place)) {
		if (!strcmp(name_of(&ask->place), name))
			return true;
		ask->at++;
	}
	tp_text_fmt(&ask->error, "no table is called '%s'", name);
	return false;
}

static bool pick_column(struct ask *ask, const struct tp_shape *shape, const char *field, size_t n)
{
	for (uint32_t c = 0; c < shape->n_columns; c++)
		if (strlen(shape->column[c].field) == n && !memcmp(shape->column[c].field, field, n) &&
		    ask->n_picked < TP_BATCH_COLUMNS) {
			ask->picked[ask->n_picked++] = (uint8_t)c;
			return true;
		}
	tp_text_fmt(&ask->error, "the table '%s' has no column '%.*s'", shape->name, (int)n, field);
	return false;
}

static bool pick_columns(struct ask *ask)
{
	const struct tp_raw *raw = ask->place.raw;
	struct tp_shape shape;

	if (raw)
		tp_raw_rows_shape(&shape, raw->name, raw->help, raw->column);
	else
		tp_columns_shape(&shape, ask->place.def);
	for (const char *at = ask->columns; at;) {
		size_t n = strcspn(at, ",");

		if (!pick_column(ask, &shape, at, n))
			return false;
		at = at[n] ? at + n + 1 : NULL;
	}
	return true;
}

static void let_go_run(void *ctx);

static int give_table(void *ctx)
{
	struct ask *ask = ctx;
	struct trainprof_run *run = ask->run;
	struct tp_feed_of of = {.raw = ask->place.raw, .picked = ask->columns ? ask->picked : NULL,
				.n_picked = ask->n_picked, .has_steps = run->options.steps != NULL,
				.done = let_go_run, .ctx = run};
	struct tp_source *source;
	int err;

	if (of.raw) {
		of.run = take_run(run);
		if (!of.run)
			return EIO;
		run->n_holders++;
		source = tp_feed_new(&of);
	} else {
		err = run->columns[ask->at] ? 0 : read_view(ask);
		if (err)
			return err;
		source = tp_columns_source(run->columns[ask->at]);
		if (ask->columns) {
			memcpy(source->shape.picked, ask->picked, ask->n_picked);
			source->shape.n_picked = ask->n_picked;
		}
	}
	return tp_arrow_stream(ask->stream, source);
}

PUBLIC int trainprof_table(struct trainprof_run *run, const char *name, const char *columns,
			   struct ArrowArrayStream *stream, char *error, size_t error_bytes)
{
	struct ask ask = {.run = run, .stream = stream, .columns = columns};
	int err;

	stream->release = NULL;
	begin_error(&ask, error, error_bytes);
	if (!find_table(&ask, name) || !pick_columns(&ask))
		return ENOENT;
	err = tp_guard(give_table, &ask, &ask.error);
	if (err)
		forget(&ask);
	return err;
}

static int give_text(void *ctx)
{
	struct ask *ask = ctx;
	size_t n;
	struct tp_out out = {.width = WIDTH, .is_whole = true, .top = 20};
	int err;

	out.file = open_memstream(&ask->text, &n);
	if (!out.file)
		tp_need_failed();
	err = read_pass(ask, &out);
	fclose(out.file);
	return err;
}

PUBLIC char *trainprof_text(struct trainprof_run *run, const char *view, char *error, size_t error_bytes)
{
	struct ask ask = {.run = run};

	begin_error(&ask, error, error_bytes);
	for (uint32_t i = 0; tp_views[i]; i++)
		if (is_shown(tp_views[i]) && !strcmp(tp_views[i]->name, view))
			ask.place.view = tp_views[i];
	if (!ask.place.view) {
		tp_text_fmt(&ask.error, "no view is called '%s'", view);
		return NULL;
	}
	if (!tp_guard(give_text, &ask, &ask.error))
		return ask.text;
	free(ask.text);
	return NULL;
}

/* ---- runs ---- */

static int open_run(void *ctx)
{
	struct trainprof_run *run = ctx;

	run->ready = tp_run_open(&run->options);
	return run->ready ? 0 : EIO;
}

/* Copies of what was given. False: out of memory. */
static bool keep(struct trainprof_run *run, const char *const *path, uint32_t n_paths,
		 const struct trainprof_choice *chosen)
{
	const char *list[3] = {chosen ? chosen->ranks : NULL, chosen ? chosen->windows : NULL,
			       chosen ? chosen->steps : NULL};

	run->path = calloc((size_t)n_paths + 1, sizeof(*run->path));
	for (uint32_t i = 0; run->path && i < n_paths; i++) {
		run->path[i] = strdup(path[i]);
		if (!run->path[i])
			return false;
	}
	for (uint32_t i = 0; i < 3; i++) {
		run->list[i] = list[i] ? strdup(list[i]) : NULL;
		if (list[i] && !run->list[i])
			return false;
	}
	run->options = (struct tp_fuse_options){.path = (const char *const *)run->path, .n_paths = n_paths,
		.ranks = run->list[0], .windows = run->list[1], .steps = run->list[2], .is_quiet = true};
	return run->path != NULL;
}

static bool are_lists(struct ask *ask)
{
	for (uint32_t i = 0; i < 3; i++)
		if (ask->run->list[i] && !tp_list_is_valid(ask->run->list[i])) {
			tp_text_fmt(&ask->error, "'%s' is no list (like 0,2,5-7)", ask->run->list[i]);
			return false;
		}
	return true;
}

PUBLIC struct trainprof_run *trainprof_open(const char *const *path, uint32_t n_paths,
					    const struct trainprof_choice *chosen, char *error,
					    size_t error_bytes)
{
	struct ask ask = {.run = calloc(1, sizeof(*ask.run))};

	begin_error(&ask, error, error_bytes);
	if (ask.run)
		ask.run->n_holders = 1;
	if (!ask.run || !keep(ask.run, path, n_paths, chosen)) {
		tp_text_str(&ask.error, "out of memory");
		trainprof_close(ask.run);
		return NULL;
	}
	if (!are_lists(&ask) || tp_guard(open_run, ask.run, &ask.error)) {
		trainprof_close(ask.run);
		return NULL;
	}
	return ask.run;
}

static void free_ready(void *ctx)
{
	tp_run_free(((struct trainprof_run *)ctx)->ready);
}

static void free_run(struct trainprof_run *run)
{
	for (uint32_t i = 0; run->path && i < run->options.n_paths; i++)
		free(run->path[i]);
	for (uint32_t i = 0; i < 3; i++)
		free(run->list[i]);
	free(run->path);
	free(run);
}

/* What a run of a stream was opened with may go. */
static void let_go_run(void *ctx)
{
	struct trainprof_run *run = ctx;

	if (!--run->n_holders)
		free_run(run);
}

PUBLIC void trainprof_close(struct trainprof_run *run)
{
	if (!run)
		return;
	if (run->ready)
		tp_guard_quiet(free_ready, run);
	run->ready = NULL;
	for (uint32_t i = 0; i < TABLES_MAX; i++)
		tp_columns_let_go(run->columns[i]);
	let_go_run(run);
}
