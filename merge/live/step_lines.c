/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_lines.c - steps as rows of a table that never ends
 */
#include "merge/live/step_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "merge/kit/say.h"
#include "merge/kit/symlinks.h"
#include "merge/model/label.h"

struct step {
	const struct tp_follow_rank *rank;
	const struct tp_ledger_row *row;
};

static int64_t real_ns(const struct step *step)
{
	const struct tp_ledger_head *head = &step->rank->head;

	return (int64_t)(head->real_ns - head->mono_ns + step->row->begin_ns);
}

static void put_step(struct tp_row *r, const void *ctx, const void *of)
{
	const struct step *step = of;
	const struct tp_ledger_row *row = step ? step->row : NULL;

	(void)ctx;
	TP_NUMBER(r, "rank", NULL, 0, "its rank",
		  step->rank->head.rank < 0 ? 0 : (uint64_t)step->rank->head.rank);
	TP_TEXT(r, "host", NULL, 0, "its host", "%s", step->rank->head.host);
	TP_COUNT(r, "step", NULL, 0, "its number in the run", row->index);
	TP_COUNT(r, "epoch", NULL, 0, "its epoch", row->epoch);
	TP_COUNT(r, "in_epoch", NULL, 0, "its number in the epoch", row->in_epoch);
	TP_TEXT(r, "phase", NULL, 0, "of the schedule", "%s", tp_label_phase(row->phase));
	TP_NS(r, "begin_unix_ns", NULL, 0, "when it began", real_ns(step));
	TP_NS(r, "time_ns", NULL, 0, "its duration", (int64_t)row->dur_ns);
	TP_NS(r, "data_wait_ns", NULL, 0, "time in the data loader", (int64_t)row->data_wait_ns);
	TP_NS(r, "optimizer_ns", NULL, 0, "time in the optimizer's step", (int64_t)row->optimizer_ns);
	TP_BYTES(r, "memory_bytes", NULL, 0, "tensors on the host at its end", row->live_bytes);
	TP_BYTES(r, "peak_bytes", NULL, 0, "most in it", row->peak_bytes);
	TP_BYTES(r, "device_bytes", NULL, 0, "tensors on devices at its end", row->device_live);
	TP_BYTES(r, "device_peak_bytes", NULL, 0, "most in it", row->device_peak);
	TP_COUNT(r, "lost", NULL, 0, "records lost in it", row->dropped);
	TP_NUMBER(r, "batches", NULL, 0, "batches fetched in it", row->batches);
}

static const struct tp_table_def step_table = {
	.name = "live_step", .help = "steps as they end", .columns = put_step,
};

static FILE *open_lines(const char *path)
{
	const int fd = tp_symlinks_append(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "a");

	if (!file)
		tp_say("cannot write '%s': %s", path,
		       fd == -EPERM ? "a link to a file of another user"
				    : strerror(fd < 0 ? -fd : errno));
	if (!file && fd >= 0)
		close(fd);
	return file;
}

bool tp_step_lines_open(struct tp_step_lines *lines, const char *path)
{
	*lines = (struct tp_step_lines){.path = path};
	lines->out = (struct tp_out){.rows = TP_ROWS_JSONL, .rows_to = &lines->to};
	lines->out.file = strcmp(path, "-") != 0 ? open_lines(path) : stdout;
	if (!lines->out.file)
		return false;
	lines->table = tp_table_begin(&step_table, NULL, 0, &lines->out);
	return true;
}

void tp_step_lines_put(void *ctx, const struct tp_follow_rank *rank, const struct tp_ledger_row *row)
{
	struct tp_step_lines *lines = ctx;
	const struct step step = {rank, row};

	tp_table_add(lines->table, &step);
}

bool tp_step_lines_flush(struct tp_step_lines *lines)
{
	if (!fflush(lines->out.file) && !ferror(lines->out.file))
		return true;
	tp_say("cannot write '%s': %s", lines->path, strerror(errno));
	return false;
}

bool tp_step_lines_close(struct tp_step_lines *lines)
{
	bool is_good = tp_step_lines_flush(lines);

	tp_table_end(lines->table);
	if (lines->out.file != stdout)
		fclose(lines->out.file);
	return is_good;
}
