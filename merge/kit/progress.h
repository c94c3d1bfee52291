/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - one line on a terminal's stderr while long work goes on
 *
 * Nothing at all when stderr is no terminal, or for work that is over in half a second.
 */
#ifndef TP_MERGE_PROGRESS_H
#define TP_MERGE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_progress {
	bool is_on, is_shown;
	const char *doing;	/* NULL: merging events */
	uint64_t total;
	uint64_t begin_ns, said_ns;
};

void tp_progress_begin(struct tp_progress *progress, bool is_quiet, uint64_t total);
void tp_progress_at(struct tp_progress *progress, uint64_t done);
void tp_progress_end(struct tp_progress *progress);

#endif
