/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - trainprof-merge: options, one pass over the events, exit status
 *
 * The only file of the merge that exits. One row per option; what an option means stands in
 * its row. Results are written whole or not at all, complaints go to stderr, one line each.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/diff.h"
#include "merge/fuse.h"
#include "merge/input.h"
#include "merge/recovered.h"
#include "merge/sinks.h"
#include "merge/view.h"
#include "runtime/base/options.h"

#ifndef TP_VERSION
#define TP_VERSION "0.1"
#endif

enum status {
	STATUS_OK = 0,
	STATUS_NOTHING = 1,	/* nothing usable, or a result could not be written */
	STATUS_USAGE = 2,
	STATUS_LOST = 3,	/* --strict, and something was lost */
	STATUS_WORSE = 4,	/* --fail-if, and a limit is passed */
};

struct options {
	const char *output, *formats, *views;
	const char *top, *sort;
	const char *compare, *fail_if;
	struct tp_fuse_options fuse, other;
	struct tp_view_options view;
	bool by_shape, by_stack, by_grid, by_operator, is_recover, is_strict, is_quiet, is_help, is_help_env;
	bool is_version, is_worse;

	const struct tp_sink *sink[TP_LIST_MAX];
	const struct tp_view *shown[TP_LIST_MAX];
	uint32_t n_sinks, n_shown;
	enum tp_rows rows;
};

static struct options options;

/* Formats of the views' tables, not of the events. */
static const struct {
	const char *name, *help;
	enum tp_rows rows;
} row_formats[] = {
	{"csv", "the tables of the views, for programs: comma-separated values", TP_ROWS_CSV},
	{"jsonl", "the same: a JSON object a line", TP_ROWS_JSONL},
};
enum { N_ROW_FORMATS = sizeof(row_formats) / sizeof(row_formats[0]) };

struct option_row {
	char letter;
	const char *name;
	const char *value;	/* NULL: a switch */
	const char **text;
	bool *flag;
	const char *help;
};

static const struct option_row rows[] = {
	{'o', "output", "FILE", &options.output, NULL,
	 "where the result goes: a file, or a folder (default: the run's folder)"},
	{'f', "format", "FORMAT,..", &options.formats, NULL, "formats to write; see below"},
	{'v', "view", "VIEW,..", &options.views, NULL,
	 "views to print; alone, no file is written; see below"},
	{0, "steps", "LIST", &options.fuse.steps, NULL,
	 "only what began in these steps of the run: 120-125, or 3,7"},
	{0, "ranks", "LIST", &options.fuse.ranks, NULL, "only these ranks: 0,2,5-7"},
	{0, "windows", "LIST", &options.fuse.windows, NULL, "only these windows: 0,2-3"},
	{0, "top", "N", &options.top, NULL, "rows of long tables (default 20; 0: all)"},
	{0, "by-shape", NULL, NULL, &options.by_shape,
	 "operator view: a row per name and input shapes"},
	{0, "by-stack", NULL, NULL, &options.by_stack,
	 "operator view: a row per name and call stack, with the line that it comes from"},
	{0, "by-grid", NULL, NULL, &options.by_grid,
	 "kernel view: a row per name, grid, block, registers and shared memory"},
	{0, "by-operator", NULL, NULL, &options.by_operator,
	 "kernel view: a row per name and the operator that launched it"},
	{0, "sort", "KEY", &options.sort, NULL,
	 "operator view: self, total, calls, memory or device (default self); kernel view: calls"},
	{0, "compare", "PATH", &options.compare, NULL,
	 "diff view: the run to compare with; alone, shows it"},
	{0, "fail-if", "LIMIT,..", &options.fail_if, NULL,
	 "diff view: exit status 4 when passed: step>5%, memory>10%, kernel>5%, heap-peak>5%,\n"
	 "                              heap-allocs>5%, heap-leaked>5%"},
	{0, "recover", NULL, NULL, &options.is_recover,
	 "write what rings of dead processes still hold into trace files, remove the rings"},
	{0, "strict", NULL, NULL, &options.is_strict, "exit with status 3 when anything was lost"},
	{'q', "quiet", NULL, NULL, &options.is_quiet, "no progress and no notes, only losses"},
	{'h', "help", NULL, NULL, &options.is_help, "this text"},
	{0, "help-env", NULL, NULL, &options.is_help_env,
	 "the TRAINPROF_ variables that the profiled job reads"},
	{0, "version", NULL, NULL, &options.is_version, "version"},
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static const char *const sort_keys[] = {"self", "total", "calls", "memory", "device", NULL};

static _Noreturn void fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

static _Noreturn void fail_usage(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "trainprof-merge: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; try 'trainprof-merge --help'\n");
	exit(STATUS_USAGE);
}

