/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_choose.c - the words of a command line become results: which formats, which views, of what; what
 * does not go together is refused
 */
#include "merge/command_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/fields.h"
#include "merge/kit/list.h"
#include "merge/view/diff/diff.h"
#include "runtime/base/text.h"

/* Of the one call that works. */
static struct tp_command *command;
static const struct tp_command_words *words;

/* Formats of the views' tables, not of the events. */
static const struct {
	const char *name, *help;
	enum tp_rows rows;
} row_formats[] = {
	{"csv", "the tables of the views, for programs: comma-separated values", TP_ROWS_CSV},
	{"jsonl", "the same: a JSON object a line", TP_ROWS_JSONL},
};
enum { N_ROW_FORMATS = sizeof(row_formats) / sizeof(row_formats[0]) };

static const char *name_format(uint32_t i)
{
	uint32_t n = 0;

	while (tp_sinks[n])
		n++;
	if (i < n)
		return tp_sinks[i]->name;
	return i - n < N_ROW_FORMATS ? row_formats[i - n].name : NULL;
}

static const char *name_view(uint32_t i)
{
	return tp_views[i] ? tp_views[i]->name : NULL;
}

/* Those that there are, named in the message. */
static _Noreturn void fail_unknown(const char *what, const char *word, const char *(*name)(uint32_t i))
{
	char known[512];
	struct tp_text text;

	tp_text_init(&text, known, sizeof(known));
	for (uint32_t i = 0; name(i); i++)
		tp_text_fmt(&text, "%s%s", i ? ", " : "", name(i));
	tp_command_fail("unknown %s '%s': %ss are %s", what, word, what, known);
}

/* Calls `take` for each word of "a,b"; it returns false for one it does not know. */
static void each_word(const char *list, const char *what, bool (*take)(const char *word),
		      const char *(*name)(uint32_t i))
{
	char word[64];

	while (*list) {
		size_t n = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)(n < 60 ? n : 60), list);
		if (!take(word))
			fail_unknown(what, word, name);
		list += n + (list[n] == ',');
	}
}

static bool take_sink(const char *word)
{
	for (int i = 0; tp_sinks[i]; i++) {
		if (strcmp(tp_sinks[i]->name, word))
			continue;
		for (uint32_t k = 0; k < command->n_sinks; k++) {
			if (command->sink[k] == tp_sinks[i])
				return true;
		}
		command->sink[command->n_sinks++] = tp_sinks[i];
		return true;
	}
	return false;
}

static bool take_format(const char *word)
{
	for (int i = 0; i < N_ROW_FORMATS; i++) {
		if (strcmp(row_formats[i].name, word))
			continue;
		if (command->rows && command->rows != row_formats[i].rows)
			tp_command_fail("csv and jsonl are two formats of one output");
		command->rows = row_formats[i].rows;
		return true;
	}
	return take_sink(word);
}

static bool take_view(const char *word)
{
	for (int i = 0; tp_views[i]; i++) {
		if (strcmp(tp_views[i]->name, word))
			continue;
		for (uint32_t k = 0; k < command->n_shown; k++) {
			if (command->shown[k] == tp_views[i])
				return true;
		}
		command->shown[command->n_shown++] = tp_views[i];
		return true;
	}
	return false;
}

static void check_list(const char *name, const char *list)
{
	if (list && !tp_list_is_valid(list))
		tp_command_fail("'%s' is no list for '--%s' (like 0,2,5-7)", list, name);
}

static bool is_comparing(void)
{
	return words->compare || words->other_steps || words->other_ranks || words->other_windows;
}

static uint32_t read_number(const char *name, const char *text, uint32_t least)
{
	char *end;
	const unsigned long number = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || number > UINT32_MAX || number < least)
		tp_command_fail("'%s' is not a number%s for '--%s'", text, least ? " from 1" : "", name);
	return (uint32_t)number;
}

static void check_values(void)
{
	check_list("ranks", command->fuse.ranks);
	check_list("windows", command->fuse.windows);
	check_list("steps", command->fuse.steps);
	check_list("calls", command->view.calls);
	check_list("compare-ranks", words->other_ranks);
	check_list("compare-windows", words->other_windows);
	check_list("compare-steps", words->other_steps);
	command->view.all = tp_views;
	command->view.top = 20;
	if (words->top) {
		command->view.top = read_number("top", words->top, 0);
		command->view.has_top = true;
	}
	if (words->depth)
		command->view.depth = read_number("depth", words->depth, 1);
	command->view.steps = command->fuse.steps;
	command->fuse.is_quiet = command->is_quiet;
	if (words->fail_if && !is_comparing())
		tp_command_fail("'--fail-if' needs '--compare'");
	if (words->fail_if && !tp_diff_is_limit(words->fail_if))
		tp_command_fail("'%s' is no limit for '--fail-if' (like step>5%%)", words->fail_if);
}

/* What one stream or one file cannot take. */
static void check_output(void)
{
	const bool is_stdout = tp_sink_is_stdout(command->output);

	if (!command->output)
		return;
	if (command->n_sinks > 1 && (is_stdout || !tp_sink_is_folder(command->output)))
		tp_command_fail("'-o %s' is one file, but several formats are requested: give a folder",
			   command->output);
	if (!is_stdout || !command->n_sinks)
		return;
	if (command->sink[0]->is_folder)
		tp_command_fail("the format '%s' is a folder of files: '-o -' cannot take it",
			   command->sink[0]->name);
	if (command->n_shown)
		tp_command_fail("'-o -': views and a format cannot both go to standard output");
}

