/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - trainprof-merge: one pass over the events, exit status
 *
 * Results are written whole or not at all, complaints go to stderr, one line each.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/command.h"
#include "merge/fields.h"
#include "merge/input/ring/recovered.h"
#include "merge/kit/say.h"
#include "merge/live/ctl.h"
#include "merge/pass.h"
#include "merge/remote.h"
#include "merge/terminal.h"
#include "runtime/base/options.h"

#ifndef TP_VERSION
#define TP_VERSION "0.1"
#endif

enum { TP_REMOTE_MAX = 16 };	/* paths in a store, with the others that are given beside them */

/* What was asked for; is_worse becomes true while views are printed. */
static const struct tp_command *command;

/* Where each sink writes. False: it cannot, and that is said. */
static bool find_paths(struct tp_pass *pass)
{
	int err = command->output ? tp_sink_make_folder(command->output) : 0;

	if (err) {
		tp_say("cannot make the folder '%s': %s", command->output, strerror(-err));
		return false;
	}
	for (uint32_t i = 0; i < pass->n_sinks; i++) {
		if (tp_sink_path(pass->run, pass->sink[i], command->output,
				 pass->n_sinks > 1 || command->rows, &command->fuse, pass->path[i],
				 sizeof(pass->path[i]))) {
			tp_say("the name of the result is too long");
			return false;
		}
	}
	return true;
}

/* Begins all sinks and views, gives them every event, ends the sinks. */
static void run_pass(struct tp_pass *pass)
{
	memcpy(pass->sink, command->sink, sizeof(pass->sink));
	memcpy(pass->view, command->shown, sizeof(pass->view));
	pass->n_sinks = command->n_sinks;
	pass->n_views = command->n_shown;
	pass->options = &command->view;
	/* That nothing was lost is known when all was read. */
	pass->needs_all = command->is_strict && command->n_shown;
	pass->is_bad = !find_paths(pass);
	tp_pass_begin(pass);
	tp_pass_run(pass);
	tp_pass_end(pass);
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
		tp_say("--recover turns what the dead process left into trace "
				"files and frees %s in '%s'", size, shown);
	else
		tp_say("--recover turns what %u dead processes left into trace "
				"files and frees %s in '%s' and others", n, size, shown);
}

/* The next runs of a job whose folder is not chosen anew go to PATH-2, PATH-3 .. */
static void say_newer(const struct tp_fuse_options *fuse)
{
	char next[4096], shown[4096];
	int n = fuse->n_paths == 1 ? (int)strlen(fuse->path[0]) : 0;
	uint32_t number = 1;
	struct stat st;

	while (n > 1 && fuse->path[0][n - 1] == '/')
		n--;
	do
		snprintf(next, sizeof(next), "%.*s-%u", n, fuse->path[0], ++number);
	while (n && number < UINT16_MAX && !stat(next, &st) && S_ISDIR(st.st_mode));
	if (number < 3)
		return;
	snprintf(next, sizeof(next), "%.*s-%u", n, fuse->path[0], number - 1);
	tp_say("'%.*s' is not the newest run here: '%s' is", n, fuse->path[0],
	       tp_show_text(shown, sizeof(shown), next, (uint32_t)strlen(next)));
}

/* Folders of ours, with what was fetched. */
static struct {
	char *folder[TP_REMOTE_MAX];
	uint32_t n;
} fetched;

static void forget_fetched(void)
{
	while (fetched.n)
		tp_remote_free(fetched.folder[--fetched.n]);
}

/* Paths in a store become folders here. False: one cannot, and that is said. */
static bool fetch(struct tp_fuse_options *fuse, bool is_quiet)
{
	static const char *path[2][TP_REMOTE_MAX];
	const char **here = path[fetched.n != 0];

	for (uint32_t i = 0; i < fuse->n_paths; i++) {
		if (!tp_remote_is(fuse->path[i]))
			continue;
		if (fuse->n_paths > TP_REMOTE_MAX || fetched.n == TP_REMOTE_MAX) {
			tp_say("of paths in a store at most %d can be given", TP_REMOTE_MAX);
			return false;
		}
		if (fuse->path != here) {
			memcpy(here, fuse->path, fuse->n_paths * sizeof(*here));
			fuse->path = here;
		}
		here[i] = tp_remote_fetch(here[i], is_quiet);
		if (!here[i])
			return false;
		fetched.folder[fetched.n++] = (char *)here[i];
	}
	return true;
}