/* ---- help ---- */

static void print_help(void)
{
	printf("usage: trainprof-merge [OPTION].. PATH..\n\n"
	       "Fuses the traces of a training job into one timeline and says where the time went.\n"
	       "PATH is a run folder, trace files (*.tpt), node files (*.tpn), or rings that dead\n"
	       "processes left.\n"
	       "Without options it writes node{node_rank}.json.gz into the run folder and prints the\n"
	       "overview.\n\n");
	for (int i = 0; i < N_ROWS; i++) {
		const struct option_row *row = &rows[i];
		char left[64], letter[6] = "    ";

		if (row->letter)
			snprintf(letter, sizeof(letter), "-%c, ", row->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->value ? " " : "",
			 row->value ? row->value : "");
		printf("  %-26s  %s\n", left, row->help);
	}
	printf("\nformats (default chrome):\n");
	for (int i = 0; tp_sinks[i]; i++)
		printf("  %-26s  %s\n", tp_sinks[i]->name, tp_sinks[i]->help);
	for (int i = 0; i < N_ROW_FORMATS; i++)
		printf("  %-26s  %s\n", row_formats[i].name, row_formats[i].help);
	printf("\nviews (default overview):\n");
	for (int i = 0; tp_views[i]; i++)
		printf("  %-26s  %s\n", tp_views[i]->name, tp_views[i]->help);
	printf("\nexit status: 0, 1 (nothing usable, or a result could not be written), 2 (usage),\n"
	       "3 (--strict and something was lost), 4 (--fail-if and a limit is passed)\n");
}

static void print_environment(void)
{
	char text[8192];
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	tp_options_help(&out);
	fputs(text, stdout);
}

/* ---- parsing ---- */

static const struct option_row *find_name(const char *name, size_t n)
{
	for (int i = 0; i < N_ROWS; i++) {
		if (strlen(rows[i].name) == n && !memcmp(rows[i].name, name, n))
			return &rows[i];
	}
	return NULL;
}

static const struct option_row *find_letter(char letter)
{
	for (int i = 0; i < N_ROWS; i++) {
		if (rows[i].letter == letter)
			return &rows[i];
	}
	return NULL;
}

/* Takes argv[i] and, when it is not joined, its value; returns the next i. */
static int take_option(char **argv, int i)
{
	const char *arg = argv[i], *joined = NULL;
	const struct option_row *row;

	if (arg[1] == '-') {
		joined = strchr(arg, '=');
		row = find_name(arg + 2, joined ? (size_t)(joined - arg - 2) : strlen(arg + 2));
		if (joined)
			joined++;
	} else {
		row = find_letter(arg[1]);
		if (row && arg[2])
			joined = arg + 2;
	}
	if (!row)
		fail_usage("unknown option '%s'", arg);
	if (!row->value) {
		if (joined)
			fail_usage("option '%s' takes no value", arg);
		*row->flag = true;
		return i + 1;
	}
	if (!joined && !argv[i + 1])
		fail_usage("option '%s' needs a value: %s", arg, row->value);
	*row->text = joined ? joined : argv[i + 1];
	if (!**row->text)
		fail_usage("option '--%s' needs a value: %s", row->name, row->value);
	return i + (joined ? 1 : 2);
}

