/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label.c - how processes and threads are called in tables, and the facts a trace tells
 */
#include "merge/model/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/show.h"
#include "runtime/trace/ring_layout.h"

const char *tp_label_proc(char buf[64], const struct tp_run *run,
			  const struct tp_proc *proc)
{
	const uint32_t pid = proc->worker ? proc->parent_pid : proc->pid;
	uint32_t n_same = 0;
	bool has_starts = proc->restart != 0;
	int n;

	for (uint32_t i = 0; i < run->n_procs && n_same < 2; i++) {
		const struct tp_proc *other = run->proc[i];

		if (other->rank != proc->rank || other->worker)
			continue;
		has_starts |= other->restart != proc->restart;
		n_same += other->restart == proc->restart;
	}
	if (proc->rank < 0)
		n = snprintf(buf, 64, "pid %u", pid);
	else if (n_same > 1)
		n = snprintf(buf, 64, "rank %d pid %u", proc->rank, pid);
	else
		n = snprintf(buf, 64, "rank %d", proc->rank);
	if (proc->rank >= 0 && has_starts && proc->restart)
		n += snprintf(buf + n, 64 - (size_t)n, " (restart %u)", proc->restart);
	else if (proc->rank >= 0 && has_starts)
		n += snprintf(buf + n, 64 - (size_t)n, " (first start)");
	if (proc->worker)
		snprintf(buf + n, 64 - (size_t)n, " worker %u", proc->worker);
	return buf;
}

bool tp_label_is_needed(const struct tp_run *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_procs && n < 2; i++)
		n += !run->proc[i]->worker;
	return n > 1;
}

const char *tp_label_program(char buf[400], const struct tp_proc *proc)
{
	const char *program = proc->program ? proc->program : "";

	if (!strcmp(program, "command"))
		return "python -c '...'";
	if (!strncmp(program, "module:", 7)) {
		snprintf(buf, 400, "-m %s", program + 7);
	} else if (!strncmp(program, "file:", 5)) {
		snprintf(buf, 400, "%s", program + 5);
		tp_show_paths(buf);
	} else {
		snprintf(buf, 400, "%s", !*program ? "?" : strncmp(program, "exec:", 5) ? program : program + 5);
	}
	return buf;
}

const char *tp_label_thread(char buf[64], const struct tp_thread *thread)
{
	if (thread->is_main)
		snprintf(buf, 64, "main thread");
	else if (thread->name[0])
		snprintf(buf, 64, "thread %u '%.16s'", thread->tid, thread->name);
	else
		snprintf(buf, 64, "thread %u", thread->tid);
	return buf;
}

const char *tp_label_phase(uint8_t phase)
{
	static const char *const names[] = {
	    [TP_PHASE_STARTUP] = "startup", [TP_PHASE_SKIP] = "skip",
	    [TP_PHASE_WAIT] = "wait",	    [TP_PHASE_WARMUP] = "warmup",
	    [TP_PHASE_ACTIVE] = "active",   [TP_PHASE_DONE] = "done",
	};

	return phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "?";
}

const char *tp_label_source(uint8_t source)
{
	static const char *const names[] = {
	    [TP_STEP_NONE] = "nothing",	       [TP_STEP_OPTIMIZER] = "the optimizer",
	    [TP_STEP_ZERO_GRAD] = "zero_grad", [TP_STEP_LOADER] = "the data loader",
	    [TP_STEP_RANGE] = "a range",       [TP_STEP_CLOCK] = "a clock",
	    [TP_STEP_MARK] = "the program itself",
	};

	return source < sizeof(names) / sizeof(names[0]) ? names[source] : "?";
}

/* The end of the line at `line`, and where its '=' is (NULL: none). */
static const char *split_line(const char *line, const char **equals)
{
	const char *end = strchrnul(line, '\n');

	*equals = memchr(line, '=', (size_t)(end - line));
	return end;
}

static const char *copy_out(char *buf, size_t cap, const char *from, size_t n)
{
	if (n > cap - 1)
		n = cap - 1;
	memcpy(buf, from, n);
	buf[n] = 0;
	return buf;
}

const char *tp_fact(const char *text, const char *key, char *buf, uint32_t cap)
{
	size_t n_key = strlen(key);

	while (text && *text) {
		const char *equals, *end = split_line(text, &equals);

		if (equals && (size_t)(equals - text) == n_key && !memcmp(text, key, n_key))
			return copy_out(buf, cap, equals + 1, (size_t)(end - equals - 1));
		text = *end ? end + 1 : end;
	}
	return NULL;
}

char *tp_label_stood(char buf[TP_STOOD_BYTES], const struct tp_proc *proc, int64_t *age_ns)
{
	char *text;
	int64_t age;

	if (!tp_fact(proc->started, "stood", buf, TP_STOOD_BYTES))
		return NULL;
	age = strtoll(buf, &text, 10);
	if (age_ns)
		*age_ns = age;
	return text + (*text == ' ');
}

uint64_t tp_fact_u64(const char *text, const char *key, uint64_t none)
{
	char value[32], *end;
	uint64_t number;

	if (!tp_fact(text, key, value, sizeof(value)) || value[0] < '0' || value[0] > '9')
		return none;
	number = strtoull(value, &end, 10);
	return *end ? none : number;
}

bool tp_fact_next(const char **at, const char *prefix, char key[64], char *value,
		  uint32_t cap)
{
	size_t n_prefix = strlen(prefix);

	while (*at && **at) {
		const char *line = *at, *equals, *end = split_line(line, &equals);

		*at = *end ? end + 1 : end;
		if (!equals || (size_t)(equals - line) < n_prefix ||
		    memcmp(line, prefix, n_prefix))
			continue;
		copy_out(key, 64, line + n_prefix, (size_t)(equals - line) - n_prefix);
		copy_out(value, cap, equals + 1, (size_t)(end - equals - 1));
		return true;
	}
	return false;
}

const char *tp_label_meta(const struct tp_run *run, const struct tp_proc *proc)
{
	const char *meta = "";

	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == proc && run->window[i].meta &&
		    run->window[i].meta[0])
			meta = run->window[i].meta;
	return meta;
}

bool tp_label_is_kineto(const struct tp_run *run)
{
	static const char begin[] = "torch.profiler ";
	char program[32];

	for (uint32_t i = 0; i < run->n_procs; i++)
		if (!tp_fact(tp_label_meta(run, run->proc[i]), "program", program,
			     sizeof(program)) ||
		    strncmp(program, begin, sizeof(begin) - 1) != 0)
			return false;
	return run->n_procs != 0;
}