/* Results do not go where they would be removed. */
static bool fetch_all(struct tp_command *of)
{
	for (uint32_t i = 0; i < of->fuse.n_paths && of->is_recover; i++) {
		if (!tp_remote_is(of->fuse.path[i]))
			continue;
		tp_say("cannot recover '%s': --recover needs a run folder of this machine", of->fuse.path[i]);
		return false;
	}
	atexit(forget_fetched);
	if (!fetch(&of->fuse, of->is_quiet))
		return false;
	if (fetched.n && !of->output && of->n_sinks)
		of->output = "./";
	return !of->other.path || fetch(&of->other, of->is_quiet);
}

static enum tp_status merge(void)
{
	static char path[TP_LIST_MAX][4096];
	enum tp_status status = TP_STATUS_OK;
	struct tp_pass pass = {.path = path};
	struct tp_run *run;
	struct tp_out out;
	uint32_t n_told;

	if (!tp_terminal_open(&out, command))
		return TP_STATUS_NOTHING;
	run = tp_run_open(&command->fuse);
	if (!run)
		return TP_STATUS_NOTHING;
	pass.run = run;
	run_pass(&pass);
	for (uint32_t i = 0; i < command->n_shown; i++)
		command->shown[i]->print(pass.view_state[i], run, &out);
	if (pass.is_bad || command->is_bad)
		status = TP_STATUS_NOTHING;
	n_told = command->is_quiet || tp_sink_is_stdout(command->output) ? 0 : command->n_sinks;
	for (uint32_t i = 0; i < n_told && !status; i++) {
		FILE *to = command->rows ? stderr : out.file;

		if (!i && command->n_shown && !command->rows)
			fputc('\n', to);
		tp_say_to(to, "wrote %s; %s", path[i], command->sink[i]->hint);
	}
	tp_pass_free(&pass);
	if (!tp_terminal_close(&out))
		status = TP_STATUS_NOTHING;
	/* Last: it takes away what the pass has read. */
	if (command->is_recover && tp_recovered_write(run))
		status = TP_STATUS_NOTHING;
	if (!command->is_recover && !command->is_quiet)
		say_left(run);
	if (!command->is_quiet)
		say_newer(&command->fuse);
	for (uint32_t i = 0; i < run->n_issues && command->is_strict && !status; i++) {
		if (run->issue[i].is_loss)
			status = TP_STATUS_LOST;
	}
	if (command->is_worse && !status)
		status = TP_STATUS_WORSE;
	tp_run_free(run);
	return status;
}

enum { CTL_WAIT_S = 15 };	/* in great jobs ranks look every 5 s */

static enum tp_status ask_job(void)
{
	static const enum tp_status status[] = {
		[TP_CTL_DONE] = TP_STATUS_OK, [TP_CTL_REFUSED] = TP_STATUS_NOTHING,
		[TP_CTL_USAGE] = TP_STATUS_USAGE,
	};

	return status[tp_ctl(command->fuse.path[0], command->fuse.path[1], CTL_WAIT_S)];
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
	struct tp_command *given;

	(void)argc;
	/* A reader that goes away (| head) is an error of the write, and none of ours. */
	signal(SIGPIPE, SIG_IGN);
	given = tp_command_read(argv);
	command = given;
	if (command->is_help)
		tp_command_help();
	else if (command->is_help_env)
		print_environment();
	else if (command->is_help_columns)
		tp_fields_help(tp_views);
	else if (command->is_help_examples)
		tp_command_examples();
	else if (command->is_ctl)
		return ask_job();
	else if (command->watch.folder)
		return tp_watch_run(&command->watch) ? TP_STATUS_OK : TP_STATUS_NOTHING;
	else if (command->live.folder)
		return tp_live_run(&command->live) ? TP_STATUS_OK : TP_STATUS_NOTHING;
	else if (command->is_version)
		printf("trainprof-merge %s, trace format %d.%d\n", TP_VERSION, TP_TRACE_MAJOR,
		       TP_TRACE_MINOR);
	else
		return fetch_all(given) ? merge() : TP_STATUS_NOTHING;
	return tp_terminal_flush() ? TP_STATUS_OK : TP_STATUS_NOTHING;
}
