/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_beside.c - the command line of --ctl, --live, --metrics, --step-lines and --watch
 */
#include "merge/command_beside.h"

#include <stdlib.h>
#include <string.h>

/* Seconds from `least` to a day, in ms; `preset` when not given. */
static uint32_t read_seconds(const char *option, const char *text, double least, uint32_t preset)
{
	double seconds;
	char *end;

	if (!text)
		return preset;
	seconds = strtod(text, &end);
	if (*end || !(seconds >= least && seconds <= 86400))
		tp_command_fail("'%s' is no time for '--%s': seconds from %g to 86400", text, option, least);
	return (uint32_t)(seconds * 1000);
}

static int32_t read_keep(const char *given)
{
	const char *text = given ? given : getenv("TRAINPROF_KEEP");
	char *end = (char *)"";
	long keep = text && *text ? strtol(text, &end, 10) : TP_WATCH_KEEP_ALL;

	if (*end || keep < -1 || keep > 1000)
		tp_command_fail("'%s' is not a number for '--keep': -1 to 1000", text);
	return (int32_t)keep;
}

static void check_watch(struct tp_command *command, const struct tp_beside_words *words)
{
	struct tp_watch_options *watch = &command->watch;

	if (command->fuse.n_paths != 1)
		tp_command_fail("'--watch' takes one run folder");
	for (uint32_t i = 0; i < command->n_sinks; i++)
		if (command->sink[i]->is_folder)
			tp_command_fail("the format '%s' is a folder of files: '--watch' takes formats of one file",
				   command->sink[i]->name);
	watch->folder = command->fuse.path[0];
	watch->sink = command->sink;
	watch->n_sinks = command->n_sinks;
	watch->keep = read_keep(words->keep);
	watch->wait_s = read_seconds("wait", words->wait, 0, 60000) / 1000;
	watch->period_ms = read_seconds("every", words->every, 0.1, 0);
	watch->is_quiet = command->is_quiet;
}

static void check_live(struct tp_command *command, const struct tp_beside_words *words)
{
	struct tp_live_options *live = &command->live;

	if (command->fuse.n_paths != 1)
		tp_command_fail("'--live', '--metrics' and '--step-lines' take one run folder");
	live->folder = command->fuse.path[0];
	live->period_ms = read_seconds("every", words->every, 0.1, 0);
	if (live->has_page && live->step_lines && !strcmp(live->step_lines, "-"))
		tp_command_fail("'--live' and '--step-lines -' cannot both go to standard output");
}

void tp_command_beside(struct tp_command *command, const struct tp_beside_words *words)
{
	const bool is_live = command->live.has_page || command->live.metrics || command->live.step_lines;

	if (command->is_ctl && command->fuse.n_paths != 2)
		tp_command_fail("'--ctl' takes a run folder and a command: window=N, stop or status");
	if (command->is_ctl + is_live + command->is_watch > 1)
		tp_command_fail("'--ctl', '--live' and '--watch' are programs of their own: one at a time");
	if (!command->is_watch && (command->watch.deliver || words->keep || words->wait))
		tp_command_fail("'--deliver', '--keep' and '--wait' need '--watch'");
	if (words->every && !is_live && !command->is_watch)
		tp_command_fail("'--every' needs '--live', '--metrics', '--step-lines' or '--watch'");
	if (is_live)
		check_live(command, words);
	if (command->is_watch)
		check_watch(command, words);
}

bool tp_command_is_beside(const struct tp_command *command)
{
	return command->is_ctl || command->live.folder || command->watch.folder;
}
