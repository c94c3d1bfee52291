/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcat.c - what blocks of tensors were for, by scans and lives, and what their peaks held
 */
#include <criterion/criterion.h>

#include "merge/facts/tensor/tensormem.h"
#include "tests/unit/fake_run.h"

enum { LIVES = 64 };

static struct {
	struct fake fake;
	struct tp_proc *proc;
	struct tp_facts *facts;
	struct tp_memcat *cat;
	struct tp_tensormem *mem;
	struct tp_life life[LIVES];
	uint32_t n;
	bool is_deaf;		/* lives are too many to be kept */
} rig;

static void take_live(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes)
{
}

static void take_life(void *ctx, const struct tp_life *life)
{
	if (rig.is_deaf)
		return;
	cr_assert(rig.n < LIVES);
	rig.life[rig.n++] = *life;
}

static void begin(void)
{
	static const struct tp_memcat_calls calls = {.live = take_live, .life = take_life};

	fake_init(&rig.fake);
	rig.proc = fake_proc(&rig.fake, 0);
	fake_window(&rig.fake, rig.proc, 0, 0, 1000);
	rig.facts = tp_facts_new(&rig.fake.run);
	rig.mem = tp_tensormem_want(rig.facts, 4);
	rig.cat = tp_facts_want(rig.facts, &tp_fact_memcat, NULL);
	tp_memcat_read(rig.cat, &calls, NULL);
}

static void end(void)
{
	tp_facts_free(rig.facts);
}

TestSuite(memcat, .init = begin, .fini = end);

static void give(struct tp_event event)
{
	tp_facts_event(rig.facts, &event);
}

static void give_step(uint32_t index, int64_t from, int64_t to)
{
	give(fake_step(&rig.fake, rig.proc, index, from, to));
}

static void give_range(const char *name, int64_t from, int64_t to)
{
	give(fake_span(&rig.fake, rig.proc, 0, TP_REC_RANGE, fake_text(&rig.fake, name), from, to));
}

/* sequence: TP_NO_SEQ: it records no graph. */
static void give_op(const char *name, int64_t from, int64_t to, uint32_t sequence, uint8_t flags)
{
	struct tp_event event = fake_span(&rig.fake, rig.proc, 0, TP_REC_OP,
					  fake_op(&rig.fake, name), from, to);

	event.link = sequence;
	event.flags = flags;
	give(event);
}

static void give_block(uint8_t kind, int64_t at, uint64_t address, uint64_t bytes)
{
	struct tp_event event =
		fake_block(&rig.fake, rig.proc, 0, kind, at, address, bytes);

	event.link = TP_DEVICE_CPU;
	give(event);
}

static void give_category(int64_t at, uint64_t address, uint64_t bytes,
			  enum tp_tensor_category category, const char *name)
{
	struct tp_event event =
		fake_block(&rig.fake, rig.proc, 0, TP_REC_CATEGORY, at, address, bytes);

	event.link = TP_DEVICE_CPU;
	event.flags = (uint8_t)category;
	if (name)
		event.name = fake_text(&rig.fake, name);
	give(event);
}