/* Options and paths may come in any order; paths are collected at the front of argv. */
static void parse(char **argv)
{
	uint32_t n_paths = 0;

	for (int i = 1; argv[i];) {
		if (!strcmp(argv[i], "--")) {
			while (argv[++i])
				argv[n_paths++] = argv[i];
			break;
		}
		if (argv[i][0] == '-' && argv[i][1])
			i = take_option(argv, i);
		else
			argv[n_paths++] = argv[i++];
	}
	options.fuse.path = (const char *const *)argv;
	options.fuse.n_paths = n_paths;
}

/* Calls `take` for each word of "a,b"; it returns false for one it does not know. */
static void each_word(const char *list, const char *what, bool (*take)(const char *word))
{
	char word[64];

	while (*list) {
		size_t n = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)(n < 60 ? n : 60), list);
		if (!take(word))
			fail_usage("unknown %s '%s'", what, word);
		list += n + (list[n] == ',');
	}
}

static bool take_sink(const char *word)
{
	for (int i = 0; tp_sinks[i]; i++) {
		if (strcmp(tp_sinks[i]->name, word))
			continue;
		for (uint32_t k = 0; k < options.n_sinks; k++) {
			if (options.sink[k] == tp_sinks[i])
				return true;
		}
		options.sink[options.n_sinks++] = tp_sinks[i];
		return true;
	}
	return false;
}

static bool take_format(const char *word)
{
	for (int i = 0; i < N_ROW_FORMATS; i++) {
		if (strcmp(row_formats[i].name, word))
			continue;
		if (options.rows && options.rows != row_formats[i].rows)
			fail_usage("csv and jsonl are two formats of one output");
		options.rows = row_formats[i].rows;
		return true;
	}
	return take_sink(word);
}

static bool take_view(const char *word)
{
	for (int i = 0; tp_views[i]; i++) {
		if (strcmp(tp_views[i]->name, word))
			continue;
		for (uint32_t k = 0; k < options.n_shown; k++) {
			if (options.shown[k] == tp_views[i])
				return true;
		}
		options.shown[options.n_shown++] = tp_views[i];
		return true;
	}
	return false;
}

