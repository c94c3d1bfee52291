/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples_rig.h - a run of one process with a worker, and samples of the stacks of both
 */
#ifndef TP_TESTS_SAMPLES_RIG_H
#define TP_TESTS_SAMPLES_RIG_H

#include <criterion/criterion.h>
#include <sys/syscall.h>

#include "tests/unit/fake_run.h"

enum { MS = 1000000, EVENTS = 4096, STEP = 100 * MS, STEPS = 4, WAITS = SYS_read + 1 };

#define DATA "/x/site-packages/torch/utils/data/"
#define TRAIN "/home/me/train.py"

extern const struct tp_view tp_view_hot, tp_view_overview;

static const struct tp_view_options options = {.top = 20};
static struct fake fake;
static struct tp_proc *proc, *worker;
static struct tp_event event[EVENTS];
static uint32_t n_events, n_stacks;
static const struct tp_string *name_of[64];
static uint32_t n_names;

static inline void samples_init(void)
{
	fake_init(&fake);
	n_events = n_stacks = n_names = 0;
	proc = fake_proc(&fake, 0);
	worker = fake_worker(&fake, proc, 1);
	fake_window(&fake, proc, 0, 0, STEPS * STEP)->n_events = 1;
	for (uint32_t i = 0; i < STEPS; i++)
		event[n_events++] = fake_step(&fake, proc, i, i * STEP, (i + 1) * STEP);
}

static inline const struct tp_string *function_name(const char *function, const char *file)
{
	char name[200];
	uint32_t n = (uint32_t)snprintf(name, sizeof(name), "%s%c%s", function, 0, file);

	for (uint32_t i = 0; i < n_names; i++)
		if (name_of[i]->n_bytes == n && !memcmp(name_of[i]->bytes, name, n))
			return name_of[i];
	name_of[n_names] = fake_string(&fake, TP_STRING_PYFRAME, name, n);
	return name_of[n_names++];
}

/* A frame inside the stack `outer`; the new stack. */
static inline uint32_t frame(struct tp_proc *of, uint32_t outer, const char *function, const char *file,
		      uint32_t line)
{
	struct tp_event one = fake_span(&fake, of, 0, TP_REC_FRAME, function_name(function, file), 0, 0);

	one.flags = TP_FRAME_PYTHON;
	one.link = ++n_stacks;
	one.len = outer;
	one.arg = line;
	event[n_events++] = one;
	return n_stacks;
}

static inline void span(uint8_t kind, const char *name, int64_t begin, int64_t end)
{
	event[n_events++] = fake_span(&fake, proc, 0, kind, fake_text(&fake, name), begin, end);
}

/* The training thread is in that stack from then on. */
static inline void stand(uint32_t stack, int64_t at)
{
	event[n_events] = fake_span(&fake, proc, 0, TP_REC_STACK, NULL, at, at);
	event[n_events++].link = stack;
}

static inline void sample(struct tp_proc *of, uint32_t thread, uint32_t stack, int64_t at, uint32_t waits_in)
{
	struct tp_event one = fake_span(&fake, of, 0, TP_REC_SAMPLE, NULL, at, at);

	one.flags = TP_SAMPLE_STATE;
	one.link = stack;
	one.len = 10 * MS;
	one.arg = TP_ARG_SAMPLE(of->thread[thread].tid, waits_in);
	event[n_events++] = one;
}

static inline int compare(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	/* Frames before what names them, wide spans before narrow ones. */
	if ((x->kind == TP_REC_FRAME) != (y->kind == TP_REC_FRAME))
		return x->kind == TP_REC_FRAME ? -1 : 1;
	if (x->kind == TP_REC_FRAME)
		return x->link < y->link ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static inline const char *print(const struct tp_view *view)
{
	qsort(event, n_events, sizeof(event[0]), compare);
	return fake_print(&fake, view, &options, event, n_events, 200, false);
}

static inline void expect(const char *text, const char *wanted)
{
	cr_expect(strstr(text, wanted), "'%s' is not in:\n%s", wanted, text);
}

static inline void expect_not(const char *text, const char *unwanted)
{
	cr_expect_not(strstr(text, unwanted), "'%s' is in:\n%s", unwanted, text);
}

#endif
