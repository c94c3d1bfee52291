/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - the loop of trainprof-merge --watch: look, merge, deliver, remove
 *
 * Merges are made by this very program, as a process of its own for each format: what it writes has its
 * final name when it is whole (outfile.h). One delivery runs at a time, beside the merges. In what
 * order things follow each other is what a kill at any moment relies on:
 *	the merged file has its name -> "merged" in the journal
 *	the command has succeeded -> "delivered" in the journal -> the file may be removed
 *	the merged file is removed -> the traces are, by which the window is found
 */
#include "merge/live/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "merge/kit/say.h"
#include "merge/live/deliver.h"
#include "merge/live/journal.h"
#include "merge/live/watch_files.h"
#include "merge/live/watch_windows.h"
#include "runtime/base/clock.h"
#include "runtime/base/open.h"

enum {
	PERIOD_MS = 1000,
	POLL_MS = 50,		/* while a delivery runs */
	LOCK_WAIT_S = 60,	/* for a delivery that a killed watcher has left */
	TRIES_AT_END = 5,	/* of what fails, once the job has ended */
	MERGES = 3,		/* of a window that cannot be merged */
};

static volatile sig_atomic_t is_stopped;

struct watching {
	const struct tp_watch_options *options;
	struct tp_follow follow;
	struct tp_journal journal;
	struct tp_watch_windows windows;
	struct tp_watch_files files;
	struct tp_deliver deliver;
	bool is_over;			/* the job */
	bool is_bad;
};

static void on_stop(int number)
{
	(void)number;
	is_stopped = 1;
}