static void check_list(const char *name, const char *list)
{
	if (list && !tp_input_is_list(list))
		fail_usage("'%s' is no list for '--%s' (like 0,2,5-7)", list, name);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void check_options(void)
{
	bool is_sort_known = !options.sort;
	char *end;

	check_list("ranks", options.fuse.ranks);
	check_list("windows", options.fuse.windows);
	check_list("steps", options.fuse.steps);
	options.view.top = 20;
	if (options.top) {
		unsigned long top = strtoul(options.top, &end, 10);

		if (*options.top < '0' || *options.top > '9' || *end || top > UINT32_MAX)
			fail_usage("'%s' is no number for '--top'", options.top);
		options.view.top = (uint32_t)top;
	}
	for (int i = 0; sort_keys[i] && options.sort; i++)
		is_sort_known |= !strcmp(options.sort, sort_keys[i]);
	if (!is_sort_known)
		fail_usage("unknown key '%s' for '--sort' (self, total, calls, memory, device)",
			   options.sort);
	options.view.sort = options.sort;
	options.view.by_shape = options.by_shape;
	options.view.by_stack = options.by_stack;
	options.view.by_grid = options.by_grid;
	options.view.by_operator = options.by_operator;
	options.fuse.is_quiet = options.is_quiet;
	if (options.fail_if && !options.compare)
		fail_usage("'--fail-if' needs '--compare'");
	if (options.fail_if && !tp_diff_is_limit(options.fail_if))
		fail_usage("'%s' is no limit for '--fail-if' (like step>5%%)", options.fail_if);
	if (options.compare) {
		options.other = options.fuse;
		options.other.path = &options.compare;
		options.other.n_paths = 1;
		options.view.compare = &options.other;
		options.view.fail_if = options.fail_if;
		options.view.is_worse = &options.is_worse;
		take_view("diff");
	}

	if (options.formats)
		each_word(options.formats, "format", take_format);
	if (options.views)
		each_word(options.views, "view", take_view);
	if (options.views && strstr(options.views, "diff") && !options.compare)
		fail_usage("the view 'diff' needs '--compare PATH'");
	/* Neither asked for: the file people open and the first answer. */
	if ((options.rows || !options.formats) && !options.n_shown && !options.is_recover)
		take_view("overview");
	if ((!options.formats && !options.views && !options.compare && !options.is_recover) ||
	    options.output) {
		if (!options.n_sinks && !options.rows)
			take_sink("chrome");
	}
	for (uint32_t i = 0; i < options.n_sinks; i++) {
		if (options.sink[i]->write && options.fuse.steps)
			fail_usage("the format '%s' holds whole files: '--steps' does not apply",
				   options.sink[i]->name);
	}
	if (options.n_sinks > 1 && options.output && !is_folder(options.output))
		fail_usage("'-o %s' is one file, but several formats are asked for: give a folder",
			   options.output);
	if (!options.fuse.n_paths)
		fail_usage("no path given");
}

/* ---- the pass ---- */

struct pass {
	void *sink_state[TP_LIST_MAX];
	void *view_state[TP_LIST_MAX];
};

static void give_event(void *ctx, const struct tp_event *event)
{
	struct pass *pass = ctx;

	for (uint32_t i = 0; i < options.n_sinks; i++) {
		if (!options.sink[i]->write)
			options.sink[i]->event(pass->sink_state[i], event);
	}
	for (uint32_t i = 0; i < options.n_shown; i++) {
		if (options.shown[i]->event)
			options.shown[i]->event(pass->view_state[i], event);
	}
}

static bool needs_events(void)
{
	bool needs = false;

	for (uint32_t i = 0; i < options.n_sinks; i++)
		needs |= !options.sink[i]->write;
	for (uint32_t i = 0; i < options.n_shown; i++)
		needs |= options.shown[i]->event != NULL;
	return needs;
}

/* Views go to standard output; rows to the file of -o, when nothing else does. */
static bool open_out(struct tp_out *out)
{
	struct winsize size;

	*out = (struct tp_out){.file = stdout, .width = 100, .rows = options.rows};
	if (options.rows && options.output && !options.n_sinks) {
		out->file = fopen(options.output, "we");
		if (!out->file)
			fprintf(stderr, "trainprof-merge: cannot write '%s': %s\n", options.output,
				strerror(errno));
		return out->file != NULL;
	}
	if (!isatty(STDOUT_FILENO))
		return true;
	out->has_color = !getenv("NO_COLOR");
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		out->width = size.ws_col;
	return true;
}

static bool close_out(struct tp_out *out)
{
	const char *name = out->file == stdout ? "standard output" : options.output;
	bool is_bad = fflush(out->file) || ferror(out->file);

	if (out->file != stdout)
		is_bad |= fclose(out->file) != 0;
	if (is_bad)
		fprintf(stderr, "trainprof-merge: cannot write to %s: %s\n", name, strerror(errno));
	return !is_bad;
}

/* Begins all sinks, gives them every event, ends them. False: a result was not written. */
static bool run_pass(struct tp_run *run, struct pass *pass, char path[][4096])
{
	bool is_good = true;
	uint32_t n_begun = 0;
	int err = 0;

	for (uint32_t i = 0; i < options.n_sinks && is_good; i++) {
		if (tp_sink_path(run, options.sink[i], options.output, options.n_sinks > 1,
				 path[i], 4096)) {
			fprintf(stderr, "trainprof-merge: the name of the result is too long\n");
			is_good = false;
			break;
		}
		if (options.sink[i]->prepare)
			options.sink[i]->prepare(&options.view);
		if (options.sink[i]->write) {
			is_good = !options.sink[i]->write(run, path[i]);
			n_begun++;
			continue;
		}
		pass->sink_state[i] = options.sink[i]->begin(run, path[i]);
		is_good = pass->sink_state[i] != NULL;
		n_begun += is_good;
	}
	for (uint32_t i = 0; i < options.n_shown; i++)
		pass->view_state[i] = options.shown[i]->begin(run, &options.view);
	if (is_good && needs_events())
		err = tp_fuse_events(run, give_event, pass);
	if (err) {
		fprintf(stderr, "trainprof-merge: the events could not be read to their end: %s\n",
			strerror(-err));
		is_good = false;
	}
	for (uint32_t i = 0; i < n_begun; i++) {
		if (!options.sink[i]->write)
			is_good = !options.sink[i]->end(pass->sink_state[i], run) && is_good;
	}
	return is_good;
}

/* A ring in /dev/shm is memory that nobody else can have. */
static void say_left(const struct tp_run *run)
{
	char path[TP_RECOVERED_PATH], shown[TP_RECOVERED_PATH], size[32];
	uint64_t bytes;
	uint32_t n = tp_recovered_left(run, path, &bytes);

	if (!n)
		return;
	tp_show_text(shown, sizeof(shown), path, (uint32_t)strlen(path));
	tp_show_bytes(size, (int64_t)bytes);
	if (n == 1)
		fprintf(stderr, "trainprof-merge: --recover turns the dead process's ring into trace "
				"files and frees %s in '%s'\n", size, shown);
	else
		fprintf(stderr, "trainprof-merge: --recover turns %u dead processes' rings into trace "
				"files and frees %s in '%s' and others\n", n, size, shown);
}

static enum status merge(void)
{
	static char path[TP_LIST_MAX][4096];
	enum status status = STATUS_OK;
	struct pass pass = {{NULL}, {NULL}};
	struct tp_run *run;
	struct tp_out out;

	if (!open_out(&out))
		return STATUS_NOTHING;
	run = tp_run_open(&options.fuse);
	if (!run)
		return STATUS_NOTHING;
	if (!run_pass(run, &pass, path))
		status = STATUS_NOTHING;
	for (uint32_t i = 0; i < options.n_shown; i++)
		options.shown[i]->print(pass.view_state[i], run, &out);
	for (uint32_t i = 0; i < options.n_sinks && !status && !options.is_quiet; i++)
		fprintf(options.rows ? stderr : stdout, "%swrote %s; %s\n",
			i || !options.n_shown || options.rows ? "" : "\n", path[i],
			options.sink[i]->hint);
	/* Last: it takes away what the pass has read. */
	if (options.is_recover && tp_recovered_write(run))
		status = STATUS_NOTHING;
	if (!options.is_recover && !options.is_quiet)
		say_left(run);
	if (!close_out(&out))
		status = STATUS_NOTHING;
	for (uint32_t i = 0; i < run->n_issues && options.is_strict && !status; i++) {
		if (run->issue[i].is_loss)
			status = STATUS_LOST;
	}
	if (options.is_worse && !status)
		status = STATUS_WORSE;
	tp_run_free(run);
	return status;
}

int main(int argc, char **argv)
{
	(void)argc;
	/* A reader that goes away (| head) is an error of the write, said in a line. */
	signal(SIGPIPE, SIG_IGN);
	parse(argv);
	if (options.is_help)
		print_help();
	else if (options.is_help_env)
		print_environment();
	else if (options.is_version)
		printf("trainprof-merge %s, trace format %d.%d\n", TP_VERSION, TP_TRACE_MAJOR,
		       TP_TRACE_MINOR);
	else {
		check_options();
		return merge();
	}
	if (fflush(stdout)) {
		fprintf(stderr, "trainprof-merge: cannot write to standard output: %s\n",
			strerror(errno));
		return STATUS_NOTHING;
	}
	return STATUS_OK;
}
