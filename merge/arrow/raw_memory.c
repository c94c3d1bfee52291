/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_memory.c - tables of memory: lives of tensor blocks, and the host's heap by stack
 */
#include "merge/arrow/raw.h"
#include "merge/facts/heap/hostmem.h"
#include "merge/facts/tensor/memcat.h"
#include "merge/facts/time/names.h"

/* ---- tensors ---- */

struct tensor {
	int64_t process_at, rank, window, device_type, device, address, bytes, begin_ns, dur_ns, step, line;
	int64_t stack, is_older, is_alive, is_internal, is_rest;
	const char *category, *name, *operator, *module, *file, *function;
};

static const struct tp_raw_column tensor_columns[] = {
	TP_RAW(struct tensor, process_at, TP_UNIT_NUMBER, "of the table processes"),
	TP_RAW(struct tensor, rank, TP_UNIT_NUMBER, "rank in the job"),
	TP_RAW(struct tensor, window, TP_UNIT_NUMBER, "window that recorded it"),
	TP_RAW(struct tensor, device_type, TP_UNIT_NUMBER, "PyTorch's DeviceType: 0 CPU, 1 CUDA..."),
	TP_RAW(struct tensor, device, TP_UNIT_NUMBER, "index of the device; none: of the host"),
	TP_RAW(struct tensor, address, TP_UNIT_NUMBER, "of the block; none: of the rest"),
	TP_RAW(struct tensor, bytes, TP_UNIT_BYTES, "of the block"),
	TP_RAW(struct tensor, begin_ns, TP_UNIT_NS, "when it was allocated, or its window or category began"),
	TP_RAW(struct tensor, dur_ns, TP_UNIT_NS, "until it was freed, its category changed, or its window ended"),
	TP_RAW_NAME(struct tensor, category, "parameter, gradient, activation..."),
	TP_RAW_NAME(struct tensor, name, "name of the tensor, where an optimizer names it"),
	TP_RAW_NAME(struct tensor, operator, "operator that allocated it; none: not known"),
	TP_RAW(struct tensor, module, TP_UNIT_TEXT, "path of the nn.Module that called that"),
	TP_RAW_NAME(struct tensor, file, "source file of the innermost Python frame that called it"),
	TP_RAW(struct tensor, line, TP_UNIT_NUMBER, "line in that file"),
	TP_RAW_NAME(struct tensor, function, "function of that line"),
	TP_RAW(struct tensor, stack, TP_UNIT_NUMBER, "its Python stack, of the table stacks"),
	TP_RAW(struct tensor, step, TP_UNIT_NUMBER, "step of the run in which it was allocated"),
	TP_RAW(struct tensor, is_older, TP_UNIT_COUNT, "1: it was there when its window began"),
	TP_RAW(struct tensor, is_alive, TP_UNIT_COUNT, "1: it was there when its window ended"),
	TP_RAW(struct tensor, is_internal, TP_UNIT_COUNT,
	       "1: freed before the operator that needed it ended, or a collective's own"),
	TP_RAW(struct tensor, is_rest, TP_UNIT_COUNT,
	       "1: no block: all that was there when its window began and has no row of its own"),
	{.field = NULL},
};

struct tensors {
	struct tp_raw_rows *rows;
	struct tp_memcat *cat;
	char module[1024];
};

/* Where the program allocated it. */
static void place_tensor(struct tensors *state, struct tensor *row, const struct tp_origin *origin)
{
	struct tp_origins *origins = tp_memcat_origins(state->cat);
	struct tp_frame frame;

	if (origin->path)
		row->module = tp_module_title(tp_origins_paths(origins), origin->path, false, state->module,
					      sizeof(state->module));
	if (!origin->stack)
		return;
	row->stack = origin->stack;
	if (!tp_stacks_innermost(tp_origins_stacks(origins), origin->stack, &frame, 1) || !frame.is_python)
		return;
	row->function = frame.function;
	row->file = frame.file;
	row->line = frame.line;
}

static void put_part(struct tensors *state, const struct tp_life *life)
{
	const struct tp_names *names = tp_memcat_names(state->cat);
	uint32_t index = life->device & 0xff;
	struct tensor row = {
		.process_at = life->proc->at, .rank = tp_raw_rank(life->proc), .window = life->window,
		.device_type = life->device >> 8, .device = index == 0xff ? TP_RAW_NONE : index,
		.address = life->is_sum ? TP_RAW_NONE : (int64_t)life->address, .bytes = life->bytes,
		.begin_ns = life->begin_ns, .dur_ns = life->end_ns - life->begin_ns,
		.category = tp_memcat_word(life->category),
		.name = life->label && life->label->n_bytes ? life->label->bytes : NULL,
		.operator = life->name == TP_NO_NAME ? NULL : tp_names_at(names, life->name)->bytes,
		.step = life->step == TP_NO_STEP ? TP_RAW_NONE : (int64_t)life->step,
		.line = TP_RAW_NONE, .stack = TP_RAW_NONE, .is_older = life->is_older,
		.is_alive = life->is_alive, .is_internal = life->is_internal, .is_rest = life->is_sum,
	};

	place_tensor(state, &row, &life->origin);
	tp_raw_rows_put(state->rows, &row);
}

