/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_windows.h - the windows of a job that is watched, and their files
 *
 * Found anew at each look: traces from the folder (follow.h), what was done with them from the
 * journal.
 */
#ifndef TP_MERGE_WATCH_WINDOWS_H
#define TP_MERGE_WATCH_WINDOWS_H

#include "merge/live/follow.h"
#include "merge/live/journal.h"

struct tp_watch_window {
	uint32_t restart, number;
	uint32_t n_traces, n_wanted;	/* of ranks, without their workers */
	uint64_t first_ns;		/* CLOCK_MONOTONIC when its first trace was seen */
	uint32_t complete_at;		/* the look that saw all of them; 0: none */
	bool is_merged;
	uint32_t n_failed;		/* merges */
	uint64_t next_ns;		/* when to try again */
};

struct tp_watch_windows {
	struct tp_watch_window *window;
	uint32_t n, cap;
	struct tp_keyed known;
};

/* "window3", "restart1.window3": in the journal, and in names of files. */
const char *tp_watch_name(char buf[64], const struct tp_watch_window *window);
/* After a look. False: memory is out. */
bool tp_watch_windows_update(struct tp_watch_windows *windows, const struct tp_follow *follow,
			     const struct tp_journal *journal);
void tp_watch_windows_free(struct tp_watch_windows *windows);
/* Is the trace there, and of this window? */
bool tp_watch_is_of(const struct tp_watch_window *window, const struct tp_follow *follow,
		    const struct tp_follow_trace *trace);
/* Later ones first: a is newer than b. */
bool tp_watch_is_newer(const struct tp_watch_window *a, const struct tp_watch_window *b);
/* Ranks whose trace of the window is not there, as text "3, 5 and 7 others". */
const char *tp_watch_missing(char buf[128], const struct tp_watch_window *window,
			     const struct tp_follow *follow);

#endif
