/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c - threads take stacks without a pause while windows begin and end, in a ring so small
 * that what was recorded in warm-up is thrown away again and again
 *
 * usage: stacks [SECONDS]
 *
 * A file must be whole in itself: each stack that one of its events has, and each outer one of
 * that, is a FRAME in the same file. Exit status 0: all was right.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/log.h"
#include "runtime/probe/stack/stack_tree.h"
#include "tests/unit/session_rig.h"

enum { N_RECORDERS = 3, DEPTH = 4, LEAVES = 40 };

static _Atomic bool is_over;

static uint32_t take_stack(uint64_t time, uint32_t leaf)
{
	uint32_t generation, stack = 0;
	struct tp_stack_tree *tree = tp_stack_tree(time, &generation);

	for (uint32_t i = 0; tree && i < DEPTH; i++) {
		stack = tp_stack_tree_child(tree, stack, 0, 0, 0x1000 + (i + 1 < DEPTH ? i : leaf),
					    time);
		if (!stack)
			break;
	}
	return stack;
}

/* Of the event, its stack and the frames of that, the time is the same: as a hook does it. */
static void *record(void *unused)
{
	for (uint32_t i = 0; !is_over; i++) {
		uint64_t now = tp_clock_now();
		uint32_t stack;
		struct tp_rec *rec;

		if (!tp_session_is_armed()) {
			usleep(50);
			continue;
		}
		stack = take_stack(now, 100 + i % LEAVES);
		rec = stack ? tp_ring_reserve() : NULL;
		if (!rec)
			continue;
		*rec = (struct tp_rec){ .time = now, .kind = TP_REC_OP, .link = stack };
		tp_ring_commit();
	}
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	uint32_t left = (*(const struct tp_rec *const *)a)->link;
	uint32_t right = (*(const struct tp_rec *const *)b)->link;

	return (left > right) - (left < right);
}

static bool is_known(const struct tp_rec **frame, uint32_t n, uint32_t stack)
{
	while (stack) {
		const struct tp_rec wanted = { .link = stack }, *key = &wanted;
		const struct tp_rec **found = bsearch(&key, frame, n, sizeof(*frame), by_number);

		if (!found)
			return false;
		stack = (uint32_t)tp_rec_len(*found);
	}
	return true;
}

/* How many events have a stack that the file does not have to its end. A FRAME of before the window
 * may lie in it for nothing: its outer ones are not missed. */
static uint64_t count_unknown(const struct rig_trace *trace)
{
	const struct tp_rec **frame = calloc(trace->n + 1, sizeof(*frame));
	uint64_t n_unknown = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->rec[i].kind == TP_REC_FRAME)
			frame[n++] = &trace->rec[i];
	qsort(frame, n, sizeof(*frame), by_number);
	for (uint32_t i = 0; i < trace->n; i++)
		n_unknown += trace->rec[i].kind == TP_REC_OP &&
			     !is_known(frame, n, trace->rec[i].link);
	free(frame);
	return n_unknown;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	uint64_t n_events = 0, n_unknown = 0, end;
	pthread_t thread[N_RECORDERS];
	uint32_t n_windows;

	rig_set_up();
	rig_config.log = TP_LOG_WARN;
	rig_config.buffer_bytes = 1 << 20;
	if (rig_open("wait=0,warmup=2,active=1,repeat=0"))
		return 2;
	for (int i = 0; i < N_RECORDERS; i++)
		pthread_create(&thread[i], NULL, record, NULL);
	for (end = tp_clock_mono_ns() + (uint64_t)seconds * 1000000000; tp_clock_mono_ns() < end;) {
		rig_step();
		usleep(2000);
	}
	tp_session_close("exit");
	is_over = true;
	for (int i = 0; i < N_RECORDERS; i++)
		pthread_join(thread[i], NULL);
	n_windows = __atomic_load_n(&tp_ring.head->windows_written, __ATOMIC_ACQUIRE);
	for (uint32_t w = 0; w < n_windows; w++) {
		struct rig_trace *trace = rig_window(w);

		n_events += trace->n;
		n_unknown += count_unknown(trace);
		free(trace->rec);
		free(trace->thread);
		free(trace);
	}
	printf("%u windows, %lu events, %lu dropped, %lu with a stack that their file does not have\n",
	       n_windows, n_events, tp_ring_dropped(), n_unknown);
	rig_remove_dir();
	return n_unknown || !n_events;
}