/* A step: what is older, input, forward, backward that computes one part again, optimizer. */
static void give_training(void)
{
	struct tp_event scan;

	fake_step_row(&rig.fake, rig.proc, 0, -100, 100)->live_bytes = 1700;
	give_step(1, 0, 500);
	give_category(1, 0x100, 500, TP_TENSOR_PARAMETER, "head.weight");
	give_category(1, 0x200, 500, TP_TENSOR_GRADIENT, NULL);
	give_category(1, 0x200, 500, TP_TENSOR_OPTIMIZER, NULL);	/* first come */
	scan = fake_span(&rig.fake, rig.proc, 0, TP_REC_SCAN, NULL, 1, 3);
	scan.arg = 2;
	give(scan);
	give_range("Optimizer.zero_grad#SGD.zero_grad", 5, 10);
	give_block(TP_REC_FREE, 6, 0x200, 0);
	give_block(TP_REC_FREE, 7, 0x900, 0);		/* older, and nobody knows it */
	give_op("aten::randn", 12, 14, TP_NO_SEQ, 0);
	give_block(TP_REC_ALLOC, 13, 0x300, 40);	/* an input without a loader */
	give_range("enumerate(DataLoader)#x", 15, 20);
	give_op("aten::stack", 16, 18, 7, 0);
	give_block(TP_REC_ALLOC, 17, 0x400, 30);	/* an input */
	give_op("aten::linear", 30, 50, 1, 0);
	give_block(TP_REC_ALLOC, 31, 0x500, 64);	/* inside the operator */
	give_op("aten::addmm", 32, 40, 1, 0);
	give_block(TP_REC_ALLOC, 33, 0x600, 1000);	/* an activation */
	give_block(TP_REC_FREE, 45, 0x500, 0);
	give_op("autograd::engine::evaluate_function: AddmmBackward0", 100, 200, TP_NO_SEQ, 0);
	give_op("AddmmBackward0", 101, 199, 1, TP_F_BACKWARD);
	give_op("aten::gelu", 110, 120, 9, 0);		/* again */
	give_block(TP_REC_ALLOC, 111, 0x700, 300);
	give_op("aten::mm", 130, 140, TP_NO_SEQ, 0);
	give_block(TP_REC_ALLOC, 131, 0x800, 500);	/* a gradient, of which none says when */
	give_op("aten::mul", 150, 160, TP_NO_SEQ, 0);
	give_block(TP_REC_ALLOC, 151, 0xa00, 20);
	give_block(TP_REC_FREE, 180, 0xa00, 0);
	give_block(TP_REC_FREE, 190, 0x600, 0);
	give_block(TP_REC_FREE, 195, 0x700, 0);
	give_block(TP_REC_FREE, 210, 0x300, 0);
	give_block(TP_REC_FREE, 211, 0x400, 0);
	give_range("Optimizer.step#SGD.step", 300, 490);
	give_op("aten::zeros_like", 310, 320, TP_NO_SEQ, 0);
	give_block(TP_REC_ALLOC, 315, 0xb00, 500);	/* momentum */
	give_op("aten::sqrt", 330, 340, TP_NO_SEQ, 0);
	give_block(TP_REC_ALLOC, 335, 0xc00, 10);
	give_block(TP_REC_FREE, 350, 0xc00, 0);
	give_step(2, 500, 900);
	tp_facts_end(rig.facts);
}

static const struct tp_life *find_life(uint64_t address)
{
	for (uint32_t i = 0; i < rig.n; i++)
		if (rig.life[i].address == address)
			return &rig.life[i];
	cr_assert(false, "no life of %lx", (unsigned long)address);
	return NULL;
}

static void expect_operators(void)
{
	const struct tp_memops *ops;
	const struct tp_proc *of;
	uint32_t device;

	ops = tp_memcat_operators(rig.cat, 0, &of, &device);
	cr_assert(ops && of == rig.proc && device == TP_DEVICE_CPU);
	cr_expect(!tp_memcat_operators(rig.cat, 1, &of, &device));
	for (uint32_t i = 0; i < ops->n; i++) {
		const struct tp_memop *op = &ops->op[i];

		if (strcmp(tp_names_at(tp_memcat_names(rig.cat), op->name)->bytes, "aten::linear"))
			continue;
		cr_expect(op->calls == 1 && op->allocs == 2 && op->self_allocs == 1);
		cr_expect(op->alloc_bytes == 1064 && op->self_alloc_bytes == 64);
		cr_expect(op->bytes == 1000 && op->self_bytes == 0);
	}
	cr_expect_eq(ops->op[0].self_alloc_bytes, 1000);
}

static const char *shown(uint32_t row)
{
	return row == TP_NO_NAME ? "" : tp_names_at(tp_memcat_names(rig.cat), row)->bytes;
}

static void expect_inner(uint64_t address, const char *inner, const char *parent)
{
	const struct tp_life *life = find_life(address);

	cr_expect_str_eq(shown(life->inner), inner, "%lx", (unsigned long)address);
	cr_expect_str_eq(shown(life->parent), parent, "%lx", (unsigned long)address);
}

