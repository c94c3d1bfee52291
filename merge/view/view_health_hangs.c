/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_health_hangs.c - part of the view of health: where the run hung, and each process in it;
 * where it had no memory left
 */
#include "merge/view/view_health.h"

#include "merge/model/hangs.h"

static const char *name_state(const struct tp_hang *hang)
{
	switch (hang->state) {
	case TP_HANG_IS_LATE:
		return "goes on";
	case TP_HANG_IS_QUIET:
		return hang->worker ? "worker" : "quiet";
	case TP_HANG_IS_STUCK:
		return "stuck";
	case TP_HANG_IS_SPINNING:
		return tp_hang_may_wait_for_gpu(hang) ? "computes or waits for a GPU" : "computes at one place";
	case TP_HANG_IS_OVER:
	case TP_HANG_N_STATES:
		break;
	}
	return "went on";
}

static const char *name_who(char buf[48], const struct tp_hang *hang)
{
	if (hang->worker)
		snprintf(buf, 48, "rank %d worker %u", hang->rank, hang->worker);
	else if (hang->rank >= 0)
		snprintf(buf, 48, "rank %d", hang->rank);
	else
		snprintf(buf, 48, "pid %u", hang->pid);
	return buf;
}

static void put_hang(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_hang_at *at = of;
	const struct tp_hang *hang = &at->hang;
	char who[48];

	TP_TEXT(r, "process", "process", TP_INSET, "rank", "%s", name_who(who, hang));
	TP_TEXT(r, "state", "state", 0, "stuck, computes at one place, computes or waits for a GPU, quiet, goes on, went on, worker", "%s",
		name_state(hang));
	TP_NS(r, "late_ns", "no step for", 0, "time since the last step, when the report was written", (int64_t)hang->late_ns);
	TP_COUNT(r, "steps", "steps", 0, "steps that had ended", hang->steps);
	TP_TEXT(r, "where", "where", 0, "innermost source function, with file and line", "%s",
		hang->where);
	TP_TEXT(r, "within", "within", 0, "library function inside it", "%s", hang->within);
	TP_TEXT(r, "waits", "waits", 0, "system call that it waits in", "%s", hang->waits);
	TP_TEXT(r, "gpus", "GPUs", 0, "utilization of each of its devices, reported by the driver", "%s", hang->gpus);
	TP_TEXT(r, "queues", "queues", 0, "operations queued in its streams, inside windows", "%s",
		hang->queues);
	TP_TEXT(r, "file", "file", TP_CUT, "report file, with all threads and their stacks", "%s", at->at.path);
	TP_STYLE(r, tp_hang_is_report(hang) ? "red" : "");
}

const struct tp_table_def tp_table_hangs = {
	.name = "hangs",
	.help = "processes of a run that hung, and the function that each was in",
	.columns = put_hang,
};

static void say_line(void *ctx, const char *line)
{
	struct tp_health *health = ctx;

	tp_health_say(health, "red", "hang", "%s", line);
}

static void say_oom(void *ctx, const char *line)
{
	struct tp_health *health = ctx;

	tp_health_say(health, "red", "out_of_memory", "%s", line);
}

uint32_t tp_view_health_hangs(struct tp_health *health)
{
	return tp_hangs_say(health->run, say_line, health) +
	       tp_ooms_say(health->run, health->run->n_ooms, true, say_oom, health);
}

void tp_view_health_hang_rows(const struct tp_health *health)
{
	const struct tp_run *run = health->run;

	if (!run->n_hangs)
		return;
	tp_out_title(health->out, "Where processes stood while the run hung");
	tp_table_show(&tp_table_hangs, run, run->hang, run->n_hangs, sizeof(*run->hang), 0, health->out);
}
