/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_rig.h - a run of one process, four steps of 100 ms, and the rules that the overview applies to it
 */
#ifndef TP_TESTS_ADVICE_RIG_H
#define TP_TESTS_ADVICE_RIG_H

#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

enum { MS = 1000000, EVENTS = 6000, STEPS = 4 };

static const struct tp_view_options options = {.top = 20};
static struct fake fake;
static struct tp_proc *proc;
static struct tp_event event[EVENTS];
static uint32_t n_events;

static inline void advice_init(void)
{
	fake_init(&fake);
	n_events = 0;
	proc = fake_proc(&fake, 0);
}

static inline int compare(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static inline const char *print(void)
{
	qsort(event, n_events, sizeof(event[0]), compare);
	return fake_print(&fake, &tp_view_overview, &options, event, n_events, 200, false);
}

static inline void expect_rules(const char *text, const char *const *wanted)
{
	static const char *const all[] = {"memory-growth", "data-loading", "uneven-ranks",
					  "synchronising", "device-allocations", "pageable-copies",
					  "host-bound", "communication", "tensor-cores",
					  "device-idle", "memory-full", "data-parallel", "gloo",
					  "host-code", "small-operators", "layout-copies",
					  "recomputed-constants", "too-many-threads",
					  "interpreter-lock", "recompilation", "double-precision",
					  "host-memory-growth", "busy-workers", "exposed-copies",
					  "few-blocks", "throttling", "dense-embedding",
					  "one-hot", "matrix-decompositions", "torch-profiler", "python-hooks",
					  "waits-for-cores", "too-few-threads", "unused-gradients",
					  NULL};

	for (uint32_t i = 0; all[i]; i++) {
		bool is_wanted = false;
		char item[64];

		snprintf(item, sizeof(item), "\n  %s ", all[i]);
		for (uint32_t k = 0; wanted[k]; k++)
			is_wanted |= !strcmp(wanted[k], all[i]);
		cr_expect_eq(strstr(text, item) != NULL, is_wanted, "%s in:\n%s", all[i], text);
	}
}

static inline struct tp_event *add(uint8_t kind, const char *name, int64_t begin, int64_t end)
{
	event[n_events] = fake_span(&fake, proc, 0, kind, fake_text(&fake, name), begin, end);
	return &event[n_events++];
}

/* Step i from i * 100 ms on, recorded. */
static inline void add_some_steps(uint32_t n)
{
	fake_window(&fake, proc, 0, 0, n * 100 * MS)->n_events = 1;
	for (uint32_t i = 0; i < n; i++)
		event[n_events++] = fake_step(&fake, proc, i, i * 100 * MS, (i + 1) * 100 * MS);
}

static inline void add_steps(void)
{
	add_some_steps(STEPS);
}

static inline void add_stack(uint32_t stack, int64_t at)
{
	event[n_events] = fake_span(&fake, proc, 0, TP_REC_STACK, NULL, at, at);
	event[n_events++].link = stack;
}

static inline void add_line(uint32_t stack, uint32_t line)
{
	static const char name[] = "main\0/home/me/train.py";

	event[n_events] = fake_span(&fake, proc, 0, TP_REC_FRAME,
				    fake_string(&fake, TP_STRING_PYFRAME, name, sizeof(name) - 1), 0, 0);
	event[n_events].flags = TP_FRAME_PYTHON;
	event[n_events].link = stack;
	event[n_events++].arg = line;
}

/* Line 79 of a function, which `outer` calls. */
static inline void add_call(uint32_t stack, uint32_t outer, const char *function, const char *file)
{
	add_line(stack, 79);
	event[n_events - 1].name = fake_pyframe(&fake, function, file);
	event[n_events - 1].len = outer;
}

/* Of every four operators with a stack so many get another. */
static inline void move_stacks(uint32_t from, uint32_t to, uint32_t of_four)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == TP_REC_STACK && event[i].link == from && n++ % 4 < of_four)
			event[i].link = to;
}

/* Steps, and line 10 of a function by stack 1. */
static inline void add_one_line(void)
{
	add_steps();
	add_line(1, 10);
}

/* And line 20 of it by stack 2. */
static inline void add_two_lines(void)
{
	add_one_line();
	add_line(2, 20);
}

/* In each step of 10 ms lines 20 and, where there are two, 21 by turns have so many operators, each so
 * long with the gap before it, and line 10 one for the rest. */
static inline void add_small(uint32_t n, uint32_t n_lines, int64_t each, int64_t gap)
{
	proc->n_devices = 0;
	fake_window(&fake, proc, 0, 0, STEPS * 10 * MS)->n_events = 1;
	add_line(1, 10);
	add_line(2, 20);
	add_line(3, 21);
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 10 * MS + 2;

		event[n_events++] = fake_step(&fake, proc, i, i * 10 * MS, (i + 1) * 10 * MS);
		for (uint32_t k = 0; k < n; k++, at += each) {
			add_stack(2 + k % n_lines, at - 1);
			add(TP_REC_OP, "aten::add", at + gap, at + each);
		}
		add_stack(1, at + 1);
		add(TP_REC_OP, "aten::mm", at + 2, (i + 1) * 10 * MS - 1);
	}
}

#endif
