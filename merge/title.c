/* SPDX-License-Identifier: Apache-2.0 */
/*
 * title.c - how processes, threads, tracks and counters are called and sorted in a timeline
 */
#include "merge/title.h"

#include <stdio.h>
#include <string.h>

enum {
	PIDS_OF_A_RANK = 100000,	/* processes of one rank: loader workers, restarts */
	SORT_STEP = 100,		/* tracks of one thread */
};

uint64_t tp_title_pid(const struct tp_proc *proc)
{
	uint64_t rank = proc->rank < 0 ? 0 : (uint64_t)proc->rank;

	return (rank + 1) * PIDS_OF_A_RANK + proc->at;
}

const char *tp_title_process(char buf[TP_TITLE_MAX], const struct tp_proc *proc)
{
	const char *program = strrchr(proc->program, '/');
	int n = 0;

	program = program ? program + 1 : proc->program;
	if (proc->rank >= 0)
		n = snprintf(buf, TP_TITLE_MAX, "rank %d: ", proc->rank);
	n += snprintf(buf + n, TP_TITLE_MAX - (size_t)n, "%.100s (pid %u", *program ? program : "python",
		      proc->pid);
	if (proc->restart)
		n += snprintf(buf + n, TP_TITLE_MAX - (size_t)n, ", restart %u", proc->restart);
	snprintf(buf + n, TP_TITLE_MAX - (size_t)n, "%s)", proc->is_dead ? ", died" : "");
	return buf;
}

const char *tp_title_track(char buf[TP_TITLE_MAX], const struct tp_thread *thread, uint32_t track,
			   bool is_async)
{
	int n;

	if (is_async) {
		snprintf(buf, TP_TITLE_MAX, "async %u", track);
		return buf;
	}
	if (!thread->tid)
		n = snprintf(buf, TP_TITLE_MAX, "threads without a name");
	else
		n = snprintf(buf, TP_TITLE_MAX, "thread %u (%s)", thread->tid,
			     thread->is_main ? "main" : thread->name[0] ? thread->name : "?");
	if (track)
		snprintf(buf + n, TP_TITLE_MAX - (size_t)n, ", overlapping %u", track);
	return buf;
}

int64_t tp_title_sort(const struct tp_thread *thread, uint32_t track, bool is_async)
{
	int64_t at = thread->is_main ? 0 : (int64_t)thread->slot + 1;

	if (is_async)
		at = 100000;
	return at * SORT_STEP + track;
}

/* The text after the first NUL, when the bytes have one. */
static const char *second_part(const struct tp_string *s)
{
	size_t n = strnlen(s->bytes, s->n_bytes);

	return n < s->n_bytes ? s->bytes + n + 1 : "";
}

const char *tp_title_unit(const struct tp_string *name)
{
	return name->kind == TP_STRING_COUNTER ? second_part(name) : "";
}

const char *tp_title_counter(char buf[TP_TITLE_MAX], const struct tp_string *name,
			     uint32_t instance)
{
	int n = snprintf(buf, TP_TITLE_MAX, "%.100s", name->n_bytes ? name->bytes : "counter");

	/* Cores are counted from 0: the first one needs its number as much as the others. */
	if (instance || !strcmp(name->bytes, "core"))
		snprintf(buf + n, TP_TITLE_MAX - (size_t)n, " %u", instance);
	return buf;
}
