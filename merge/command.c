/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - the options of trainprof-merge: their rows, the text of --help, what was given
 */
#include "merge/command_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tp_command_words words;
static struct tp_beside_words beside;
static struct tp_command command;

struct option_row {
	char letter;
	const char *name;
	const char *value;	/* NULL: a switch */
	const char **text;
	bool *flag;
	const char *help;
};

static const struct option_row rows[] = {
	{'o', "output", "FILE", &command.output, NULL,
	 "where the result goes: a file, a folder (new/ is made) or - (default: the run's folder)"},
	{'f', "format", "FORMAT,..", &words.formats, NULL, "formats to write; see below"},
	{'v', "view", "VIEW,..", &words.views, NULL,
	 "views to print; alone, no file is written; see below"},
	{0, "steps", "LIST", &command.fuse.steps, NULL,
	 "only what began in these steps of the run: 120-125, or 3,7"},
	{0, "ranks", "LIST", &command.fuse.ranks, NULL, "only these ranks: 0,2,5-7"},
	{0, "windows", "LIST", &command.fuse.windows, NULL, "only these windows: 0,2-3"},
	{0, "job", "NAME", &command.fuse.job, NULL,
	 "of several jobs whose files are here: this one (all: fused; default: the newest)"},
	{0, "top", "N", &words.top, NULL, "rows of long tables (default 20; 0: all)"},
	{0, "by-shape", NULL, NULL, &command.view.by_shape,
	 "operator view: a row per name and input shapes"},
	{0, "by-stack", NULL, NULL, &command.view.by_stack,
	 "operator view: a row per name and call stack, with the line that it comes from"},
	{0, "by-grid", NULL, NULL, &command.view.by_grid,
	 "kernel view: a row per name, grid, block, registers and shared memory"},
	{0, "by-operator", NULL, NULL, &command.view.by_operator,
	 "kernel view: a row per name and the operator that launched it"},
	{0, "at", "NAME,..", &command.view.at, NULL,
	 "memory-at view, memprofiler, memviz: only ranges with one of these in their names: training_step,optimizer.step "
	 "(default what the job's TRAINPROF_MEMORY_AT says, else all)"},
	{0, "calls", "LIST", &command.view.calls, NULL,
	 "memory-at view, memprofiler, memviz: only these calls of each: 2-3"},
	{0, "depth", "N", &words.depth, NULL,
	 "module view, memprofiler: modules down to this depth, 1 the outermost (default all, of memory 3)"},
	{0, "sort", "KEY", &words.sort, NULL,
	 "sort tables by this field of theirs (--help-columns), the largest first; also self, "
	 "total, calls, memory or device of operators (default self)"},
	{0, "compare", "PATH", &words.compare, NULL,
	 "diff view: the run to compare with; alone, shows it"},
	{0, "compare-steps", "LIST", &words.other_steps, NULL,
	 "diff view: of the other run these steps; without --compare, of the same run"},
	{0, "compare-ranks", "LIST", &words.other_ranks, NULL, "the same by ranks"},
	{0, "compare-windows", "LIST", &words.other_windows, NULL, "the same by windows"},
	{0, "fail-if", "LIMIT,..", &words.fail_if, NULL,
	 "diff view: exit status 4 when passed: step>5%, data>5%, forward>5%, backward>5%, "
	 "optimizer>5%, memory>10%, kernel>5%, heap-peak>5%, "
	 "heap-allocs>5%, heap-leaked>5%"},
	{0, "recover", NULL, NULL, &command.is_recover,
	 "write what buffer files (*.ring) of dead processes still hold into trace files, remove them"},
	{0, "strict", NULL, NULL, &command.is_strict, "exit with status 3 when anything was lost"},
	{'q', "quiet", NULL, NULL, &command.is_quiet, "no progress and no notes, only losses"},
	{0, "no-pager", NULL, NULL, &command.is_no_pager,
	 "views longer than the screen: no pager (PAGER, else less)"},
	{0, "ctl", NULL, NULL, &command.is_ctl,
	 "a request to the running job of a run folder: --ctl RUN window=N, stop or status"},
	{0, "live", NULL, NULL, &command.live.has_page,
	 "what a running job does now, rank by rank, until it ends: --live RUN"},
	{0, "metrics", "TO", &command.live.metrics, NULL,
	 "the same for Prometheus: into a file, or at :PORT, ADDRESS:PORT by HTTP"},
	{0, "step-lines", "FILE", &command.live.step_lines, NULL,
	 "the same: a JSON object for each step as it ends, added to a file, or -"},
	{0, "every", "SECONDS", &beside.every, NULL,
	 "how often these four look (default 1; lines of --live 10)"},
	{0, "watch", NULL, NULL, &command.is_watch,
	 "beside a job: merges each window when all ranks have written it: --watch RUN"},
	{0, "deliver", "COMMAND", &command.watch.deliver, NULL,
	 "--watch: hands each finished file to this shell line ({file}, {name}, {run}), or to "
	 "rclone:REMOTE:PATH; tried again until it succeeds"},
	{0, "keep", "N", &beside.keep, NULL,
	 "--watch: windows whose files stay, -1: all, 0: none once delivered "
	 "(default TRAINPROF_KEEP, else -1)"},
	{0, "wait", "SECONDS", &beside.wait, NULL,
	 "--watch: how long the last ranks of a window are waited for (default 60)"},
	{'h', "help", NULL, NULL, &command.is_help, "this text"},
	{0, "help-env", NULL, NULL, &command.is_help_env,
	 "the TRAINPROF_ variables that the profiled job reads"},
	{0, "help-columns", NULL, NULL, &command.is_help_columns,
	 "the tables of the views, their fields and units"},
	{0, "help-examples", NULL, NULL, &command.is_help_examples,
	 "questions, and the line that answers each"},
	{0, "version", NULL, NULL, &command.is_version, "version"},
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

_Noreturn void tp_command_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "trainprof-merge: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; try 'trainprof-merge --help'\n");
	exit(TP_STATUS_USAGE);
}

