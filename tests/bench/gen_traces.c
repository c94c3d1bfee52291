/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_traces.c - trace files with the shape of a training's, without one
 *
 * usage: gen_traces FOLDER N_FILES N_EVENTS [SEED [gpu|host [LAYERS]]]
 *
 * One file a rank, all of one host and one stretch of time. A step: data loader, forward
 * pass (operators three deep with sequence numbers), backward pass on a second thread,
 * optimizer; tensor memory all along, counters of the host now and then. With `gpu` operators
 * launch kernels on a device that follows close behind, and have stacks of Python. LAYERS, 12: the length of
 * a step, some 240 events each, with a device 457. Written through the product's own writer in batches of
 * one thread each, as its drain does. The same arguments give the same bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/writer.h"

enum {
	N_NAMES = 160,
	N_SHAPES = 64,
	TICKS_PER_US = 2100,
	BATCH = 3000,		/* records a thread gathers between two rounds of the drain */
	LAYERS = 12,		/* unless said */
	OPS_A_LAYER = 24,
	N_THREADS = 3,		/* forward, backward, and the drain, which tells of the device */
	N_KERNELS = 90,
	N_LAUNCHES = 200,
	N_FUNCTIONS = 40,
	DEPTH = 15,		/* of stacks: all but the innermost frame are the same */
};

struct string {
	uint32_t kind, n;
	char bytes[96];
};

static struct string strings[N_NAMES + N_SHAPES + N_KERNELS + N_LAUNCHES + N_FUNCTIONS + 16];
static uint32_t n_strings = 1;
static uint32_t id_loader, id_optimizer, id_zero, id_step, id_counter, id_core, id_grad, id_shape;
static uint32_t id_call, id_kernel, id_launch, id_function;	/* 0: no device */

static struct {
	uint64_t now, seed;
	uint64_t n_events, n_wanted, n_steps;
	uint32_t sequence, first_sequence;
	int64_t live_bytes;
	struct tp_rec rec[N_THREADS][BATCH + 64];
	uint32_t n[N_THREADS];
	uint32_t correlation, pid, n_layers;
	uint64_t device_free;
	struct tp_writer writer;
	FILE *ledger;
} gen;

static uint32_t random_below(uint32_t n)
{
	gen.seed = gen.seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((gen.seed >> 33) % n);
}

static uint32_t add_string(uint32_t kind, const char *bytes, uint32_t n)
{
	strings[n_strings].kind = kind;
	strings[n_strings].n = n;
	memcpy(strings[n_strings].bytes, bytes, n);
	return n_strings++;
}

