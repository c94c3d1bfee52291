/* SPDX-License-Identifier: Apache-2.0 */
/* fuse.c: host memory and stacks of one moment are handed out as they were recorded. */
#include "tests/unit/merge_rig.h"

enum { MANY = 80000, THREADS = 3 };

static struct {
	uint64_t last[THREADS + 1];	/* by thread: number of the event handed out last */
	uint32_t n, n_frames;
	int64_t first_ns, last_ns;	/* of events that are no FRAMEs */
} seen;

static void note(void *ctx, const struct tp_event *event)
{
	uint32_t thread = event->thread->slot;

	cr_assert_lt(thread, THREADS);
	cr_assert_gt(event->arg, seen.last[thread],
		     "thread %u: event %lu of kind %u at %ld comes after %lu", thread, event->arg,
		     event->kind, event->begin_ns, seen.last[thread]);
	seen.last[thread] = event->arg;
	seen.n++;
	if (event->kind == TP_REC_FRAME) {
		seen.n_frames++;
		return;
	}
	if (!seen.first_ns)
		seen.first_ns = event->begin_ns;
	seen.last_ns = event->begin_ns;
}

static void fuse(const char *steps)
{
	struct tp_run *run = rig_open(NULL, NULL, steps);

	cr_assert_not_null(run);
	memset(&seen, 0, sizeof(seen));
	cr_assert_eq(tp_fuse_events(run, note, NULL), 0);
	cr_assert_eq(run->n_issues, 0);
	tp_run_free(run);
}

TestSuite(fuse_order, .init = rig_begin, .fini = rig_end);

static void put(uint8_t kind, uint64_t time, uint64_t number, uint16_t slot)
{
	rig_put((struct tp_rec){.time = time, .kind = kind, .arg = number}, 0, slot);
}

static void put_thread(uint32_t slot)
{
	const struct tp_thread_entry thread = {.slot = slot, .tid = 500 + slot, .name = "worker"};

	cr_assert_eq(tp_writer_threads(&rig.writer, &thread, 1), 0);
}

/* Few moments with thousands of events each, so that most blocks begin and end within one; the
 * threads take turns that have nothing to do with the time. */
Test(fuse_order, equal_times_keep_their_order_across_blocks)
{
	static const uint8_t kind[] = {TP_REC_HEAPALLOC, TP_REC_FRAME, TP_REC_HEAPFREE, TP_REC_FRAME,
				       TP_REC_MAP, TP_REC_FRAME, TP_REC_FRAME, TP_REC_UNMAP};
	uint32_t n[THREADS] = {0}, n_frames = 0;

	srand(5);
	rig_file("a.tpt", 0, 0);
	put_thread(1);
	put_thread(2);
	for (uint32_t i = 0; i < MANY;) {
		uint16_t slot = (uint16_t)(rand() % THREADS);

		for (int burst = rand() % 9000; burst-- && i < MANY; i++) {
			uint32_t at = n[slot]++;
			uint8_t which = kind[(unsigned)rand() % sizeof(kind)];

			/* The second thread is always behind. */
			put(which, 100000 + (slot == 1 ? 0 : 40) + at / 7000, at + 1, slot);
			n_frames += which == TP_REC_FRAME;
		}
	}
	rig_close(900000);
	fuse(NULL);
	cr_expect_eq(seen.n, MANY, "%u", seen.n);
	cr_expect_eq(seen.n_frames, n_frames);
}

/* Blocks are forgotten and others opened, each with events of the moment at which the last ends. */
Test(fuse_order, equal_times_keep_their_order_while_blocks_come_and_go)
{
	rig_file("a.tpt", 0, 0);
	for (uint32_t i = 0; i < MANY; i++)
		put(i % 3 ? TP_REC_HEAPALLOC : TP_REC_FRAME, 100000 + i / 3000, i + 1, 0);
	rig_close(900000);
	fuse(NULL);
	cr_expect_eq(seen.n, MANY, "%u", seen.n);
}

Test(fuse_order, stacks_from_before_the_chosen_steps_are_handed_out_too)
{
	FILE *ledger;
	char path[128];

	rig_file("rank0.tpt", 0, 0);
	for (uint32_t i = 0; i < 6; i++) {
		put(TP_REC_FRAME, 1000 + 1000 * i, 2 * i + 1, 0);
		put(TP_REC_HEAPALLOC, 1000 + 1000 * i, 2 * i + 2, 0);
	}
	rig_close(9000);
	snprintf(path, sizeof(path), "%s/rank0.steps", rig.folder);
	ledger = fopen(path, "w");
	fputs("#trainprof-ledger 1 run=000000000000004d boot=00000000000000010000000000000002 "
	      "mono=0 real=0 rank=0 local=0 world=4 node=0 pid=100 restart=0 host=here\n", ledger);
	for (int i = 0; i < 6; i++)
		fprintf(ledger, "s%d p4 t%d d1000\n", i, 1000 + 1000 * i);
	fclose(ledger);
	fuse("2-3");
	cr_expect_eq(seen.n_frames, 6, "%u", seen.n_frames);
	cr_expect_eq(seen.n - seen.n_frames, 2, "%u", seen.n - seen.n_frames);
	cr_expect_eq(seen.last_ns - seen.first_ns, 1000);
}
