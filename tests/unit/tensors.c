/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensors.c - what an event of tensor memory changes, as timelines show it
 */
#include <criterion/criterion.h>

#include "merge/facts/tensor/tensors.h"
#include "tests/unit/fake_run.h"

enum { GPU = TP_DEVICE(1, 3) };
static const struct {
	const char *what;
	uint8_t kind;
	uint32_t device;
	uint64_t address, bytes;	/* TOTALS: reserved, allocated; STEP: its number */
	bool want, want_known, want_total;
	int64_t want_bytes, want_allocated, want_reserved;
	int32_t want_type, want_index;
} cases[] = {
	{"an allocation", TP_REC_ALLOC, TP_DEVICE_CPU, 0x10, 100, true, true, true, 100, 100, 0,
	 0, -1},
	{"of another device", TP_REC_ALLOC, GPU, 0x10, 7, true, true, false, 7, 7, 0, 1, 3},
	{"a device may say none", TP_REC_ALLOC, GPU, 0x18, 1, true, true, true, 1, 8, 0, 1, 3},
	{"totals are no event", TP_REC_TOTALS, GPU, 4096, 1000, false, false, false, 0, 0, 0, 0, 0},
	{"they count from then on", TP_REC_ALLOC, GPU, 0x20, 24, true, true, true, 24, 1024, 4096,
	 1, 3},
	{"the CPU's are its own", TP_REC_ALLOC, TP_DEVICE_CPU, 0x20, 11, true, true, true, 11, 111,
	 0, 0, -1},
	{"a free knows its block", TP_REC_FREE, TP_DEVICE_CPU, 0x10, 0, true, true, true, -100, 11,
	 0, 0, -1},
	{"a block from before", TP_REC_FREE, TP_DEVICE_CPU, 0x99, 0, true, false, true, 0, 11, 0, 0,
	 -1},
	{"a step of the ledger is no event", TP_REC_STEP, 0, 0, 5, false, false, false, 0, 0, 0, 0,
	 0},
	{"but says what was alive", TP_REC_ALLOC, TP_DEVICE_CPU, 0x30, 1, true, true, true, 1, 5001,
	 0, 0, -1},
	{"no step has more than the ledger says", TP_REC_ALLOC, TP_DEVICE_CPU, 0x31, 100, true, true, true, 100,
	 5005, 0, 0, -1},
	{"of a device it says nothing", TP_REC_ALLOC, GPU, 0x31, 6000, true, true, true, 6000, 7024, 4096, 1, 3},
	{"nor after the step", TP_REC_ALLOC, TP_DEVICE_CPU, 0x32, 1, true, true, true, 1, 5102, 0, 0, -1},
	{"a step after which the ledger has more", TP_REC_STEP, 0, 0, 6, false, false, false, 0, 0, 0, 0, 0},
	{"is not asked where all frees were known", TP_REC_ALLOC, TP_DEVICE_CPU, 0x33, 1, true, true, true, 1,
	 5103, 0, 0, -1},
	{"a step that the ledger lacks", TP_REC_STEP, 0, 0, 50, false, false, false, 0, 0, 0, 0, 0},
	{"changes nothing", TP_REC_ALLOC, TP_DEVICE_CPU, 0x40, 1, true, true, true, 1, 5104, 0, 0,
	 -1},
};

Test(tensors, each_event_says_its_size_device_and_totals)
{
	struct tp_tensors *tensors;
	struct tp_step_row *row;
	struct tp_proc *proc;
	struct fake fake;

	fake_init(&fake);
	fake_step_row(&fake, fake_proc(&fake, 0), 4, 0, 10)->live_bytes = 77;
	proc = fake_proc(&fake, 1);
	fake_step_row(&fake, proc, 3, 0, 10)->live_bytes = 3000;
	fake_step_row(&fake, proc, 4, 10, 10)->live_bytes = 5000;
	row = fake_step_row(&fake, proc, 5, 20, 10);
	row->peak_bytes = 5005;
	row->live_bytes = 6000;
	tensors = tp_tensors_new(&fake.run);
	cr_assert(tensors);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_event event = fake_block(&fake, proc, 0, cases[i].kind, (int64_t)i,
						   cases[i].address, cases[i].bytes);
		struct tp_tensor_change change = {0};

		if (cases[i].kind == TP_REC_STEP)
			event.end_ns = event.begin_ns + 4;
		event.link = cases[i].kind == TP_REC_STEP ? (uint32_t)cases[i].bytes
							  : cases[i].device;
		cr_expect_eq(tp_tensors_note(tensors, &event, &change), cases[i].want, "%s",
			     cases[i].what);
		if (!cases[i].want)
			continue;
		cr_expect_eq(change.address, cases[i].address, "%s", cases[i].what);
		cr_expect_eq(change.is_known, cases[i].want_known, "%s", cases[i].what);
		/* Of the GPU nothing was said before its TOTALS. */
		cr_expect_eq(change.is_total_known, cases[i].want_total, "%s", cases[i].what);
		cr_expect_eq(change.bytes, cases[i].want_bytes, "%s: %ld", cases[i].what,
			     (long)change.bytes);
		cr_expect_eq(change.allocated, cases[i].want_allocated, "%s: %ld", cases[i].what,
			     (long)change.allocated);
		cr_expect_eq(change.reserved, cases[i].want_reserved, "%s: %ld", cases[i].what,
			     (long)change.reserved);
		cr_expect_eq(change.device_type, cases[i].want_type, "%s", cases[i].what);
		cr_expect_eq(change.device_index, cases[i].want_index, "%s", cases[i].what);
	}
	tp_tensors_free(tensors);
}