Test(memcat, a_block_is_what_a_scan_saw_or_what_its_life_says)
{
	static const struct {
		const char *what;
		uint64_t address;
		enum tp_tensor_category category;
		bool is_older, is_alive, is_internal;
	} cases[] = {
		{"a parameter", 0x100, TP_TENSOR_PARAMETER, true, true, false},
		{"a gradient of the step before", 0x200, TP_TENSOR_GRADIENT, true, false, false},
		{"made before the graph, used in it", 0x300, TP_TENSOR_INPUT, false, false, false},
		{"from the data loader", 0x400, TP_TENSOR_INPUT, false, false, false},
		{"inside of an operator", 0x500, TP_TENSOR_TEMPORARY, false, false, true},
		{"the operator's result", 0x600, TP_TENSOR_ACTIVATION, false, false, false},
		{"computed again in backward", 0x700, TP_TENSOR_ACTIVATION, false, false, false},
		{"made in backward, there in the optimizer", 0x800, TP_TENSOR_GRADIENT, false, true,
		 false},
		{"of backward alone", 0xa00, TP_TENSOR_TEMPORARY, false, false, false},
		{"what the optimizer keeps", 0xb00, TP_TENSOR_OPTIMIZER, false, true, false},
		{"what it does not", 0xc00, TP_TENSOR_TEMPORARY, false, false, false},
	};
	struct tp_memcat_doubts doubts;
	const struct tp_life *life;

	give_training();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		life = find_life(cases[i].address);
		cr_expect_eq(life->category, cases[i].category, "%s: %s", cases[i].what,
			     tp_tensor_category_title(life->category));
		cr_expect_eq(life->is_older, cases[i].is_older, "%s", cases[i].what);
		cr_expect_eq(life->is_alive, cases[i].is_alive, "%s", cases[i].what);
		cr_expect_eq(life->is_internal, cases[i].is_internal, "%s", cases[i].what);
	}
	cr_expect_str_eq(find_life(0x100)->label->bytes, "head.weight");
	cr_expect_str_eq(tp_names_at(tp_memcat_names(rig.cat), find_life(0x600)->name)->bytes,
			 "aten::linear");
	cr_expect_str_eq(tp_names_at(tp_memcat_names(rig.cat), find_life(0xa00)->name)->bytes,
			 "AddmmBackward0");
	expect_inner(0x600, "aten::addmm", "aten::linear");
	expect_inner(0x500, "aten::linear", "");
	expect_inner(0xa00, "aten::mul", "AddmmBackward0");
	expect_inner(0x400, "aten::stack", "");
	expect_inner(0x100, "", "");
	/* The ledger said 1700; 1000 of it have names. */
	life = find_life(0);
	cr_expect(life->is_sum && life->bytes == 700 && life->category == TP_TENSOR_UNKNOWN,
		  "%ld", (long)life->bytes);
	expect_operators();
	doubts = tp_memcat_doubts(rig.cat);
	cr_expect_eq(doubts.n_scans, 1);
	cr_expect_eq(doubts.n_unread, 2);
	cr_expect_eq(doubts.n_older_frees, 1);
	cr_expect(doubts.has_blocks && doubts.has_totals && !doubts.n_lost && !doubts.n_unheard);
}