static void tell(const struct watching *watching, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(const struct watching *watching, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (watching->options->is_quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tp_say_to(stdout, "%s", text);
	fflush(stdout);
}

/* ---- merging ---- */

/* This program, with these arguments; its wait status. */
static int run_merge(char *const *argument)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", argument);
		_exit(127);
	}
	if (pid < 0)
		return 1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Traces of the window, and the ledgers of its ranks: argv of the merge from `at` on. */
static uint32_t put_inputs(const struct watching *watching, const struct tp_watch_window *window,
			   char **argument, uint32_t at)
{
	const struct tp_follow *follow = &watching->follow;
	char *path;

	for (uint32_t i = 0; i < follow->n_traces; i++) {
		const struct tp_follow_trace *trace = &follow->trace[i];
		const char *names[2] = {trace->name, NULL};

		if (!tp_watch_is_of(window, follow, trace))
			continue;
		if (!trace->is_of_worker)
			names[1] = follow->rank[trace->of].name;
		for (int k = 0; k < 2 && names[k]; k++)
			if (asprintf(&path, "%s/%s", watching->options->folder, names[k]) >= 0)
				argument[at++] = path;
	}
	return at;
}

static bool merge_into(const struct watching *watching, const struct tp_watch_window *window,
		       const struct tp_sink *sink, const char *output)
{
	enum { FIXED = 8 };
	char **argument = calloc(FIXED + 2ull * watching->follow.n_traces + 1, sizeof(*argument));
	const char *const fixed[] = {"trainprof-merge", "-q", "-f", sink->name, "--job", "all", "-o", NULL};
	uint32_t n = 0;
	char *path = NULL;
	int status = 1;

	if (argument && asprintf(&path, "%s/%s", watching->options->folder, output) >= 0) {
		for (; fixed[n]; n++)
			argument[n] = (char *)fixed[n];
		argument[n++] = path;
		put_inputs(watching, window, argument, n);
		status = run_merge(argument);
		for (uint32_t i = n; argument[i]; i++)
			free(argument[i]);
		free(path);
	}
	free(argument);
	return status == 0;
}

static void merge_window(struct watching *watching, struct tp_watch_window *window)
{
	const struct tp_watch_options *options = watching->options;
	char name[64], missing[128], output[256];

	tp_watch_name(name, window);
	if (window->n_traces < window->n_wanted)
		tp_say("%s: no trace of rank %s: merged without", name,
		       tp_watch_missing(missing, window, &watching->follow));
	for (uint32_t i = 0; i < options->n_sinks; i++) {
		tp_watch_output(output, &watching->follow, window, options->sink[i]);
		if (merge_into(watching, window, options->sink[i], output))
			continue;
		window->n_failed++;
		window->next_ns = tp_clock_mono_ns() + tp_deliver_pause(window->n_failed) * 1000000000ull;
		tp_say("%s: not merged into '%s', see above; %s", name, output,
		       window->n_failed < MERGES ? "tried again" : "left as it is, its traces stay");
		watching->is_bad |= window->n_failed >= MERGES;
		return;
	}
	window->is_merged = tp_journal_note(&watching->journal, TP_JOURNAL_MERGED, name, "");
	tell(watching, "%s: %u traces of %u ranks merged", name, window->n_traces, window->n_wanted);
}

/* All ranks are there since the last look (workers write a little later); or nobody else comes. */
static bool is_due(const struct watching *watching, const struct tp_watch_window *window)
{
	uint64_t now = tp_clock_mono_ns();

	if (window->is_merged || !window->n_traces || window->n_failed >= MERGES || now < window->next_ns)
		return false;
	return (window->complete_at && window->complete_at < watching->follow.look) || watching->is_over ||
	       now > window->first_ns + watching->options->wait_s * 1000000000ull;
}

static void merge_windows(struct watching *watching)
{
	for (uint32_t i = 0; i < watching->windows.n && !is_stopped; i++)
		if (is_due(watching, &watching->windows.window[i]))
			merge_window(watching, &watching->windows.window[i]);
}

/* ---- delivery ---- */

static void end_delivery(struct watching *watching, int status)
{
	struct tp_watch_file *file = tp_watch_file_find(&watching->files, watching->deliver.name);
	char text[32];

	if (!file)
		return;
	if (!status) {
		file->is_delivered = tp_journal_note(&watching->journal, TP_JOURNAL_DELIVERED, file->name, "");
		tell(watching, "delivered %s", file->name);
		return;
	}
	file->n_failed++;
	file->next_ns = tp_clock_mono_ns() + tp_deliver_pause(file->n_failed) * 1000000000ull;
	snprintf(text, sizeof(text), "%s %d", WIFSIGNALED(status) ? "signal" : "status",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	tp_journal_note(&watching->journal, TP_JOURNAL_FAILED, file->name, text);
	tp_say("'%s' is not delivered (%s, try %u); again in %u s", file->name, text, file->n_failed,
	       tp_deliver_pause(file->n_failed));
}

/* The next that is due; NULL: none. */
static struct tp_watch_file *find_due(struct watching *watching)
{
	struct tp_watch_files *files = &watching->files;
	uint64_t now = tp_clock_mono_ns();

	for (uint32_t i = 0; i < files->n; i++) {
		struct tp_watch_file *file = &files->file[i];

		if (file->is_there && !file->is_delivered && now >= file->next_ns &&
		    !(watching->is_over && file->n_failed >= TRIES_AT_END))
			return file;
	}
	return NULL;
}

static void deliver_files(struct watching *watching)
{
	struct tp_watch_file *file;
	int status;

	if (watching->deliver.pid) {
		status = tp_deliver_poll(&watching->deliver);
		if (status == -EAGAIN)
			return;
		end_delivery(watching, status);
	}
	file = watching->options->deliver && !is_stopped ? find_due(watching) : NULL;
	if (!file)
		return;
	status = tp_deliver_start(&watching->deliver, watching->options->deliver,
				  watching->options->folder, file->name, watching->journal.fd);
	if (status) {
		memcpy(watching->deliver.name, file->name, strlen(file->name) + 1);
		end_delivery(watching, 127 << 8);
	}
}

/* ---- retention ---- */

/* Merged, and delivered where that is wanted. */
static bool is_done(const struct watching *watching, const struct tp_watch_window *window)
{
	return window->is_merged && (!watching->options->deliver ||
				     tp_watch_files_are_delivered(&watching->files, window));
}

/* The last one first: a trace of the window was known before what was made of it, and by its traces the next
 * watcher knows that there is one, should a kill come in between. */
static void remove_window(struct watching *watching, const struct tp_watch_window *window)
{
	struct tp_watch_files *files = &watching->files;
	uint32_t n_removed = 0;
	char name[64];

	for (uint32_t i = files->n; i > 0; i--) {
		struct tp_watch_file *file = &files->file[i - 1];

		if (!file->is_there || !tp_watch_file_is_of(file, window))
			continue;
		if (unlinkat(watching->follow.dir, file->name, 0) < 0 && errno != ENOENT) {
			tp_say("cannot remove '%s': %s", file->name, strerror(errno));
			watching->is_bad = true;
			continue;
		}
		file->is_there = false;
		n_removed++;
		tp_journal_note(&watching->journal, TP_JOURNAL_REMOVED, file->name, "");
	}
	if (n_removed)
		tell(watching, "%s: %u files removed (%u so far)", tp_watch_name(name, window), n_removed,
		     watching->journal.n[TP_JOURNAL_REMOVED]);
}

static uint32_t count_newer(const struct watching *watching, const struct tp_watch_window *window)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < watching->windows.n; i++)
		n += tp_watch_is_newer(&watching->windows.window[i], window);
	return n;
}