/* ---- help ---- */

/* Two columns; what does not fit a line goes on below its begin. */
static void print_help(const char *left, const char *help)
{
	enum { LEFT = 30, WIDTH = 80 };
	size_t room = WIDTH - LEFT;

	printf("  %-*s", LEFT - 2, left);
	while (strlen(help) > room) {
		size_t n = room;

		while (n && help[n] != ' ')
			n--;
		n = n ? n : strcspn(help, " ");
		printf("%.*s\n%*s", (int)n, help, LEFT, "");
		help += n + strspn(help + n, " ");
	}
	printf("%s\n", help);
}

void tp_command_help(void)
{
	const char *name, *help;

	printf("usage: trainprof-merge [OPTION].. PATH..\n\n"
	       "Fuses the traces of a training job into one timeline and says where the time\n"
	       "went. PATH is a run folder, trace files (*.tpt), node files (*.tpn), or buffer\n"
	       "files (*.ring) that dead processes left. Without options it writes node{node_rank}.json.gz into\n"
	       "the run folder and prints the overview.\n\n");
	for (int i = 0; i < N_ROWS; i++) {
		const struct option_row *row = &rows[i];
		char left[64], letter[6] = "    ";

		if (row->letter)
			snprintf(letter, sizeof(letter), "-%c, ", row->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name, row->value ? " " : "",
			 row->value ? row->value : "");
		print_help(left, row->help);
	}
	printf("\nformats (default chrome):\n");
	for (int i = 0; tp_sinks[i]; i++)
		print_help(tp_sinks[i]->name, tp_sinks[i]->help);
	for (uint32_t i = 0; (name = tp_command_row_format(i, &help)); i++)
		print_help(name, help);
	printf("\nviews (default overview):\n");
	for (int i = 0; tp_views[i]; i++)
		print_help(tp_views[i]->name, tp_views[i]->help);
	printf("\nexit status: 0, 1 (nothing usable, or a result could not be written), 2 (usage),\n"
	       "3 (--strict and something was lost), 4 (--fail-if and a limit is passed)\n");
}

void tp_command_examples(void)
{
	static const struct {
		const char *question, *line;
	} example[] = {
#define _(question, line) {question, line},
#include "merge/examples.def"
#undef _
	};
	int widest = 0, width;

	for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++) {
		width = (int)strlen(example[i].question);
		widest = width > widest ? width : widest;
	}
	for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++)
		printf("%-*s  %s\n", widest, example[i].question, example[i].line);
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
		tp_command_fail("unknown option '%s'", arg);
	if (!row->value) {
		if (joined)
			tp_command_fail("option '%s' takes no value", arg);
		*row->flag = true;
		return i + 1;
	}
	if (!joined && !argv[i + 1])
		tp_command_fail("option '%s' needs a value: %s", arg, row->value);
	*row->text = joined ? joined : argv[i + 1];
	if (!**row->text)
		tp_command_fail("option '--%s' needs a value: %s", row->name, row->value);
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
	command.fuse.path = (const char *const *)argv;
	command.fuse.n_paths = n_paths;
}

struct tp_command *tp_command_read(char **argv)
{
	memset(&command, 0, sizeof(command));
	memset(&words, 0, sizeof(words));
	memset(&beside, 0, sizeof(beside));
	parse(argv);
	if (command.is_watch)
		tp_command_choose_watched(&command, &words);
	tp_command_beside(&command, &beside);
	if (!command.is_help && !command.is_help_env && !command.is_help_columns &&
	    !command.is_help_examples && !command.is_version && !tp_command_is_beside(&command))
		tp_command_choose(&command, &words);
	return &command;
}