Test(memcat, the_peak_of_each_step_says_what_was_there)
{
	const struct tp_mempeak_track *track;
	const struct tp_stretch *step = NULL;
	const struct tp_life *largest;
	bool is_all;
	uint32_t n;

	give_training();
	track = tp_tensormem_by_step(rig.mem, &n);
	cr_assert_eq(n, 1);
	for (uint32_t i = 0; i < track->n_stretches; i++)
		if (track->stretch[i].step == 1)
			step = &track->stretch[i];
	cr_assert(step);
	cr_expect_eq(step->peak_ns, 151, "%ld", (long)step->peak_ns);
	cr_expect_eq(step->at_peak[TP_TENSOR_PARAMETER], 500);
	cr_expect_eq(step->at_peak[TP_TENSOR_ACTIVATION], 1300);
	cr_expect_eq(step->at_peak[TP_TENSOR_GRADIENT], 500);
	cr_expect_eq(step->at_peak[TP_TENSOR_INPUT], 70);
	cr_expect_eq(step->at_peak[TP_TENSOR_TEMPORARY], 20);
	cr_expect_eq(step->at_peak[TP_TENSOR_UNKNOWN], 700);
	cr_expect_eq(step->at_peak[TP_TENSOR_OPTIMIZER], 0);
	cr_expect_eq(tp_stretch_bytes(step), 3090);
	cr_expect_eq(&track->stretch[track->best], step);
	cr_expect_eq(track->holder[0].bytes, 1000);
	cr_expect_eq(track->holder[0].category, TP_TENSOR_ACTIVATION);
	/* In the next step nothing happens: what stays is there. */
	step = NULL;
	for (uint32_t i = 0; i < track->n_stretches; i++)
		if (track->stretch[i].step == 2)
			step = &track->stretch[i];
	cr_assert(step);
	cr_expect_eq(step->at_peak[TP_TENSOR_PARAMETER], 500);
	cr_expect_eq(step->at_peak[TP_TENSOR_OPTIMIZER], 500);
	cr_expect_eq(step->at_peak[TP_TENSOR_ACTIVATION], 0);
	/* The curve has the same peak. */
	track = tp_tensormem_by_time(rig.mem, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(tp_stretch_bytes(&track->stretch[track->best]), 3090);
	largest = tp_tensormem_largest(rig.mem, &n, &is_all);
	cr_assert(n > 4 && is_all);
	cr_expect(largest[0].bytes == 1000 && largest[3].bytes == 500);
	cr_expect(!tp_tensormem_is_incomplete(rig.mem));
}

/* Blocks of two backward passes, and a peak in each: some are on their way, some have arrived. */
static const struct tp_stretch *give_backward(void)
{
	const struct tp_mempeak_track *track;
	uint32_t n;

	give_step(1, 0, 400);
	give_op("autograd::engine::evaluate_function: MmBackward0", 10, 50, TP_NO_SEQ, 0);
	give_op("MmBackward0", 11, 49, 1, TP_F_BACKWARD);
	give_block(TP_REC_ALLOC, 20, 0x100, 1000);
	give_op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 60, 80,
		TP_NO_SEQ, 0);
	give_op("torch::autograd::AccumulateGrad", 65, 79, UINT32_MAX, TP_F_BACKWARD);
	give_step(2, 400, 900);
	give_op("autograd::engine::evaluate_function: MmBackward0", 410, 450, TP_NO_SEQ, 0);
	give_op("MmBackward0", 411, 449, 1, TP_F_BACKWARD);
	give_block(TP_REC_ALLOC, 420, 0x200, 100);
	give_range("FSDP::post_backward_accumulate (blocks.0)", 460, 470);
	give_op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 471, 478,
		TP_NO_SEQ, 0);
	give_op("torch::autograd::AccumulateGrad", 472, 477, UINT32_MAX, TP_F_BACKWARD);
	give_block(TP_REC_ALLOC, 473, 0x300, 10);	/* a copy */
	give_range("FSDP::post_backward_reduce (blocks.0)", 480, 500);
	give_block(TP_REC_ALLOC, 485, 0x500, 3);
	give_block(TP_REC_ALLOC, 490, 0x400, 1);
	give_op("c10d::_reduce_scatter_base_", 491, 493, TP_NO_SEQ, 0);
	give_block(TP_REC_ALLOC, 492, 0x600, 5);	/* its own, for as long as it takes */
	give_block(TP_REC_FREE, 495, 0x200, 0);
	give_block(TP_REC_FREE, 496, 0x500, 0);
	give_block(TP_REC_FREE, 498, 0x600, 0);
	give_range("Optimizer.step#SGD.step", 600, 890);
	give_block(TP_REC_FREE, 895, 0x100, 0);
	give_step(3, 900, 950);
	tp_facts_end(rig.facts);
	track = tp_tensormem_by_step(rig.mem, &n);
	cr_assert(n == 1 && track->n_stretches >= 3);
	return track->stretch;
}

