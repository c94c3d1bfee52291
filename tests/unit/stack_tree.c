/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for stacks: what they stand for, how long they are good, what happens when room ends. */
#include <pthread.h>
#include <sys/wait.h>

#include "tests/unit/stack_rig.h"

static struct tp_stack_tree *tree_now(uint32_t *generation)
{
	struct tp_stack_tree *tree = tp_stack_tree(tp_clock_now(), generation);

	cr_assert_not_null(tree);
	return tree;
}

static uint32_t child(uint32_t outer, uint32_t flags, uint32_t name, uint64_t arg)
{
	uint32_t generation;

	return tp_stack_tree_child(tree_now(&generation), outer, flags, name, arg, tp_clock_now());
}

Test(stack_tree, a_number_is_its_frames, .init = rig_open, .fini = rig_close)
{
	static const struct {
		uint32_t flags, name;
		uint64_t arg;
	} frame[] = {
		{ 0, 0, 0x7fffdeadbeef }, { TP_FRAME_EXACT, 0, 0x7fffdeadbeef },
		{ TP_FRAME_CUT, 0, 0x7fffdeadbeef }, { TP_FRAME_PYTHON, 77, 3 },
		{ TP_FRAME_PYTHON | TP_FRAME_ENTRY, 77, 3 }, { TP_FRAME_PYTHON, 0xffffffff, 0x7ffffff },
		{ TP_FRAME_PYTHON, 78, 3 }, { TP_FRAME_PYTHON, 77, 0 }, { TP_FRAME_JOINED, 0, 0xffffffff },
		{ 0, 0, 0x7ffffffffffffff },
	};
	enum { N = sizeof(frame) / sizeof(*frame) };
	uint32_t number[2][N];

	for (uint32_t k = 0; k < 2; k++) {
		for (int i = 0; i < N; i++) {
			number[k][i] = child(k * 1000, frame[i].flags, frame[i].name, frame[i].arg);
			cr_expect_eq(child(k * 1000, frame[i].flags, frame[i].name, frame[i].arg),
				     number[k][i], "the same again");
		}
	}
	rig_collect();
	cr_expect_eq(rig_n_frames, 2 * N, "one record each");
	for (uint32_t k = 0; k < 2; k++) {
		for (int i = 0; i < N; i++) {
			const struct tp_rec *rec = rig_find(number[k][i]);

			cr_assert_not_null(rec);
			cr_expect_eq(tp_rec_len(rec), k * 1000);
			cr_expect_eq(rec->flags, frame[i].flags);
			cr_expect_eq(rec->name, frame[i].name);
			cr_expect_eq(rec->arg, frame[i].arg);
		}
	}
}

Test(stack_tree, a_window_begins_with_no_stacks, .init = rig_open, .fini = rig_close)
{
	uint32_t before, after, first = child(0, 0, 0, 0x1000), second;

	tree_now(&before);
	cr_expect(before != 0);
	rig_begin_window(tp_clock_now());
	second = child(0, 0, 0, 0x1000);
	tree_now(&after);
	cr_expect(first != second);
	cr_expect(before != after);
	cr_expect_eq(child(0, 0, 0, 0x1000), second);
}

/* The clock was read before a window began, the rest came after: the event is of the window
 * before, and so must its stack be. The next one is of the new window. */
Test(stack_tree, an_event_of_before_the_window_does_not_belong_to_it, .init = rig_open,
     .fini = rig_close)
{
	uint32_t first = child(0, 0, 0, 0x1000), generation[3], late;
	uint64_t before = tp_clock_now();

	tree_now(&generation[0]);
	rig_begin_window(before + 1);
	cr_assert_not_null(tp_stack_tree(before, &generation[1]));
	cr_expect(generation[0] != generation[1]);
	late = tp_stack_tree_child(tp_stack_tree(before, &generation[1]), 0, 0, 0, 0x1000, before);
	cr_expect(late != first, "which may be of a window before the event's");
	late = tp_stack_tree_child(tp_stack_tree(before, &generation[1]), 0, 0, 0, 0x2000, before);
	tree_now(&generation[2]);
	cr_expect(generation[2] != generation[1]);
	cr_expect(child(0, 0, 0, 0x2000) != late, "of which the new one's file knows nothing");
}

/* The same on a thread that has no tree yet. */
/* It took its time in a window, was held up, and goes on when the next one has begun. */
Test(stack_tree, an_event_that_is_a_window_late_has_stacks_of_its_own, .init = rig_open, .fini = rig_close)
{
	uint32_t before = child(0, 0, 0, 0x1000), generation, late, next;
	uint64_t time;

	rig_begin_window(tp_clock_now());
	time = tp_clock_now();
	rig_begin_window(tp_clock_now() + 1);
	late = tp_stack_tree_child(tp_stack_tree(time, &generation), 0, 0, 0, 0x1000, time);
	cr_expect(late != before);
	next = child(0, 0, 0, 0x1000);
	cr_expect(next != late);
	cr_expect_eq(child(0, 0, 0, 0x1000), next);
}

static void *begin_late(void *unused)
{
	uint64_t before = tp_clock_now();
	uint32_t generation[2], number;

	rig_begin_window(before + 1);
	number = tp_stack_tree_child(tp_stack_tree(before, &generation[0]), 0, 0, 0, 0x1000, before);
	tree_now(&generation[1]);
	cr_expect(generation[0] != generation[1]);
	cr_expect(child(0, 0, 0, 0x1000) != number);
	return NULL;
}

