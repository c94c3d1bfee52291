/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - beside a job: merges its windows as they are complete, delivers the files, keeps some
 *
 * What was done is in a journal (journal.h), so a watcher that was killed goes on where it was: no file
 * that was not delivered is removed, none has its final name before it is whole, and what is
 * delivered twice, since nobody knows how far a killed delivery came, has the same name.
 */
#ifndef TP_MERGE_WATCH_H
#define TP_MERGE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/sink.h"

enum { TP_WATCH_KEEP_ALL = -1 };

struct tp_watch_options {
	const char *folder;
	const struct tp_sink *const *sink;	/* what windows are merged into: formats of one file */
	uint32_t n_sinks;
	const char *deliver;			/* see deliver.h; NULL: nothing is delivered */
	int32_t keep;		/* windows whose files stay; 0: none, once they are delivered */
	uint32_t wait_s;	/* for the last ranks of a window, since its first */
	uint32_t period_ms;	/* 0: a second */
	bool is_quiet;		/* only what goes wrong is said */
};

/* Until the job has ended and all is done, or SIGINT or SIGTERM comes. False: something could not be
 * done, which was said; what is not delivered stays. */
bool tp_watch_run(const struct tp_watch_options *options);

#endif
