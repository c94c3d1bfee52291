/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - the public functions of libtrainprof-read.so
 *
 * A table is made when it is first asked for, by one pass over the events with its view alone, and
 * kept. The rooms below are for one thread, and end the program when memory is out: here they are one
 * at a time, behind a lock, and memory that is out is an error (what the pass held then is lost).
 */
#include "merge/arrow/trainprof_read.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "merge/arrow/raw.h"
#include "merge/arrow/stream.h"
#include "merge/input/fuse.h"
#include "merge/kit/list.h"
#include "merge/kit/need.h"
#include "merge/kit/say.h"
#include "merge/pass.h"
#include "runtime/base/text.h"

#define PUBLIC __attribute__((visibility("default")))

enum { TABLES_MAX = 128, WIDTH = 100 };

struct trainprof_run {
	struct tp_fuse_options options;
	char **path;
	char *list[3];
	struct tp_run *ready;		/* opened, and not read yet; NULL: opened when it is needed */
	struct tp_columns *columns[TABLES_MAX];	/* by place; NULL: not asked for yet */
};

/* Where a table comes from. */
struct place {
	const struct tp_raw *raw;
	const struct tp_view *view;
	const struct tp_table_def *def;
};

static const struct tp_raw *const raws[] = {&tp_raw_processes, &tp_raw_issues, &tp_raw_events,
					    &tp_raw_spans, &tp_raw_kernels};
enum { N_RAWS = sizeof(raws) / sizeof(raws[0]) };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- which tables there are ---- */

/* A comparison needs another run. */
static bool is_shown(const struct tp_view *view)
{
	return view->tables && view != &tp_view_diff;
}

static bool find_at(uint32_t at, struct place *place)
{
	if (at < N_RAWS) {
		*place = (struct place){.raw = raws[at], .def = raws[at]->def};
		return true;
	}
	at -= N_RAWS;
	for (uint32_t i = 0; tp_views[i]; i++)
		for (uint32_t t = 0; is_shown(tp_views[i]) && tp_views[i]->tables[t]; t++)
			if (tp_views[i]->tables[t]->name && !at--) {
				*place = (struct place){.view = tp_views[i], .def = tp_views[i]->tables[t]};
				return true;
			}
	return false;
}

PUBLIC struct trainprof_about trainprof_about(uint32_t at)
{
	struct place place;

	if (at >= TABLES_MAX || !find_at(at, &place))
		return (struct trainprof_about){.name = NULL};
	return (struct trainprof_about){place.def->name, place.view ? place.view->name : "", place.def->help};
}

/* ---- what a call does, and how it fails ---- */

struct ask {
	struct trainprof_run *run;
	struct place place;		/* of a table; or a view's text */
	uint32_t at;
	struct tp_text error;
	struct ArrowArrayStream *stream;	/* of a table; NULL: no table is asked for */
	char *text;
	int err;
};

static void take_line(void *ctx, const char *line)
{
	struct tp_text *error = ctx;

	tp_text_fmt(error, "%s%s", error->len ? "; " : "", line);
}

static void begin_error(struct ask *ask, char *error, size_t error_bytes)
{
	static char nowhere[1];

	tp_text_init(&ask->error, error_bytes ? error : nowhere, error_bytes ? (uint32_t)error_bytes : 1);
}

/* Half read is none: the next one who asks begins anew. */
static void forget(struct trainprof_run *run, const struct tp_view *view, uint32_t at)
{
	struct place place;

	for (uint32_t i = 0; i < TABLES_MAX && find_at(i, &place); i++)
		if (i == at || (view && place.view == view)) {
			tp_columns_let_go(run->columns[i]);
			run->columns[i] = NULL;
		}
}

