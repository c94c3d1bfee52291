/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rig.h - runs of ten steps of 100 ms, three of them recorded, and the overview of them
 */
#ifndef TP_TESTS_OVERVIEW_RIG_H
#define TP_TESTS_OVERVIEW_RIG_H

#include <criterion/criterion.h>

#include "merge/kit/utf8.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000, EVENTS = 256 };

static const struct tp_view_options options = {.top = 20};
static struct fake fake;
static struct tp_event event[EVENTS];
static uint32_t n_events;

static inline int compare(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Ten steps of 100 ms, 3 to 5 recorded; a step: 10 ms of data, 60 of operators, 30 other. */
static inline struct tp_proc *make_rank(int32_t rank)
{
	struct tp_proc *proc = fake_proc(&fake, rank);
	const struct tp_string *data = fake_text(
		&fake, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	const struct tp_string *mm = fake_op(&fake, "aten::mm");
	const struct tp_string *step = fake_text(&fake, "Optimizer.step#AdamW.step");
	struct tp_window *window = fake_window(&fake, proc, 0, 300 * MS, 600 * MS);

	window->n_events = 12;
	window->meta = "torch=2.13.0\npython=3.11.7\n";
	for (uint32_t i = 0; i < 10; i++) {
		struct tp_step_row *row = fake_step_row(&fake, proc, i, i * 100 * MS, 100 * MS);
		int64_t at = row->begin_ns;

		row->data_wait_ns = 10 * MS;
		row->optimizer_ns = 5 * MS;
		row->live_bytes = 1 << 20;
		row->peak_bytes = (i == 4 ? 6u : 3u) << 20;
		if (i < 3 || i > 5)
			continue;
		row->phase = TP_PHASE_ACTIVE;
		event[n_events++] = fake_step(&fake, proc, i, at, at + 100 * MS);
		event[n_events++] = fake_span(&fake, proc, 0, TP_REC_RANGE, data, at, at + 10 * MS);
		event[n_events++] = fake_span(&fake, proc, 0, TP_REC_OP, mm, at + 10 * MS,
					      at + 70 * MS);
		event[n_events++] = fake_block(&fake, proc, 0, TP_REC_ALLOC, at + 20 * MS, 64,
					       (uint64_t)(i == 4 ? 5 : 2) << 20);
		event[n_events++] = fake_block(&fake, proc, 0, TP_REC_FREE, at + 80 * MS, 64, 0);
		event[n_events++] = fake_span(&fake, proc, 0, TP_REC_RANGE, step, at + 90 * MS,
					      at + 99 * MS);
	}
	return proc;
}

static inline char *print(uint32_t width, bool has_color)
{
	qsort(event, n_events, sizeof(event[0]), compare);
	return fake_print(&fake, &tp_view_overview, &options, event, n_events, width, has_color);
}

static inline void set_up(void)
{
	fake_init(&fake);
	n_events = 0;
}

static inline void expect_has(const char *text, const char *const *wanted)
{
	for (; *wanted; wanted++)
		cr_expect(strstr(text, *wanted), "no '%s' in:\n%s", *wanted, text);
}

static inline void expect_fits(const char *text, uint32_t width)
{
	while (*text) {
		const char *end = strchrnul(text, '\n');

		cr_expect_leq(tp_utf8_width(text, (uint32_t)(end - text)), width, "%.*s",
			      (int)(end - text), text);
		text = *end ? end + 1 : end;
	}
}

/* So many at most. */
static inline void expect_lines(const char *text, uint32_t most)
{
	uint32_t n_lines = 0;

	for (const char *at = text; *at; at++)
		n_lines += *at == '\n';
	cr_expect_leq(n_lines, most, "%s", text);
}

#endif