static void put_life(void *ctx, const struct tp_life *life)
{
	struct tp_life part[TP_LIFE_PARTS];
	uint32_t n = tp_life_parts(life, part);

	for (uint32_t i = 0; i < n; i++)
		put_part(ctx, &part[i]);
}

static void take_live(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes)
{
	/* The blocks themselves say it. */
}

static void begin_tensors(void *opaque, struct tp_facts *facts, const void *params)
{
	static const struct tp_memcat_calls calls = {.live = take_live, .life = put_life};
	struct tensors *state = opaque;

	state->rows = ((const struct tp_raw_to *)params)->rows;
	state->cat = tp_facts_want(facts, &tp_fact_memcat, NULL);
	tp_memcat_read(state->cat, &calls, state);
}

static const struct tp_fact fact_tensors = {
	.name = "rows of tensors", .bytes = sizeof(struct tensors), .params_bytes = sizeof(struct tp_raw_to),
	.begin = begin_tensors,
};

const struct tp_raw tp_raw_tensors = {
	.name = "tensors", .help = "lives of blocks of tensor memory, in parts of one category each",
	.column = tensor_columns, .fact = &fact_tensors,
};

/* ---- the heap ---- */

struct heap {
	int64_t process_at, rank, stack, allocations, allocated_bytes, peak_blocks, peak_bytes, end_blocks,
		end_bytes, stayed_blocks, stayed_bytes, stayed_steps, temporary, temporary_bytes;
	double error_bytes;
};

static const struct tp_raw_column heap_columns[] = {
	TP_RAW(struct heap, process_at, TP_UNIT_NUMBER, "of the table processes"),
	TP_RAW(struct heap, rank, TP_UNIT_NUMBER, "rank in the job"),
	TP_RAW(struct heap, stack, TP_UNIT_NUMBER, "of the table stacks; none: not known"),
	TP_RAW(struct heap, allocations, TP_UNIT_COUNT, "allocations, estimated where they were sampled"),
	TP_RAW(struct heap, allocated_bytes, TP_UNIT_BYTES, "bytes of these"),
	TP_RAW(struct heap, error_bytes, TP_UNIT_REAL, "standard error of those bytes; 0: exact"),
	TP_RAW(struct heap, peak_blocks, TP_UNIT_COUNT, "blocks held when the process held most"),
	TP_RAW(struct heap, peak_bytes, TP_UNIT_BYTES, "bytes of these"),
	TP_RAW(struct heap, end_blocks, TP_UNIT_COUNT, "blocks held at the end of the last window"),
	TP_RAW(struct heap, end_bytes, TP_UNIT_BYTES, "bytes of these"),
	TP_RAW(struct heap, stayed_blocks, TP_UNIT_COUNT,
	       "of those: allocated in a step, and still there two steps later"),
	TP_RAW(struct heap, stayed_bytes, TP_UNIT_BYTES, "bytes of these"),
	TP_RAW(struct heap, stayed_steps, TP_UNIT_COUNT, "steps in which they were allocated"),
	TP_RAW(struct heap, temporary, TP_UNIT_COUNT, "freed before the next allocation of their thread"),
	TP_RAW(struct heap, temporary_bytes, TP_UNIT_BYTES, "bytes of these"),
	{.field = NULL},
};

struct heaps {
	struct tp_raw_rows *rows;
	const struct tp_run *run;
	struct tp_hostmem *mem;
};

static void begin_heap(void *opaque, struct tp_facts *facts, const void *params)
{
	struct heaps *state = opaque;

	state->rows = ((const struct tp_raw_to *)params)->rows;
	state->run = tp_facts_run(facts);
	state->mem = tp_hostmem_want(facts, false);
}

static void end_heap(void *opaque)
{
	struct heaps *state = opaque;
	uint32_t n;
	const struct tp_hostmem_row *row = tp_hostmem_rows(state->mem, &n);

	for (uint32_t i = 0; i < n; i++)
		tp_raw_rows_put(state->rows, &(struct heap){
			.process_at = row[i].proc, .rank = tp_raw_rank(state->run->proc[row[i].proc]),
			.stack = row[i].stack ? row[i].stack : TP_RAW_NONE,
			.allocations = (int64_t)row[i].n_allocs,
			.allocated_bytes = (int64_t)row[i].alloc_bytes,
			.error_bytes = row[i].error_bytes, .peak_blocks = (int64_t)row[i].peak_blocks,
			.peak_bytes = (int64_t)row[i].peak_bytes, .end_blocks = (int64_t)row[i].end_blocks,
			.end_bytes = (int64_t)row[i].end_bytes,
			.stayed_blocks = (int64_t)row[i].leaked_blocks,
			.stayed_bytes = (int64_t)row[i].leaked_bytes, .stayed_steps = row[i].n_leaked_steps,
			.temporary = (int64_t)row[i].n_temporary,
			.temporary_bytes = (int64_t)row[i].temporary_bytes,
		});
}

static const struct tp_fact fact_heap = {
	.name = "rows of the heap", .bytes = sizeof(struct heaps), .params_bytes = sizeof(struct tp_raw_to),
	.begin = begin_heap, .end = end_heap,
};

const struct tp_raw tp_raw_heap = {
	.name = "heap", .help = "blocks of the host's heap and mappings, by process and stack, in recorded windows",
	.column = heap_columns, .fact = &fact_heap,
};
