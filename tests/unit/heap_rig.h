/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_rig.h - stacks with names and costs made by hand, for tests of the formats of host memory
 *
 * Stack 1 is at::empty inlined into at::native::empty_like, below Python; stack 2 the same from
 * the next line of Python and another address; stack 3 has names that no format can take as they
 * are; stack 4 is of code without symbols, its callers are not known; stack 0 is none.
 */
#ifndef TP_TESTS_HEAP_RIG_H
#define TP_TESTS_HEAP_RIG_H

#include <criterion/criterion.h>

#include "merge/facts/heap/heapcost.h"
#include "merge/sink/flamefiles.h"
#include "tests/unit/gpu_rig.h"

#define HEAP_CODE "/lib/libtorch_cpu.so"
#define HEAP_PYTHON "/usr/bin/python3"
static const struct tp_frame heap_frames[][7] = {
	{{.function = NULL}},
	{{.function = "alloc_cpu(unsigned long)", .file = "alloc.cpp", .module = "/lib/libc10.so",
	  .offset = 0x100, .line = 92, .function_id = 1},
	 {.function = "at::empty(int; int)", .file = "Empty.h", .module = HEAP_CODE,
	  .offset = 0x2000, .line = 11, .function_id = 2, .is_inlined = true},
	 {.function = "at::native::empty_like", .file = "Tensor.cpp", .module = HEAP_CODE,
	  .offset = 0x2000, .line = 300, .function_id = 3},
	 {.function = "Net.forward", .file = "/x/model/net.py", .module = "", .line = 12,
	  .function_id = 4, .is_python = true},
	 {.function = "<module>", .file = "/x/train.py", .module = "", .line = 40,
	  .function_id = 5, .is_python = true},
	 {.function = "_start", .file = "", .module = HEAP_PYTHON, .offset = 0x99, .function_id = 6}},
	{{.function = "alloc_cpu(unsigned long)", .file = "alloc.cpp", .module = "/lib/libc10.so",
	  .offset = 0x100, .line = 92, .function_id = 1},
	 {.function = "at::empty(int; int)", .file = "Empty.h", .module = HEAP_CODE,
	  .offset = 0x2010, .line = 11, .function_id = 2, .is_inlined = true},
	 {.function = "at::native::empty_like", .file = "Tensor.cpp", .module = HEAP_CODE,
	  .offset = 0x2010, .line = 300, .function_id = 3},
	 {.function = "Net.forward", .file = "/x/model/net.py", .module = "", .line = 13,
	  .function_id = 4, .is_python = true},
	 {.function = "<module>", .file = "/x/train.py", .module = "", .line = 40,
	  .function_id = 5, .is_python = true},
	 {.function = "_start", .file = "", .module = HEAP_PYTHON, .offset = 0x99, .function_id = 6}},
	{{.function = "take 12", .file = "", .module = HEAP_CODE, .offset = 0x3000, .function_id = 7,
	  .is_inlined = true},	/* into nothing that has its address */
	 {.function = "#a\nb\t\"c\"\\;\xff<d>&\xe2\x80\xae", .file = "q\"\n.c", .module = HEAP_CODE,
	  .offset = 0x3100, .line = 1, .function_id = 8}},
	{{.function = "", .file = "", .module = HEAP_CODE, .offset = 0x4000},
	 {.function = "", .file = "", .module = HEAP_CODE, .offset = 0x4100},
	 {.function = "", .file = "", .module = "", .offset = 0, .is_cut = true}},
};
static const uint32_t heap_depth[] = {0, 6, 6, 2, 3};

static inline uint32_t heap_frames_of(const void *stacks, uint32_t stack, struct tp_frame *frame,
				      uint32_t max)
{
	/* From 1000 on: a recursion of 300 frames, the innermost one different in each. */
	if (stack >= 1000) {
		for (uint32_t i = 0; i < 300 && i < max; i++)
			frame[i] = (struct tp_frame){.function = "f", .file = "f.c", .module = "/f",
						     .function_id = 10 + (i ? 0 : stack),
						     .line = i ? 1 : stack, .offset = i ? 1 : stack};
		return 300;
	}
	for (uint32_t i = 0; i < heap_depth[stack] && i < max; i++)
		frame[i] = heap_frames[stack][i];
	return heap_depth[stack];
}

enum { HEAP_PROCS = 3 };
static struct tp_proc heap_proc[HEAP_PROCS];
static struct tp_proc *heap_procs[HEAP_PROCS];
static struct tp_window heap_window;
static struct tp_run heap_run;

/* Rows of a run of so many processes. */
static inline struct tp_heap_rows heap_rows(struct tp_hostmem_row *row, uint32_t n,
					    uint32_t n_procs)
{
	for (uint32_t i = 0; i < n_procs; i++) {
		heap_proc[i] = (struct tp_proc){.at = i, .rank = (int32_t)i, .pid = 1000 + i,
						.program = "/x/train.py"};
		heap_procs[i] = &heap_proc[i];
	}
	heap_window = (struct tp_window){.proc = heap_procs[0], .end_ns = 5000};
	heap_run = (struct tp_run){.path = "trainprof-run", .proc = heap_procs,
				   .n_procs = n_procs, .window = &heap_window, .n_windows = 1,
				   .zero_real_ns = 1790000000000000000ull};
	return (struct tp_heap_rows){.run = &heap_run, .row = row, .n_rows = n,
				     .frames = heap_frames_of};
}

/* Of one process. Figures differ from cost to cost: a mix-up shows. */
static struct tp_hostmem_row heap_row[] = {
	{.stack = 1, .n_allocs = 10, .alloc_bytes = 1000, .peak_blocks = 4, .peak_bytes = 400,
	 .n_temporary = 3, .temporary_bytes = 300},
	{.stack = 2, .n_allocs = 2, .alloc_bytes = 70, .peak_blocks = 1, .peak_bytes = 30,
	 .end_blocks = 1, .end_bytes = 30},
	{.stack = 3, .n_allocs = 1, .alloc_bytes = 8, .peak_bytes = 8, .peak_blocks = 1},
	{.stack = 4, .n_allocs = 5, .alloc_bytes = 50},
	{.stack = 0, .n_allocs = 7, .alloc_bytes = 7},
};
enum { HEAP_ROWS = sizeof(heap_row) / sizeof(heap_row[0]) };

#endif