Test(stack_tree, nor_does_a_threads_first_one, .init = rig_open, .fini = rig_close)
{
	pthread_t thread;

	pthread_create(&thread, NULL, begin_late, NULL);
	pthread_join(thread, NULL);
}

/* A boundary has said that a window may begin, and not yet when: the event may be on either side,
 * and the next one, too. */
Test(stack_tree, stacks_are_made_anew_until_a_boundary_is_settled, .init = rig_open,
     .fini = rig_close)
{
	uint32_t first = child(0, 0, 0, 0x1000), second, third;

	tp_ring.head->window_turn |= 1;
	second = child(0, 0, 0, 0x1000);
	third = child(0, 0, 0, 0x1000);
	cr_expect(first != second);
	cr_expect(second != third);
	rig_begin_window(tp_clock_now());
	tp_ring.head->window_turn &= ~1u;
	cr_expect(child(0, 0, 0, 0x1000) != third);

	/* No window came of it: what was made is good. */
	third = child(0, 0, 0, 0x1000);
	tp_ring.head->window_turn++;
	second = child(0, 0, 0, 0x1000);
	tp_ring.head->window_turn--;
	cr_expect(second != third);
	cr_expect_eq(child(0, 0, 0, 0x1000), second);
}

Test(stack_tree, begins_anew_when_addresses_mean_something_else, .init = rig_open,
     .fini = rig_close)
{
	uint32_t first = child(0, 0, 0, 0x1000), before, after;

	tree_now(&before);
	tp_stack_tree_begin_anew();
	cr_expect(child(0, 0, 0, 0x1000) != first);
	tree_now(&after);
	cr_expect(before != after);
}

/* Small: what does not fit is dropped, said by 0, and made again when there is room. */
static void open_small(void)
{
	rig_open_stacks(TP_STACKS_NATIVE, 1 << 20);
}

Test(stack_tree, a_full_ring_gives_no_number, .init = open_small, .fini = rig_close)
{
	uint64_t arg = 0x1000;
	uint32_t number;

	while (child(0, 0, 0, arg))
		arg++;
	cr_expect_gt(tp_ring_dropped(), 0);
	cr_expect_eq(child(0, 0, 0, arg), 0);
	cr_expect(child(0, 0, 0, 0x1000) != 0, "what it has it has");
	rig_collect();
	number = child(0, 0, 0, arg);
	cr_expect(number != 0);
	rig_collect();
	cr_assert_not_null(rig_find(number));
	cr_expect_eq(rig_find(number)->arg, arg);
}

Test(stack_tree, is_emptied_when_it_is_full, .init = rig_open, .fini = rig_close)
{
	enum { MANY = 1000000 };
	uint32_t generation[2], first = child(0, 0, 0, 1), outer = first, again;

	tree_now(&generation[0]);
	for (uint32_t i = 2; i < MANY; i++) {
		outer = child(outer, 0, 0, i % 7 + 1);
		cr_assert(outer != 0);
		if (i % 65536 == 0) {
			tp_ring_take(rig_take_records, NULL);
			tp_ring_release(0, 0);
			rig_n_frames = 0;
		}
	}
	tree_now(&generation[1]);
	cr_expect_eq(generation[0], generation[1], "the numbers are as good as before");
	again = child(0, 0, 0, 1);
	cr_expect(again != 0 && again != first);
	/* 16 bytes a slot: no more than it is allowed to have. */
	cr_expect_leq(tree_now(&generation[0])->mask + 1, 1u << 16);
}

static void *take_many(void *at)
{
	uint32_t *number = at;

	for (int i = 0; i < 5000; i++)
		number[i] = child(0, 0, 0, (uint64_t)i + 1);
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

Test(stack_tree, numbers_are_unique_in_the_process, .init = rig_open, .fini = rig_close)
{
	static uint32_t number[20000];
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, take_many, &number[5000 * i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	qsort(number, 20000, sizeof(uint32_t), by_number);
	cr_expect(number[0] != 0);
	for (int i = 1; i < 20000; i++)
		cr_assert(number[i] != number[i - 1], "%d: %u", i, number[i]);
}

static void count_memory(void *ctx, struct tp_stack_thread *thread)
{
	if (thread->tree.node)
		++*(uint32_t *)ctx;
}

static void *take_a_few(void *unused)
{
	child(0, 0, 0, 7);
	return NULL;
}

Test(stack_tree, what_dead_threads_had_is_given_back, .init = rig_open, .fini = rig_close)
{
	static uint32_t number[5000];
	pthread_t thread;
	uint32_t n = 0;

	pthread_create(&thread, NULL, take_many, number);
	pthread_join(thread, NULL);
	tp_stack_thread_each(count_memory, &n);
	cr_assert_eq(n, 1);
	/* The kernel may know the thread a moment longer. */
	cr_expect(AWAIT((tp_stack_tick(), n = 0, tp_stack_thread_each(count_memory, &n), n == 0)));
	/* One that lives is left alone. */
	take_a_few(NULL);
	tp_stack_tick();
	tp_stack_thread_each(count_memory, &n);
	cr_expect_eq(n, 1);
}

Test(stack_tree, a_child_of_fork_begins_anew, .init = rig_open, .fini = rig_close)
{
	uint32_t before, after;
	int status;

	child(0, 0, 0, 7);
	tree_now(&before);
	if (!fork()) {
		tp_stack_forked();
		tree_now(&after);
		_exit(after == before);
	}
	wait(&status);
	cr_expect_eq(status, 0);
}
