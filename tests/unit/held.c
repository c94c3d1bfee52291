/* SPDX-License-Identifier: Apache-2.0 */
/* Holders of tensor memory from records, in whatever order passes over the ring bring them. */
#include <string.h>

#include "runtime/probe/hang/held.h"
#include "runtime/probe/hang/held_table.h"
#include "tests/unit/probe_rig.h"

enum { MIB = 1 << 20, MAIN = 1, OTHER = 2, NOW = 1000, STEP = 500 };

static char lines[16384], said[2048];
static uint32_t asked_window;

static void set_up(void)
{
	rig_open_window("held");
	tp_held_forget();
}

TestSuite(held, .init = set_up, .fini = tear_down);

static struct tp_rec make(enum tp_rec_kind kind, uint64_t time, uint64_t len, uint32_t name, uint32_t link,
			  uint64_t arg)
{
	struct tp_rec rec = {.time = time, .kind = (uint8_t)kind, .name = name, .link = link, .arg = arg};

	tp_rec_set_len(&rec, len);
	return rec;
}

static void see(uint32_t slot, struct tp_rec rec)
{
	tp_held_see(0, slot, &rec, 1);
}

static struct tp_rec allocated(uint64_t time, uint64_t address, uint64_t mibs)
{
	return make(TP_REC_ALLOC, time, mibs * MIB, 0, TP_DEVICE_CPU, address);
}

static struct tp_rec freed(uint64_t time, uint64_t address)
{
	return make(TP_REC_FREE, time, 0, 0, TP_DEVICE_CPU, address);
}

static struct tp_rec operator(const char *name, uint64_t begin, uint64_t end)
{
	return make(TP_REC_OP, begin, end - begin, tp_intern(TP_STRING_OP, name, (uint32_t)strlen(name) + 1),
		    0, 0);
}

static struct tp_rec category(uint64_t time, uint64_t address, enum tp_tensor_category what)
{
	struct tp_rec rec = make(TP_REC_CATEGORY, time, 4 * MIB, 0, TP_DEVICE_CPU, address);

	rec.flags = (uint8_t)what;
	return rec;
}

static uint64_t ask(uint32_t device, uint64_t time, uint64_t total)
{
	const struct tp_held_asked asked = {
		.window = asked_window, .device = device, .time = time, .step_begin = STEP, .total = total,
	};
	struct tp_text line, sentence;

	tp_text_init(&line, lines, sizeof(lines));
	tp_text_init(&sentence, said, sizeof(said));
	return tp_held_put(&asked, &line, &sentence);
}

static uint64_t held(void)
{
	return ask(TP_DEVICE_CPU, NOW, 0) / MIB;
}

Test(held, nothing_is_held_where_nothing_was_seen)
{
	cr_expect_eq(held(), 0);
	cr_expect_str_empty(lines);
}

Test(held, blocks_are_summed_up_by_category_operator_module_and_line)
{
	static const char train[] = "train\0/home/x/train.py", linear[] = "forward\0/x/site-packages/linear.py";
	uint32_t in_train = tp_intern(TP_STRING_PYFRAME, train, sizeof(train) - 1);
	uint32_t in_linear = tp_intern(TP_STRING_PYFRAME, linear, sizeof(linear) - 1);
	uint32_t module = tp_intern(TP_STRING_NNMODULE, "fc1\0Linear", 10);
	struct tp_rec frame = make(TP_REC_FRAME, 1, 0, in_train, 7, 28), inner;

	frame.flags = TP_FRAME_PYTHON;
	see(MAIN, frame);
	see(MAIN, make(TP_REC_NNMODULE, 2, 0, module, 3, 0));
	inner = make(TP_REC_FRAME, 3, 7, 0, 8, TP_ARG_MODULE(3));
	inner.flags = TP_FRAME_MODULE;
	see(MAIN, inner);
	inner = make(TP_REC_FRAME, 3, 8, in_linear, 9, 134);
	inner.flags = TP_FRAME_PYTHON;
	see(MAIN, inner);
	see(MAIN, make(TP_REC_STACK, 4, 0, 0, 9, 0));
	see(MAIN, allocated(10, 0x1000, 3));
	see(MAIN, allocated(11, 0x2000, 2));
	see(MAIN, operator("aten::empty", 9, 12));
	see(MAIN, operator("aten::linear", 8, 13));
	see(MAIN, allocated(600, 0x3000, 1));
	see(MAIN, category(700, 0x4000, TP_TENSOR_PARAMETER));
	cr_expect_eq(ask(TP_DEVICE_CPU, NOW, 12 * MIB), 10 * MIB);
	cr_expect_str_eq(lines,
		"    5.0 MiB (41.6 %) kept across steps, allocated by aten::linear in fc1, train "
		"(/home/x/train.py:28), 2 blocks\n"
		"    4.0 MiB (33.3 %) parameters, allocated before the recorded steps, 1 block\n"
		"    1.0 MiB (8.3 %) of this step in fc1, train (/home/x/train.py:28), 1 block\n"
		"    2.0 MiB (16.6 %) others, or allocated before the recorded steps\n");
	cr_expect_str_eq(said, "5.0 MiB (41.6 %) kept across steps, allocated by aten::linear in fc1, train "
			       "(train.py:28); 4.0 MiB (33.3 %) parameters, allocated before the recorded steps");
	cr_expect_eq(ask(TP_DEVICE(1, 0), NOW, 0), 0, "of another device");
}

