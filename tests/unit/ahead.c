/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.c and decode.c: slices of a block are the block, however large, in whatever order. */
#include "tests/unit/merge_rig.h"

#include "merge/input/ahead.h"

TestSuite(ahead, .init = rig_begin, .fini = rig_end, .timeout = 60);

enum { EVENTS = 50000 };

/* Spans of all lengths, many at one time, the recorded order that of their ends. */
static struct tp_run_in *make_run(void)
{
	uint64_t now = 1000;

	srand(11);
	rig_file("a.tpt", 0, 0);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint64_t len = (uint64_t)(rand() % 4 * 100);

		now += (uint64_t)(rand() % 3 * 100);
		rig_anchor(now);
		rig_span(rand() % 2 ? TP_REC_OP : TP_REC_RANGE, rig_op("x"), now > len ? now - len : 0,
			 now);
	}
	rig_close(now);
	return tp_run_inside(rig_open(NULL, NULL, NULL));
}

/* All slices of a block behind each other. */
static uint32_t decode(struct tp_run_in *run, const struct tp_block_ref *ref, uint32_t slice,
		       struct tp_rec *rec)
{
	struct tp_ahead *ahead = tp_ahead_start(run, slice);
	uint32_t n = 0;

	cr_assert_not_null(ahead);
	while (n < ref->n_events) {
		struct tp_decoded *d = n % 2 ? tp_ahead_now(ahead, ref, n)
					     : tp_ahead_take(ahead, tp_ahead_ask(ahead, ref, n));

		cr_assert_not_null(d);
		cr_assert_eq(d->err, 0);
		cr_assert_eq(d->from, n);
		cr_assert_leq(d->n, slice);
		memcpy(rec + n, d->rec, d->n * sizeof(*rec));
		n += d->n;
		cr_assert_eq(tp_decode_has_more(d), n < ref->n_events);
		if (n > d->n)
			cr_assert_geq((int64_t)rec[n - d->n].time, (int64_t)rec[n - d->n - 1].time);
		tp_ahead_release(ahead, d);
	}
	tp_ahead_stop(ahead);
	return n;
}

Test(ahead, slices_behind_each_other_are_the_block)
{
	static const uint32_t slice[] = {256, 1000, 5461, 8192, 16383};
	struct tp_run_in *run = make_run();
	struct tp_rec *whole = malloc(TP_BLOCK_EVENTS_MAX * sizeof(*whole)),
		      *parts = malloc(TP_BLOCK_EVENTS_MAX * sizeof(*parts));

	cr_assert(run && run->n_blocks > 2);
	for (uint32_t b = 0; b < run->n_blocks; b++) {
		const struct tp_block_ref *ref = &run->block[b];
		uint32_t n = decode(run, ref, TP_BLOCK_EVENTS_MAX, whole);

		for (uint32_t i = 1; i < n; i++)
			cr_assert_leq((int64_t)whole[i - 1].time, (int64_t)whole[i].time);
		for (uint32_t s = 0; s < sizeof(slice) / sizeof(slice[0]); s++) {
			cr_assert_eq(decode(run, ref, slice[s], parts), n);
			cr_assert_arr_eq(parts, whole, n * sizeof(*whole), "slices of %u", slice[s]);
		}
	}
	free(whole);
	free(parts);
	tp_run_free(&run->pub);
}

Test(ahead, what_is_asked_for_and_never_taken_is_no_leak)
{
	struct tp_run_in *run = make_run();
	struct tp_ahead *ahead = tp_ahead_start(run, 300);
	uint32_t task[TP_AHEAD_TASKS];

	for (uint32_t round = 0; round < 40; round++) {
		for (uint32_t i = 0; i < TP_AHEAD_TASKS; i++)
			task[i] = tp_ahead_ask(ahead, &run->block[0], i * 300);
		/* The last first: threads begin with the others. */
		for (uint32_t i = TP_AHEAD_TASKS; i--;) {
			struct tp_decoded *d = tp_ahead_take(ahead, task[i]);

			cr_assert_eq(d->from, i * 300);
			cr_assert_eq(d->err, 0);
			tp_ahead_release(ahead, d);
		}
	}
	for (uint32_t i = 0; i < TP_AHEAD_TASKS; i++)
		tp_ahead_ask(ahead, &run->block[0], i * 300);
	tp_ahead_stop(ahead);
	tp_run_free(&run->pub);
}

/* What is no file any more, or another one, is said once and costs its events only. */
Test(ahead, a_file_that_was_replaced_meanwhile_is_not_read)
{
	struct tp_run_in *run = make_run();
	struct tp_ahead *ahead = tp_ahead_start(run, 300);
	char path[256], other[256];
	struct tp_decoded *d;

	snprintf(path, sizeof(path), "%s/a.tpt", rig.folder);
	snprintf(other, sizeof(other), "%s/b.tpt", rig.folder);
	rig_file("b.tpt", 1, 0);
	rig_span(TP_REC_OP, rig_op("x"), 1000, 2000);
	rig_close(3000);
	cr_assert_eq(rename(other, path), 0);
	d = tp_ahead_now(ahead, &run->block[0], 0);
	cr_assert_eq(d->trouble, TP_DECODE_NO_FILE);
	cr_assert_eq(d->n, 0);
	tp_decode_complain(run, d);
	tp_decode_complain(run, d);
	cr_assert_eq(run->pub.n_issues, 1);
	cr_assert(strstr(run->pub.issue[0].text, "changed while it was read"));
	tp_ahead_release(ahead, d);
	tp_ahead_stop(ahead);
	tp_run_free(&run->pub);
}