/* Is one of the formats made of views? */
static bool shows_views(void)
{
	for (uint32_t i = 0; i < command->n_sinks; i++)
		if (command->sink[i]->has_views)
			return true;
	return false;
}

static bool is_shown(const char *view)
{
	for (uint32_t i = 0; i < command->n_shown; i++)
		if (!strcmp(command->shown[i]->name, view))
			return true;
	for (uint32_t i = 0; i < command->n_sinks; i++)
		if (command->sink[i]->like && !strcmp(command->sink[i]->like, view))
			return true;
	return false;
}

/* An option of a view that is not asked for would change nothing, and look as if it had. */
static void check_needs(void)
{
	const struct {
		const bool *flag;
		const char *const *text;
		const char *name, *view, *or;
	} needs[] = {
		{&command->view.by_shape, NULL, "by-shape", "operator", NULL},
		{&command->view.by_stack, NULL, "by-stack", "operator", NULL},
		{&command->view.by_grid, NULL, "by-grid", "kernel", NULL},
		{&command->view.by_operator, NULL, "by-operator", "kernel", NULL},
		{NULL, &command->view.at, "at", "memory-at", NULL},
		{NULL, &command->view.calls, "calls", "memory-at", NULL},
		{NULL, &words->depth, "depth", "module", "memory-at"},
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if ((needs[i].flag ? *needs[i].flag : *needs[i].text != NULL) && !is_shown(needs[i].view) &&
		    !(needs[i].or && is_shown(needs[i].or)))
			tp_command_fail("'--%s' needs '-v %s'", needs[i].name, needs[i].view);
	if (words->sort && !command->n_shown && !shows_views())
		tp_command_fail("'--sort' needs '-v VIEW': no table is written");
}

/* Formats and views: those named, or the ones that people want first. */
static void choose_results(void)
{
	if (is_comparing()) {
		command->other = command->fuse;
		if (words->compare) {
			command->other.path = &words->compare;
			command->other.n_paths = 1;
			command->other.job = NULL;
		}
		if (words->other_steps)
			command->other.steps = words->other_steps;
		if (words->other_ranks)
			command->other.ranks = words->other_ranks;
		if (words->other_windows)
			command->other.windows = words->other_windows;
		command->view.chosen = &command->fuse;
		command->view.compare = &command->other;
		command->view.fail_if = words->fail_if;
		command->view.is_worse = &command->is_worse;
		command->view.is_bad = &command->is_bad;
		take_view("diff");
	}
	/* Text goes there anyhow. */
	if (tp_sink_is_stdout(command->output) && !words->formats && (words->views || is_comparing()))
		command->output = NULL;
	if (words->formats)
		each_word(words->formats, "format", take_format, name_format);
	/* Programs want all rows. */
	if (command->rows && !words->top)
		command->view.top = 0;
	if (words->views)
		each_word(words->views, "view", take_view, name_view);
	if (words->views && strstr(words->views, "diff") && !is_comparing())
		tp_command_fail("the view 'diff' needs '--compare PATH' or '--compare-windows LIST'");
	/* Neither asked for: the file people open and the first answer. */
	if ((command->rows || (!words->formats && !tp_sink_is_stdout(command->output))) &&
	    !command->n_shown && !command->is_recover)
		take_view("overview");
	if ((!words->formats && !words->views && !is_comparing() && !command->is_recover) ||
	    command->output) {
		if (!command->n_sinks && !command->rows)
			take_sink("chrome");
	}
	for (uint32_t i = 0; i < command->n_sinks; i++) {
		if (command->sink[i]->write && command->fuse.steps)
			tp_command_fail("the format '%s' holds whole files: '--steps' does not apply",
				   command->sink[i]->name);
	}
	/* What any of them left is put in safety. */
	if (command->is_recover && !command->fuse.job)
		command->fuse.job = "all";
	if (!command->fuse.n_paths)
		tp_command_fail("no path given");
}

/* Of the views that are shown; of all, where a format shows them. */
static void check_sort(void)
{
	const struct tp_view *const *view = command->shown;
	uint32_t n = command->n_shown;

	if (!words->sort)
		return;
	if (shows_views()) {
		view = tp_views;
		for (n = 0; tp_views[n];)
			n++;
	}
	command->view.sort = tp_fields_find(view, n, words->sort);
	if (command->view.sort)
		return;
	fprintf(stderr, "trainprof-merge: unknown key '%s' for '--sort': keys are ",
		words->sort);
	tp_fields_list(view, n, stderr);
	fprintf(stderr, "; 'trainprof-merge --help-columns' says what they are\n");
	exit(TP_STATUS_USAGE);
}

const char *tp_command_row_format(uint32_t at, const char **help)
{
	if (at >= N_ROW_FORMATS)
		return NULL;
	*help = row_formats[at].help;
	return row_formats[at].name;
}

void tp_command_choose_watched(struct tp_command *of, const struct tp_command_words *given)
{
	command = of;
	words = given;
	each_word(words->formats ? words->formats : "chrome", "format", take_format, name_format);
	if (words->views || command->output || command->rows)
		tp_command_fail("'--watch' takes formats of events, which go into the run folder");
}

void tp_command_choose(struct tp_command *of, const struct tp_command_words *given)
{
	command = of;
	words = given;
	check_values();
	choose_results();
	check_output();
	check_needs();
	check_sort();
}