Test(held, the_newest_event_of_an_address_counts_in_any_order)
{
	see(OTHER, freed(20, 0x1000));
	see(MAIN, allocated(10, 0x1000, 1));
	cr_expect_eq(held(), 0);
	see(MAIN, allocated(30, 0x1000, 2));
	see(OTHER, freed(25, 0x1000));
	cr_expect_eq(held(), 2);
}

Test(held, a_scan_that_comes_before_the_allocation_is_kept)
{
	see(MAIN, category(50, 0x1000, TP_TENSOR_GRADIENT));
	see(OTHER, allocated(40, 0x1000, 4));
	cr_expect_eq(held(), 4);
	cr_expect_not_null(strstr(lines, " gradients, 1 block"), "%s", lines);
}

Test(held, what_is_seen_again_changes_nothing)
{
	const struct tp_rec rec[] = {allocated(10, 0x1000, 1), operator("aten::mm", 9, 11),
				     allocated(20, 0x2000, 1), freed(21, 0x2000), allocated(22, 0x2000, 1)};

	tp_held_see(0, MAIN, rec, 5);
	cr_expect_eq(held(), 2);
	see(MAIN, make(TP_REC_STACK, 30, 0, 0, 99, 0));
	tp_held_see(0, MAIN, rec, 5);
	cr_expect_eq(held(), 2);
	cr_expect_not_null(strstr(lines, "1.0 MiB (50.0 %) kept across steps, allocated by aten::mm, 1 block"));
}

Test(held, what_is_freed_after_the_failure_was_held)
{
	see(MAIN, allocated(10, 0x1000, 1));
	tp_held_stop_at(100);
	see(MAIN, freed(101, 0x1000));
	see(MAIN, allocated(102, 0x1000, 9));
	tp_held_go_on();
	cr_expect_eq(ask(TP_DEVICE_CPU, 100, 0), MIB);
	see(MAIN, freed(101, 0x1000));
	cr_expect_eq(ask(TP_DEVICE_CPU, 100, 0), MIB, "a pass had it already");
	cr_expect_eq(ask(TP_DEVICE_CPU, 101, 0), 0);
}

Test(held, another_window_begins_anew)
{
	const struct tp_rec rec = allocated(30, 0x2000, 2);

	see(MAIN, allocated(10, 0x1000, 1));
	tp_held_see(1, MAIN, &rec, 1);
	cr_expect_eq(held(), 0, "of the first one nothing is known any more");
	asked_window = 1;
	cr_expect_eq(held(), 2);
}

Test(held, a_thread_without_a_slot_of_its_own_stands_nowhere)
{
	see(TP_RING_SLOTS - 1, make(TP_REC_STACK, 1, 0, 0, 9, 0));
	see(TP_RING_SLOTS - 1, allocated(10, 0x1000, 1));
	see(TP_RING_SLOTS - 1, operator("aten::mm", 9, 11));
	cr_expect_eq(held(), 1);
	cr_expect_str_eq(lines, "    1.0 MiB (100.0 %) kept across steps, 1 block\n");
}

Test(held, memory_is_small_grows_and_is_that_of_the_next_window)
{
	const struct tp_held_block *at;
	struct tp_rec rec = allocated(NOW, 64, 1);

	see(MAIN, rec);
	cr_expect_leq(tp_held.n_places, 4096);
	for (uint64_t i = 1; i <= 8192; i++)
		see(MAIN, allocated(NOW, i * 64, 1));
	cr_expect_eq(tp_held.n_blocks, 8192);
	cr_expect_leq(tp_held.n_places, 16384);
	at = tp_held.block;
	tp_held_see(1, MAIN, &rec, 1);
	cr_expect_eq(tp_held.n_blocks, 1, "a window knows nothing of the one before");
	cr_expect_eq(tp_held.block, at, "pages that are made anew interrupt the program");
}

Test(held, dead_blocks_make_room_and_what_finds_none_is_counted)
{
	const uint64_t most = TP_HELD_BLOCKS / 4 * 3;
	uint64_t time = tp_clock_now();

	for (uint64_t i = 1; i <= most; i++) {
		see(MAIN, allocated(time, i * 64, 1));
		see(MAIN, freed(time + 1, i * 64));
	}
	see(MAIN, allocated(time + 2, 1ull << 40, 1));
	cr_expect_eq(tp_held.n_lost, 1, "what is allocated before may come yet");
	for (uint32_t i = 0; i < 4; i++) {
		tp_ring.head->pass_done++;
		see(MAIN, freed(time + 3, 64));
	}
	for (uint64_t i = 1; i <= most + 5; i++)
		see(MAIN, allocated(time + 4, (most + i) * 64, 1));
	cr_expect_eq(tp_held.n_lost, 6);
	cr_expect_eq(tp_held.n_blocks, most);
	cr_expect_eq(ask(TP_DEVICE_CPU, UINT64_MAX, 0) / MIB, most);
	cr_expect_not_null(strstr(lines, "blocks that found no place in the table: 6\n"));
}
