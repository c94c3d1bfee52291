/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the command line of trainprof-merge: what was asked for
 *
 * One row per option in command.c; what an option means stands in its row.
 */
#ifndef TP_MERGE_COMMAND_H
#define TP_MERGE_COMMAND_H

#include "merge/input/fuse.h"
#include "merge/live/live.h"
#include "merge/live/watch.h"
#include "merge/model/view.h"
#include "merge/sinks.h"

enum tp_status {
	TP_STATUS_OK = 0,
	TP_STATUS_NOTHING = 1,	/* nothing usable, or a result could not be written */
	TP_STATUS_USAGE = 2,
	TP_STATUS_LOST = 3,	/* --strict, and something was lost */
	TP_STATUS_WORSE = 4,	/* --fail-if, and a limit is passed */
};

struct tp_command {
	const char *output;	/* -o; NULL: the run's folder */
	struct tp_fuse_options fuse, other;	/* other: of --compare */
	struct tp_view_options view;
	bool is_recover, is_strict, is_quiet, is_no_pager;
	bool is_watch;
	bool is_ctl;		/* of fuse.path the first is a run folder, the second what is wanted */
	struct tp_live_options live;	/* folder NULL: nothing of it is wanted */
	struct tp_watch_options watch;	/* likewise */
	bool is_help, is_help_env, is_help_columns, is_help_examples, is_version;
	bool is_worse, is_bad;	/* what view.is_worse and view.is_bad point to */

	const struct tp_sink *sink[TP_LIST_MAX];
	const struct tp_view *shown[TP_LIST_MAX];
	uint32_t n_sinks, n_shown;
	enum tp_rows rows;
};

/* Reads argv, whose paths it collects at the front. Exits with TP_STATUS_USAGE after a message. */
struct tp_command *tp_command_read(char **argv);
/* To standard output: the texts of --help and --help-examples. */
void tp_command_help(void);
void tp_command_examples(void);

#endif