Test(memcat, a_gradient_is_temporary_until_it_is_taken)
{
	const struct tp_stretch *step = give_backward();

	while (step->step != 1)
		step++;
	cr_expect_eq(find_life(0x100)->category, TP_TENSOR_GRADIENT);
	cr_expect_eq(find_life(0x100)->temporary_ns, 45);
	cr_expect_eq(find_life(0x200)->category, TP_TENSOR_UNSHARDED_GRADIENT);
	cr_expect_eq(find_life(0x200)->temporary_ns, 40);
	cr_expect_eq(find_life(0x300)->category, TP_TENSOR_GRADIENT);
	cr_expect_eq(find_life(0x300)->temporary_ns, 0);
	cr_expect_eq(find_life(0x400)->category, TP_TENSOR_SHARDED_GRADIENT);
	cr_expect_eq(find_life(0x400)->temporary_ns, 10);
	cr_expect_eq(find_life(0x500)->category, TP_TENSOR_REDUCE_SCATTER);
	cr_expect_eq(find_life(0x500)->temporary_ns, 8);
	cr_expect(!find_life(0x500)->is_internal && find_life(0x600)->is_internal);
	cr_expect_eq(step->at_peak[TP_TENSOR_TEMPORARY], 1000);
	cr_expect_eq(step->at_peak[TP_TENSOR_GRADIENT], 0);
	while (step->step != 2)
		step++;
	cr_expect_eq(step->peak_ns, 492);
	cr_expect_eq(step->at_peak[TP_TENSOR_GRADIENT], 1010);
	cr_expect_eq(step->at_peak[TP_TENSOR_UNSHARDED_GRADIENT], 100);
	cr_expect_eq(step->at_peak[TP_TENSOR_TEMPORARY], 4);
	cr_expect_eq(step->at_peak[TP_TENSOR_REDUCE_SCATTER], 5);
	cr_expect_eq(step->at_peak[TP_TENSOR_SHARDED_GRADIENT], 0);
}

/* One part dies, a higher peak comes later: it was not there. */
Test(memcat, what_died_before_the_peak_is_not_in_it)
{
	const struct tp_mempeak_track *track;
	uint32_t n;

	give_step(1, 0, 900);
	give_op("aten::linear", 10, 20, 1, 0);
	give_block(TP_REC_ALLOC, 11, 0x100, 1000);
	give_op("aten::relu", 30, 40, 1, 0);
	give_block(TP_REC_ALLOC, 31, 0x200, 100);
	give_block(TP_REC_FREE, 50, 0x100, 0);
	give_op("aten::mm", 60, 70, 1, 0);
	give_block(TP_REC_ALLOC, 61, 0x300, 2000);
	give_block(TP_REC_FREE, 80, 0x200, 0);
	give_block(TP_REC_FREE, 81, 0x300, 0);
	tp_facts_end(rig.facts);
	track = tp_tensormem_by_step(rig.mem, &n);
	cr_assert_eq(n, 1);
	cr_expect_eq(tp_stretch_bytes(&track->stretch[track->best]), 2100);
	cr_expect_eq(track->n_holders, 2);
	cr_expect_eq(track->holder[0].bytes, 2000);
	cr_expect_eq(track->holder[1].bytes, 100);
}

/* As of two files of one process that were put together: time goes on in both. */
Test(memcat, windows_in_each_other_are_cut_and_counted_once)
{
	const struct tp_mempeak_track *track;
	uint32_t n;

	rig.fake.run.n_windows = 0;
	fake_window(&rig.fake, rig.proc, 0, 0, 100000);
	fake_window(&rig.fake, rig.proc, 1, 0, 100000);
	rig.is_deaf = true;
	for (uint32_t i = 0; i < 200; i++) {
		struct tp_event event = fake_block(&rig.fake, rig.proc, 0, TP_REC_ALLOC,
						   (int64_t)i * 500, 0x1000 + i * 16, 16);

		event.link = TP_DEVICE_CPU;
		event.window = i % 2;
		give(event);
	}
	tp_facts_end(rig.facts);
	track = tp_tensormem_by_time(rig.mem, &n);
	cr_assert_eq(n, 1);
	cr_expect_lt(track->n_stretches, 2000);
	cr_expect_eq(track->window_ns, 100000);
	for (uint32_t i = 1; i < track->n_stretches; i++)
		cr_assert_geq(track->stretch[i].begin_ns, track->stretch[i - 1].begin_ns);
}

Test(memcat, made_up_records_do_no_harm)
{
	give_step(1, 0, 900);
	give_category(1, 0x100, UINT64_MAX, TP_TENSOR_PARAMETER, NULL);
	give_category(1, 0x200, 10, (enum tp_tensor_category)200, NULL);
	give_block(TP_REC_ALLOC, 10, 0x300, UINT64_MAX);
	give_block(TP_REC_ALLOC, 11, 0x300, 5);		/* unheard */
	give_block(TP_REC_FREE, 12, 0x300, UINT64_MAX);
	tp_facts_end(rig.facts);
	cr_expect_eq(find_life(0x100)->bytes, (int64_t)TP_LEN_MAX);
	cr_expect_eq(tp_memcat_doubts(rig.cat).n_unheard, 1);
}