/* Does it, with what is said and memory that is out both in `error`. */
static int guard(void (*what)(struct ask *ask), struct ask *ask)
{
	jmp_buf out;

	pthread_mutex_lock(&lock);
	tp_say_take(take_line, &ask->error);
	if (setjmp(out)) {
		ask->err = ENOMEM;
		take_line(&ask->error, "out of memory: choose steps, ranks or windows");
	} else {
		tp_need_leave(&out);
		what(ask);
	}
	tp_need_leave(NULL);
	tp_say_take(NULL, NULL);
	if (ask->err && ask->stream)
		forget(ask->run, ask->place.view, ask->at);
	pthread_mutex_unlock(&lock);
	return ask->err;
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

static void read_pass(struct ask *ask, struct tp_out *out)
{
	const struct tp_view_options options = {.all = tp_views};
	struct tp_pass pass = {.options = &options, .view = {ask->place.view}};
	const struct tp_raw *raw = ask->place.raw;

	pass.run = take_run(ask->run);
	if (!pass.run) {
		ask->err = EIO;
		return;
	}
	pass.n_views = ask->place.view != NULL;
	pass.needs_all = raw && raw->show;
	tp_pass_begin(&pass);
	if (raw && raw->fact)
		tp_facts_want(pass.facts, raw->fact, &(struct tp_raw_to){.out = out});
	tp_pass_run(&pass);
	if (pass.n_views)
		pass.view[0]->print(pass.view_state[0], pass.run, out);
	else if (raw->show)
		raw->show(pass.run, out);
	if (pass.is_bad)
		ask->err = EIO;
	tp_pass_free(&pass);
	tp_run_free(pass.run);
}

/* ---- tables ---- */

static void read_table(struct ask *ask)
{
	struct tp_rows_to to = {.begin = begin_table, .row = take_row, .ctx = ask->run};
	struct tp_out out = {.rows = TP_ROWS_GIVEN, .rows_to = &to, .width = WIDTH, .is_whole = true};
	struct place place;

	for (uint32_t i = 0; i < TABLES_MAX && find_at(i, &place); i++)
		if (i == ask->at || (ask->place.view && place.view == ask->place.view))
			ask->run->columns[i] = tp_columns_new(place.def);
	read_pass(ask, &out);
}

static bool find_table(struct ask *ask, const char *name)
{
	while (ask->at < TABLES_MAX && find_at(ask->at, &ask->place)) {
		if (!strcmp(ask->place.def->name, name))
			return true;
		ask->at++;
	}
	tp_text_fmt(&ask->error, "no table is called '%s'", name);
	return false;
}

static void give_table(struct ask *ask)
{
	if (!ask->run->columns[ask->at])
		read_table(ask);
	if (!ask->err)
		ask->err = tp_arrow_stream(ask->stream, ask->run->columns[ask->at]);
}

PUBLIC int trainprof_table(struct trainprof_run *run, const char *name, struct ArrowArrayStream *stream,
			   char *error, size_t error_bytes)
{
	struct ask ask = {.run = run, .stream = stream};

	stream->release = NULL;
	begin_error(&ask, error, error_bytes);
	if (!find_table(&ask, name))
		return ENOENT;
	return guard(give_table, &ask);
}

static void give_text(struct ask *ask)
{
	size_t n;
	struct tp_out out = {.width = WIDTH, .is_whole = true, .top = 20};

	out.file = open_memstream(&ask->text, &n);
	if (!out.file)
		tp_need_failed();
	read_pass(ask, &out);
	fclose(out.file);
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
	if (!guard(give_text, &ask))
		return ask.text;
	free(ask.text);
	return NULL;
}

/* ---- runs ---- */

static void open_run(struct ask *ask)
{
	ask->run->ready = tp_run_open(&ask->run->options);
	if (!ask->run->ready)
		ask->err = EIO;
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
	if (!ask.run || !keep(ask.run, path, n_paths, chosen)) {
		tp_text_str(&ask.error, "out of memory");
		trainprof_close(ask.run);
		return NULL;
	}
	if (!are_lists(&ask) || guard(open_run, &ask)) {
		trainprof_close(ask.run);
		return NULL;
	}
	return ask.run;
}

PUBLIC void trainprof_close(struct trainprof_run *run)
{
	if (!run)
		return;
	pthread_mutex_lock(&lock);
	if (run->ready)
		tp_run_free(run->ready);
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < TABLES_MAX; i++)
		tp_columns_let_go(run->columns[i]);
	for (uint32_t i = 0; run->path && i < run->options.n_paths; i++)
		free(run->path[i]);
	for (uint32_t i = 0; i < 3; i++)
		free(run->list[i]);
	free(run->path);
	free(run);
}