static void make_strings(void)
{
	static const char loader[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
	char text[96];
	int n;

	for (int i = 0; i < N_NAMES; i++) {
		n = snprintf(text, sizeof(text), i < N_NAMES / 2 ? "aten::operator_%d%cTensor"
								  : "aten::leaf_%d%c",
			     i, 0);
		add_string(TP_STRING_OP, text, (uint32_t)n);
	}
	id_grad = add_string(TP_STRING_OP, "AddmmBackward0\0", 15);
	id_loader = add_string(TP_STRING_TEXT, loader, sizeof(loader) - 1);
	id_optimizer = add_string(TP_STRING_TEXT, "Optimizer.step#AdamW.step", 25);
	id_zero = add_string(TP_STRING_TEXT, "Optimizer.zero_grad#AdamW.zero_grad", 35);
	id_step = add_string(TP_STRING_TEXT, "step", 4);
	id_counter = add_string(TP_STRING_COUNTER, "RSS\0B\0memory", 12);
	id_core = add_string(TP_STRING_COUNTER, "core\0%\0cpu", 10);
	id_shape = n_strings;
	for (int i = 0; i < N_SHAPES; i++) {
		char shape[] = {TP_SHAPE_TENSOR, 6, 2, 64, (char)(i + 1), TP_SHAPE_TENSOR, 15, 1,
				(char)(i + 1), TP_SHAPE_SCALAR, TP_SHAPE_NONE};

		add_string(TP_STRING_SHAPES, shape, sizeof(shape));
	}
}

static void make_device_strings(void)
{
	char text[96];

	id_call = add_string(TP_STRING_TEXT, "cudaLaunchKernel", 16);
	id_kernel = n_strings;
	for (int i = 0; i < N_KERNELS; i++)
		add_string(TP_STRING_TEXT, text,
			   (uint32_t)snprintf(text, sizeof(text), "_ZN2at6native%dkernelIfEEvPT_i", i));
	id_launch = n_strings;
	for (uint32_t i = 0; i < N_LAUNCHES; i++) {
		struct tp_launch launch = {
			.place = {0, 1, 7}, .grid = {1 + i * 7, 1, 1}, .block = {128, 1, 1},
			.registers = 32,
		};

		add_string(TP_STRING_LAUNCH, (const char *)&launch, sizeof(launch));
	}
	id_function = n_strings;
	for (int i = 0; i < N_FUNCTIONS; i++)
		add_string(TP_STRING_PYFRAME, text,
			   (uint32_t)snprintf(text, sizeof(text), "Block.forward_%d%c/me/train.py", i, 0));
}

static bool string_of(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
		      uint32_t *n_bytes)
{
	(void)ctx;
	if (!id || id >= n_strings)
		return false;
	*kind = strings[id].kind;
	*bytes = strings[id].bytes;
	*n_bytes = strings[id].n;
	return true;
}

static void take_anchor(void)
{
	/* The machine's own uptime would differ from run to run. */
	gen.writer.anchor = (struct tp_clock_anchor){
		.ticks = gen.now,
		.mono_ns = gen.now * 1000 / TICKS_PER_US,
		.real_ns = 1790000000000000000ull + gen.now * 1000 / TICKS_PER_US,
		.bracket_ticks = 78,
	};
}

static void drain(bool is_all)
{
	for (uint16_t t = 0; t < N_THREADS; t++) {
		if (!is_all && gen.n[t] < BATCH)
			continue;
		take_anchor();
		tp_writer_events(&gen.writer, gen.rec[t], gen.n[t], t);
		gen.n[t] = 0;
	}
}

static void record(uint32_t thread, struct tp_rec rec, uint64_t len)
{
	tp_rec_set_len(&rec, len);
	gen.rec[thread][gen.n[thread]++] = rec;
	gen.n_events++;
	if (gen.n[thread] >= BATCH)
		drain(false);
}

static void pass_time(uint32_t least_us, uint32_t more_us)
{
	/* No two things begin in the same nanosecond on a thread: a call takes longer. */
	gen.now += 100 + least_us * TICKS_PER_US + random_below(more_us * TICKS_PER_US);
}

static void allocate(uint32_t thread)
{
	uint64_t bytes = 64ull << random_below(12), address = 0x7f0000000000ull + gen.n_events * 64;

	gen.live_bytes += (int64_t)bytes;
	record(thread, (struct tp_rec){.time = gen.now, .kind = TP_REC_ALLOC,
				       .link = TP_DEVICE_CPU, .arg = address}, bytes);
	gen.now += 200;
	record(thread, (struct tp_rec){.time = gen.now, .kind = TP_REC_FREE,
				       .link = TP_DEVICE_CPU, .arg = address}, 0);
	gen.live_bytes -= (int64_t)bytes;
}

/* A stack number is a frame's: the innermost ones, one a function, come behind those that all share. */
static void make_stacks(void)
{
	for (uint32_t i = 0; id_function && i < DEPTH - 1 + N_FUNCTIONS; i++)
		record(0, (struct tp_rec){.time = gen.now, .kind = TP_REC_FRAME,
					  .flags = TP_FRAME_PYTHON,
					  .name = id_function + i % N_FUNCTIONS, .link = i + 1,
					  .arg = 100 + i},
		       i < DEPTH ? i : DEPTH - 1);
}

static void launch(uint32_t thread)
{
	uint64_t begin = gen.now;
	uint32_t kernel = random_below(N_KERNELS);

	if (!id_kernel)
		return;
	pass_time(1, 2);
	record(2, (struct tp_rec){.time = begin, .kind = TP_REC_CALL, .name = id_call,
				  .link = ++gen.correlation,
				  .arg = TP_ARG_CALL(gen.pid + thread, 0)}, gen.now - begin);
	if (gen.device_free < gen.now)
		gen.device_free = gen.now;
	gen.device_free += 1000;
	begin = gen.device_free;
	gen.device_free += 1000 + (uint64_t)kernel * 100 + random_below(1000);
	record(2, (struct tp_rec){.time = begin, .kind = TP_REC_KERNEL, .name = id_kernel + kernel,
				  .link = gen.correlation,
				  .arg = id_launch + (kernel * 7 + random_below(2)) % N_LAUNCHES},
	       gen.device_free - begin);
}

/* An operator, two inside it, one inside those: recorded as they end. */
static void operate(uint32_t thread, bool is_backward)
{
	uint64_t outer = gen.now, middle;
	uint32_t name = 1 + random_below(N_NAMES / 2), sequence = gen.sequence;
	uint8_t flags = is_backward ? TP_F_BACKWARD : 0;

	if (id_function && !is_backward)
		record(thread, (struct tp_rec){.time = gen.now, .kind = TP_REC_STACK,
					       .link = DEPTH + name % N_FUNCTIONS}, 0);
	pass_time(0, 2);
	for (int i = 0; i < 2; i++) {
		middle = gen.now;
		pass_time(0, 3);
		if (!i)
			allocate(thread);
		launch(thread);
		pass_time(0, 3);
		record(thread, (struct tp_rec){.time = middle, .kind = TP_REC_OP,
					       .name = 1 + N_NAMES / 2 + name / 2 + (uint32_t)i,
					       .link = is_backward ? TP_NO_SEQ : sequence,
					       .arg = TP_ARG_OP(id_shape + name % N_SHAPES, 0, 0)},
		       gen.now - middle);
		gen.now += 300;
	}
	record(thread, (struct tp_rec){.time = outer, .kind = TP_REC_OP, .flags = flags,
				       .name = is_backward ? id_grad : name, .link = sequence,
				       .arg = TP_ARG_OP(id_shape + name % N_SHAPES, is_backward,
							is_backward)},
	       gen.now - outer);
	pass_time(0, 2);
}

static void range(uint32_t name, uint64_t begin)
{
	record(0, (struct tp_rec){.time = begin, .kind = TP_REC_RANGE, .name = name,
				  .link = TP_NO_SEQ, .arg = TP_ARG_OP(0, 0, 7)}, gen.now - begin);
}

static void train_step(void)
{
	uint64_t begin = gen.now, at = gen.now;
	struct tp_ledger_row row = {.index = gen.n_steps, .batches = 1, .phase = 4, .source = 1};
	char line[TP_LEDGER_LINE_MAX];

	/* As a window begins: what is there is known. */
	if (!gen.n_steps)
		record(0, (struct tp_rec){.time = begin, .kind = TP_REC_TOTALS, .link = TP_DEVICE_CPU},
		       100 << 20);
	pass_time(200, 300);
	range(id_loader, at);
	row.data_wait_ns = (gen.now - at) * 1000 / TICKS_PER_US;
	gen.first_sequence = gen.sequence;
	for (uint32_t i = 0; i < gen.n_layers * OPS_A_LAYER; i++, gen.sequence++)
		operate(0, false);
	for (uint32_t last = gen.sequence; gen.sequence-- > gen.first_sequence;) {
		operate(1, true);
		if (gen.sequence == gen.first_sequence) {
			gen.sequence = last;
			break;
		}
	}
	at = gen.now;
	for (int i = 0; i < OPS_A_LAYER; i++)
		operate(0, false);
	range(id_optimizer, at);
	row.optimizer_ns = (gen.now - at) * 1000 / TICKS_PER_US;
	record(0, (struct tp_rec){.time = begin, .kind = TP_REC_STEP, .name = id_step,
				  .link = (uint32_t)gen.n_steps, .arg = gen.n_steps}, gen.now - begin);
	at = gen.now;
	pass_time(20, 30);
	range(id_zero, at);
	for (uint32_t i = 0; i < 2; i++)
		record(0, (struct tp_rec){.time = gen.now, .kind = TP_REC_COUNTER, .name = id_core,
					  .link = i, .arg = 40 + random_below(50)}, 0);
	record(0, (struct tp_rec){.time = gen.now, .kind = TP_REC_COUNTER, .name = id_counter,
				  .arg = (500ull << 20) + random_below(1 << 20)}, 0);
	record(0, (struct tp_rec){.time = gen.now, .kind = TP_REC_TOTALS, .link = TP_DEVICE_CPU},
	       100 << 20);
	row.begin_ns = begin * 1000 / TICKS_PER_US;
	row.dur_ns = (gen.now - begin) * 1000 / TICKS_PER_US;
	row.live_bytes = row.peak_bytes = 100 << 20;
	fwrite(line, 1, tp_ledger_format_row(line, sizeof(line), &row), gen.ledger);
	gen.n_steps++;
}

static int write_ledger_head(const char *folder, const struct tp_file_head *head)
{
	char path[512], line[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_head ledger = {
		.run_id = head->run_id,
		.boot_id = {head->boot_id[0], head->boot_id[1]},
		.mono_ns = gen.now * 1000 / TICKS_PER_US,
		.real_ns = 1790000000000000000ull + gen.now * 1000 / TICKS_PER_US,
		.rank = head->rank, .local_rank = head->local_rank,
		.world_size = head->world_size, .node_rank = 0,
		.pid = head->pid, .host = "generated",
	};

	snprintf(path, sizeof(path), "%s/rank%d.steps", folder, head->rank);
	gen.ledger = fopen(path, "w");
	if (!gen.ledger)
		return -errno;
	fwrite(line, 1, tp_ledger_format_head(line, sizeof(line), &ledger), gen.ledger);
	return 0;
}

static int write_rank(const char *folder, uint32_t rank, uint32_t n_ranks)
{
	static const char meta[] = "program=file:/generated/train.py\nhost=generated\n";
	struct tp_thread_entry thread[N_THREADS] = {
		{.slot = 0, .tid = 5000 + rank * 10, .torch_id = 1, .flags = 1, .name = "python"},
		{.slot = 1, .tid = 5001 + rank * 10, .torch_id = 2, .name = "pt_autograd_0"},
		{.slot = 2, .tid = 5002 + rank * 10, .name = "trainprof"},
	};
	struct tp_file_head head = {
		.boot_id = {0x1234, 0x5678}, .run_id = 0xabc0 + rank, .pid = 5000 + rank * 10,
		.rank = (int32_t)rank, .local_rank = (int32_t)rank, .world_size = (int32_t)n_ranks,
		.node_rank = 0, .clock_source = TP_CLOCK_TSC,
	};
	char path[512], totals[64];
	int err;

	snprintf(path, sizeof(path), "%s/rank%u.0.tpt", folder, rank);
	/* Ranks begin within a millisecond of each other. */
	gen.now = 10000000ull * TICKS_PER_US + random_below(1000 * TICKS_PER_US);
	gen.n_events = gen.n_steps = gen.n[0] = gen.n[1] = gen.n[2] = 0;
	gen.sequence = 1;
	gen.pid = head.pid;
	gen.correlation = 0;
	gen.device_free = 0;
	err = write_ledger_head(folder, &head);
	if (err)
		return err;
	take_anchor();
	err = tp_writer_open(&gen.writer, path, &head, meta, sizeof(meta) - 1);
	if (err)
		return err;
	tp_writer_threads(&gen.writer, thread, id_kernel ? N_THREADS : 2);
	make_stacks();
	while (gen.n_events < gen.n_wanted)
		train_step();
	drain(true);
	snprintf(totals, sizeof(totals), "events=%llu\n", (unsigned long long)gen.n_events);
	fclose(gen.ledger);
	return tp_writer_close(&gen.writer, totals, (uint32_t)strlen(totals));
}

int main(int argc, char **argv)
{
	struct tp_arena arena;
	uint64_t total = 0;
	int err;

	if (argc < 4) {
		fprintf(stderr, "usage: gen_traces FOLDER N_FILES N_EVENTS [SEED [gpu|host [LAYERS]]]\n");
		return 2;
	}
	gen.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	gen.n_wanted = strtoull(argv[3], NULL, 10);
	gen.n_layers = argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 10) : LAYERS;
	make_strings();
	if (argc > 5 && !strcmp(argv[5], "gpu"))
		make_device_strings();
	err = tp_file_make_dirs(argv[1], 0777);
	if (!err)
		err = tp_arena_init(&arena, 64 << 20);
	if (!err)
		err = tp_writer_init(&gen.writer, &arena, n_strings, string_of, NULL);
	gen.writer.long_ticks = TP_LONG_NS / 1000 * TICKS_PER_US;
	for (uint32_t i = 0; i < strtoul(argv[2], NULL, 10) && !err; i++) {
		err = write_rank(argv[1], i, (uint32_t)strtoul(argv[2], NULL, 10));
		total += gen.n_events;
	}
	if (err)
		fprintf(stderr, "gen_traces: %s\n", strerror(-err));
	else
		printf("%llu events in %s files\n", (unsigned long long)total, argv[2]);
	return err ? 1 : 0;
}
