/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_files.h - the finished files of a job that is watched: traces, and what windows were merged into
 */
#ifndef TP_MERGE_WATCH_FILES_H
#define TP_MERGE_WATCH_FILES_H

#include "merge/live/watch.h"
#include "merge/live/watch_windows.h"

struct tp_watch_file {
	char name[256];			/* in the run folder */
	uint32_t restart, window;
	bool is_there, is_delivered;
	uint32_t n_failed;		/* deliveries of this watcher */
	uint64_t next_ns;		/* CLOCK_MONOTONIC when to try again */
};

struct tp_watch_files {
	struct tp_watch_file *file;
	uint32_t n, cap;
	struct tp_keyed known;
};

/* "node0.window3.json.gz" */
void tp_watch_output(char name[256], const struct tp_follow *follow,
		     const struct tp_watch_window *window, const struct tp_sink *sink);
/* After a look, and after merges. False: memory is out. */
bool tp_watch_files_update(struct tp_watch_files *files, const struct tp_follow *follow,
			   const struct tp_watch_windows *windows, const struct tp_journal *journal,
			   const struct tp_watch_options *options);
void tp_watch_files_free(struct tp_watch_files *files);
/* NULL: there is none. */
struct tp_watch_file *tp_watch_file_find(struct tp_watch_files *files, const char *name);
bool tp_watch_file_is_of(const struct tp_watch_file *file, const struct tp_watch_window *window);
/* All of them that are there. */
bool tp_watch_files_are_delivered(const struct tp_watch_files *files,
				  const struct tp_watch_window *window);
/* What a merge that was killed left: temporary files of a watcher's names. */
void tp_watch_files_sweep(int dir);

#endif
