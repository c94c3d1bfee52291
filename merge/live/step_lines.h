/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_lines.h - each finished step of a running job as a line of JSON
 */
#ifndef TP_MERGE_STEP_LINES_H
#define TP_MERGE_STEP_LINES_H

#include <stdbool.h>

#include "merge/live/follow.h"
#include "merge/model/table.h"

struct tp_step_lines {
	const char *path;
	struct tp_out out;
	struct tp_rows_to to;
	struct tp_table *table;
};

/* `path`: a file, to whose end lines are added, or "-". False: it cannot be written, which was said. */
bool tp_step_lines_open(struct tp_step_lines *lines, const char *path);
/* follow.step, with ctx = lines. */
void tp_step_lines_put(void *ctx, const struct tp_follow_rank *rank, const struct tp_ledger_row *row);
/* What was put is in the file. False: it is not, which was said. */
bool tp_step_lines_flush(struct tp_step_lines *lines);
bool tp_step_lines_close(struct tp_step_lines *lines);

#endif