static void keep_windows(struct watching *watching)
{
	const struct tp_watch_options *options = watching->options;

	/* 0 is none after delivery. */
	if (options->keep == TP_WATCH_KEEP_ALL || (!options->keep && !options->deliver))
		return;
	for (uint32_t i = 0; i < watching->windows.n; i++) {
		const struct tp_watch_window *window = &watching->windows.window[i];

		if (is_done(watching, window) && count_newer(watching, window) >= (uint32_t)options->keep)
			remove_window(watching, window);
	}
}

/* ---- the loop ---- */

static void look(struct watching *watching)
{
	int err = tp_follow_look(&watching->follow);

	if (err) {
		tp_say("cannot read folder '%s': %s", watching->options->folder, tp_file_error(err));
		watching->is_bad = true;
		is_stopped = 1;
		return;
	}
	watching->is_over = tp_follow_is_over(&watching->follow);
	if (!tp_watch_windows_update(&watching->windows, &watching->follow, &watching->journal) ||
	    !tp_watch_files_update(&watching->files, &watching->follow, &watching->windows,
				   &watching->journal, watching->options))
		return;
	merge_windows(watching);
	tp_watch_files_update(&watching->files, &watching->follow, &watching->windows, &watching->journal,
			      watching->options);
	keep_windows(watching);
}

/* Nothing is left that could still be done. */
static bool is_finished(struct watching *watching)
{
	if (!watching->is_over || watching->deliver.pid)
		return false;
	for (uint32_t i = 0; i < watching->windows.n; i++)
		if (watching->windows.window[i].n_traces && !watching->windows.window[i].is_merged &&
		    watching->windows.window[i].n_failed < MERGES)
			return false;
	for (uint32_t i = 0; watching->options->deliver && i < watching->files.n; i++) {
		const struct tp_watch_file *file = &watching->files.file[i];

		if (file->is_there && !file->is_delivered && file->n_failed < TRIES_AT_END)
			return false;
	}
	return true;
}

static void pause_until(struct watching *watching, uint64_t until_ns)
{
	do {
		uint64_t now = tp_clock_mono_ns(), left = until_ns > now ? until_ns - now : 0;
		uint64_t step = watching->options->deliver ? POLL_MS * 1000000ull : left;
		struct timespec wait;

		step = step < left ? step : left;
		wait = (struct timespec){(time_t)(step / 1000000000), (long)(step % 1000000000)};
		nanosleep(&wait, NULL);
		deliver_files(watching);
	} while (tp_clock_mono_ns() < until_ns && !is_stopped);
}

/* The job may start later than its watcher. */
static bool open_folder(struct watching *watching)
{
	const char *folder = watching->options->folder;
	bool is_said = false;
	int err;

	while ((err = tp_follow_open(&watching->follow, folder)) == -ENOENT && !is_stopped) {
		if (!is_said)
			tell(watching, "waiting for folder '%s'", folder);
		is_said = true;
		nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	}
	if (err && !is_stopped)
		tp_say("cannot open folder '%s': %s", folder, tp_file_error(err));
	return !err;
}

static void tell_end(struct watching *watching)
{
	uint32_t n_left = 0;

	for (uint32_t i = 0; watching->options->deliver && i < watching->files.n; i++)
		n_left += watching->files.file[i].is_there && !watching->files.file[i].is_delivered;
	if (n_left)
		tp_say("%u files are not delivered; they stay in '%s'", n_left, watching->options->folder);
	watching->is_bad |= n_left && !is_stopped;
	tell(watching, "%u windows merged, %u files delivered, %u removed",
	     watching->journal.n[TP_JOURNAL_MERGED], watching->journal.n[TP_JOURNAL_DELIVERED],
	     watching->journal.n[TP_JOURNAL_REMOVED]);
}

bool tp_watch_run(const struct tp_watch_options *options)
{
	const struct sigaction stop = {.sa_handler = on_stop};
	struct watching watching = {.options = options, .journal = {.fd = -1}};
	uint64_t period_ns = (options->period_ms ? options->period_ms : PERIOD_MS) * 1000000ull;
	bool is_good;

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	is_good = open_folder(&watching) &&
		  tp_journal_open(&watching.journal, watching.follow.dir, options->folder, LOCK_WAIT_S);
	if (is_good)
		tp_watch_files_sweep(watching.follow.dir);
	while (is_good && !is_stopped) {
		look(&watching);
		if (is_finished(&watching))
			break;
		pause_until(&watching, tp_clock_mono_ns() + period_ns);
	}
	tp_deliver_stop(&watching.deliver);
	if (is_good)
		tell_end(&watching);
	tp_watch_files_free(&watching.files);
	tp_watch_windows_free(&watching.windows);
	tp_journal_close(&watching.journal);
	tp_follow_close(&watching.follow);
	return (is_good || is_stopped) && !watching.is_bad;
}
