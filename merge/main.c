/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - trainprof-merge: one pass over the events, exit status
 *
 * Results are written whole or not at all, complaints go to stderr, one line each.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "merge/command.h"
#include "merge/input/recovered.h"
#include "runtime/base/options.h"

#ifndef TP_VERSION
#define TP_VERSION "0.1"
#endif

/* What was asked for; is_worse becomes true while views are printed. */
static const struct tp_command *command;

/* ---- the pass ---- */

struct pass {
	void *sink_state[TP_LIST_MAX];
	void *view_state[TP_LIST_MAX];
};

static void give_event(void *ctx, const struct tp_event *event)
{
	struct pass *pass = ctx;

	for (uint32_t i = 0; i < command->n_sinks; i++) {
		if (!command->sink[i]->write)
			command->sink[i]->event(pass->sink_state[i], event);
	}
	for (uint32_t i = 0; i < command->n_shown; i++) {
		if (command->shown[i]->event)
			command->shown[i]->event(pass->view_state[i], event);
	}
}

static bool needs_events(const struct tp_run *run)
{
	/* That nothing was lost is known when all was read. */
	bool needs = command->is_strict && command->n_shown;

	for (uint32_t i = 0; i < command->n_sinks; i++)
		needs |= !command->sink[i]->write;
	for (uint32_t i = 0; i < command->n_shown; i++)
		needs |= command->shown[i]->event &&
			 (!command->shown[i]->needs_events || command->shown[i]->needs_events(run));
	return needs;
}

/* Views go to standard output; rows to the file of -o, when nothing else does. */
static bool open_out(struct tp_out *out)
{
	struct winsize size;

	*out = (struct tp_out){.file = stdout, .width = 100, .rows = command->rows};
	if (command->rows && command->output && !command->n_sinks) {
		out->file = fopen(command->output, "we");
		if (!out->file)
			fprintf(stderr, "trainprof-merge: cannot write '%s': %s\n", command->output,
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
	const char *name = out->file == stdout ? "standard output" : command->output;
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

	for (uint32_t i = 0; i < command->n_sinks && is_good; i++) {
		if (tp_sink_path(run, command->sink[i], command->output, command->n_sinks > 1,
				 path[i], 4096)) {
			fprintf(stderr, "trainprof-merge: the name of the result is too long\n");
			is_good = false;
			break;
		}
		if (command->sink[i]->prepare)
			command->sink[i]->prepare(&command->view);
		if (command->sink[i]->write) {
			is_good = !command->sink[i]->write(run, path[i]);
			n_begun++;
			continue;
		}
		pass->sink_state[i] = command->sink[i]->begin(run, path[i]);
		is_good = pass->sink_state[i] != NULL;
		n_begun += is_good;
	}
	for (uint32_t i = 0; i < command->n_shown; i++)
		pass->view_state[i] = command->shown[i]->begin(run, &command->view);
	if (is_good && needs_events(run))
		err = tp_fuse_events(run, give_event, pass);
	if (err) {
		fprintf(stderr, "trainprof-merge: the events could not be read to their end: %s\n",
			strerror(-err));
		is_good = false;
	}
	for (uint32_t i = 0; i < n_begun; i++) {
		if (!command->sink[i]->write)
			is_good = !command->sink[i]->end(pass->sink_state[i], run) && is_good;
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

static enum tp_status merge(void)
{
	static char path[TP_LIST_MAX][4096];
	enum tp_status status = TP_STATUS_OK;
	struct pass pass = {{NULL}, {NULL}};
	struct tp_run *run;
	struct tp_out out;

	if (!open_out(&out))
		return TP_STATUS_NOTHING;
	run = tp_run_open(&command->fuse);
	if (!run)
		return TP_STATUS_NOTHING;
	if (!run_pass(run, &pass, path))
		status = TP_STATUS_NOTHING;
	for (uint32_t i = 0; i < command->n_shown; i++)
		command->shown[i]->print(pass.view_state[i], run, &out);
	for (uint32_t i = 0; i < command->n_sinks && !status && !command->is_quiet; i++)
		fprintf(command->rows ? stderr : stdout, "%swrote %s; %s\n",
			i || !command->n_shown || command->rows ? "" : "\n", path[i],
			command->sink[i]->hint);
	/* Last: it takes away what the pass has read. */
	if (command->is_recover && tp_recovered_write(run))
		status = TP_STATUS_NOTHING;
	if (!command->is_recover && !command->is_quiet)
		say_left(run);
	if (!close_out(&out))
		status = TP_STATUS_NOTHING;
	for (uint32_t i = 0; i < run->n_issues && command->is_strict && !status; i++) {
		if (run->issue[i].is_loss)
			status = TP_STATUS_LOST;
	}
	if (command->is_worse && !status)
		status = TP_STATUS_WORSE;
	tp_run_free(run);
	return status;
}

static void print_environment(void)
{
	char text[8192];
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	tp_options_help(&out);
	fputs(text, stdout);
}

int main(int argc, char **argv)
{
	(void)argc;
	/* A reader that goes away (| head) is an error of the write, said in a line. */
	signal(SIGPIPE, SIG_IGN);
	command = tp_command_read(argv);
	if (command->is_help)
		tp_command_help();
	else if (command->is_help_env)
		print_environment();
	else if (command->is_version)
		printf("trainprof-merge %s, trace format %d.%d\n", TP_VERSION, TP_TRACE_MAJOR,
		       TP_TRACE_MINOR);
	else
		return merge();
	if (fflush(stdout)) {
		fprintf(stderr, "trainprof-merge: cannot write to standard output: %s\n",
			strerror(errno));
		return TP_STATUS_NOTHING;
	}
	return TP_STATUS_OK;
}