/* Run under the sanitizers, this is a test of arithmetic. */
Test(memcat, whatever_the_numbers_the_books_are_closed)
{
	static const uint8_t kinds[] = {TP_REC_OP, TP_REC_RANGE, TP_REC_STEP, TP_REC_ALLOC,
					TP_REC_FREE, TP_REC_TOTALS, TP_REC_CATEGORY, TP_REC_SCAN};
	static const uint64_t extremes[] = {0, 1, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX,
					    1ull << 47, 1ull << 62, 500};
	const struct tp_string *name = fake_op(&rig.fake, "Optimizer.step#x");
	unsigned seed = 7;
	bool is_all;
	uint32_t n;

	fake_window(&rig.fake, rig.proc, 1, INT64_MIN, INT64_MAX);
	fake_window(&rig.fake, rig.proc, 2, INT64_MAX, INT64_MIN);
	rig.is_deaf = true;
	for (uint32_t i = 0; i < 20000; i++) {
		struct tp_event event = fake_span(&rig.fake, rig.proc,
						  (uint32_t)rand_r(&seed) % FAKE_THREADS,
						  kinds[rand_r(&seed) % 8], name, 0, 0);

		event.window = (uint32_t)rand_r(&seed) % 4;
		event.flags = (uint8_t)rand_r(&seed);
		event.link = rand_r(&seed) % 2 ? TP_DEVICE_CPU : (uint32_t)rand_r(&seed) % 8;
		event.arg = extremes[rand_r(&seed) % 8];
		event.len = extremes[rand_r(&seed) % 8];
		event.begin_ns = (int64_t)extremes[rand_r(&seed) % 8];
		event.end_ns = (int64_t)extremes[rand_r(&seed) % 8];
		tp_facts_event(rig.facts, &event);
	}
	tp_facts_end(rig.facts);
	cr_expect(tp_tensormem_by_step(rig.mem, &n) && n);
	cr_expect(tp_tensormem_by_time(rig.mem, &n) && n);
	cr_expect(tp_tensormem_largest(rig.mem, &n, &is_all) && n);
}

/* A row of the ledger: at its end, at most. */
static void ledger(uint64_t index, uint64_t live, uint64_t peak)
{
	struct tp_step_row *row = fake_step_row(&rig.fake, rig.proc, index, (int64_t)index * 100 - 100, 100);

	row->live_bytes = live;
	row->peak_bytes = peak;
}

Test(memcat, older_blocks_whose_frees_have_no_size_are_gone_when_the_ledger_says_so)
{
	const struct tp_mempeak_track *track;
	uint32_t n;

	ledger(0, 1000, 1000);
	ledger(1, 750, 1000);
	ledger(2, 750, 850);
	ledger(3, 750, 1032);
	give_step(1, 0, 100);
	give_block(TP_REC_FREE, 10, 0x900, 0);	/* 300 bytes: the ledger knows */
	give_block(TP_REC_ALLOC, 20, 0x100, 50);
	give_step(2, 100, 200);
	give_block(TP_REC_ALLOC, 110, 0x200, 100);
	give_block(TP_REC_FREE, 150, 0x200, 0);
	give_step(3, 200, 300);
	give_block(TP_REC_ALLOC, 210, 0x300, 280);
	give_block(TP_REC_FREE, 250, 0x300, 0);
	tp_facts_end(rig.facts);
	track = tp_tensormem_by_step(rig.mem, &n);
	cr_assert_eq(n, 1);
	for (uint32_t i = 0; i < track->n_stretches; i++) {
		static const int64_t wanted[] = {0, 1000, 850, 1032};
		const struct tp_stretch *stretch = &track->stretch[i];

		if (stretch->step != TP_NO_STEP)
			cr_expect_eq(tp_stretch_bytes(stretch), wanted[stretch->step], "step %d: %ld",
				     (int)stretch->step, (long)tp_stretch_bytes(stretch));
	}
	/* Not the first, which had 1050 as long as nobody knew how large the freed block was. */
	cr_expect_eq(track->stretch[track->best].step, 3);
}
