/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make.c - wrote the golden traces: make TRACE.tpt >LISTING.txt
 *
 * A trace with something of everything that the format has. It is run once for each
 * version of the format, as it was then; its files are never written again, whatever
 * becomes of the writer: what was read from them once must be read from them for ever
 * (tests/unit/golden.c).
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/trace/writer.h"
#include "tests/golden/listing.h"
#include "tests/unit/synth_heap.h"

static const struct tp_launch launch = {
    .place = {1, 2, 7}, .graph = 3, .graph_node = 0x300000005, .grid = {132, 2, 1},
    .block = {256, 1, 1}, .cluster = {2, 1, 1}, .registers = 168, .shared_static = 1024,
    .shared_dynamic = 65536, .local_per_thread = 8,
};
static const struct tp_transfer copy = {
    .place = {1, 2, 20}, .copy_kind = 1, .from_kind = 2, .to_kind = 3, .is_async = 1,
    .from_device = 1, .to_device = 1,
};
static const struct tp_transfer set = {
    .place = {1, 2, 7}, .to_kind = 3, .from_device = 1, .to_device = 1, .value = 0xff,
};
static const struct tp_sync_what sync = {
    .place = {1, 2, TP_NO_STREAM}, .kind = TP_SYNC_CONTEXT,
};
static const struct {
	struct tp_devmem_what what;
	char owner[16];
} owned = {{.device = 1, .kind = TP_DEVMEM_POOL, .is_async = 1, .pool = 0x5500}, "/x/libnccl.so.2"};
static const char device[] =
    "id=1\nname=NVIDIA H100 80GB HBM3\nmajor=9\nminor=0\nsms=132\nwarp_threads=32\n"
    "sm_threads=2048\nsm_registers=65536\nsm_shared=233472\nblock_threads=1024\n"
    "block_registers=65536\nblock_shared=49152\nblock_shared_optin=232448\n"
    "memory_bytes=85031714816\nclock_khz=1980000\n";
static const struct {
	struct tp_module what;
	char id_and_path[35];
} module = {{.bias = 0x7f0000000000, .begin = 0x7f0000000000, .end = 0x7f0000200000, .from = 19000,
	     .to = 22000, .build_id_bytes = 20}, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24/lib/libc.so.6"};
static const struct {
	struct tp_mapping what;
	char path[12];
} mapping = {{.kind = TP_MAPPING_SHM, .is_shared = 1, .is_writable = 1}, "/dev/shm/x-1"};

static const struct {
	struct tp_communicator what;
	char name[5];
} comm = {{.hash = 0xc0ffee, .rank = 3, .n_ranks = 8, .n_nodes = 2, .interface = 5}, "dp_1"};
static const struct {
	struct tp_coll what;
	char texts[37];
} coll = {{.hash = 0xc0ffee, .stream = 0x77, .rank = 3, .n_ranks = 8, .root = -1, .element_bytes = 2,
	   .channels = 8, .warps = 16}, "AllReduce\0ncclBfloat16\0RING\0LL128\0dp"};
static const struct {
	struct tp_xfer what;
	char func[10];
} xfer = {{.hash = 0xc0ffee, .rank = 3, .peer = 4, .channel = 1, .is_send = 1}, "AllReduce"};

static bool find_string(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
			uint32_t *n)
{
	static const struct {
		uint32_t kind, n;
		const char *bytes;
	} string[] = {
	    {TP_STRING_OP, 10, "aten::mul\0"},
	    {TP_STRING_OP, 16, "aten::add\0Tensor"},
	    {TP_STRING_TEXT, 9, "Optimizer"},
	    {TP_STRING_TEXT, 6, "\xc3\xa9t\xc3\xa9\n"},
	    {TP_STRING_SHAPES, 10, "\1\6\2\x80\1\3\2\0\3\5"},
	    {TP_STRING_COUNTER, 14, "cpu\0%\0process\0"},
	    {TP_STRING_TEXT, 0, ""},
	    {TP_STRING_TEXT, 16, "cudaLaunchKernel"},
	    {TP_STRING_TEXT, 12, "_Z4gemmPfS_i"},
	    {TP_STRING_LAUNCH, sizeof(launch), (const char *)&launch},
	    {TP_STRING_LAUNCH, 12, "\0\0\0\0\1\0\0\0\7\0\0\0"}, /* all else is zero */
	    {TP_STRING_TRANSFER, sizeof(copy), (const char *)&copy},
	    {TP_STRING_TRANSFER, sizeof(set), (const char *)&set},
	    {TP_STRING_SYNC, sizeof(sync), (const char *)&sync},
	    {TP_STRING_DEVMEM, sizeof(owned), (const char *)&owned},
	    {TP_STRING_DEVICE, sizeof(device) - 1, device},
	    {TP_STRING_MODULE, sizeof(struct tp_module) + 34, (const char *)&module},
	    {TP_STRING_MAPPING, sizeof(struct tp_mapping) + 12, (const char *)&mapping},
	    {TP_STRING_PYFRAME, 21, "Net.forward\0/x/net.py"},
	    {TP_STRING_COMM, sizeof(comm.what) + 4, (const char *)&comm},
	    {TP_STRING_COLL, sizeof(coll.what) + 36, (const char *)&coll},
	    {TP_STRING_XFER, sizeof(xfer.what) + 9, (const char *)&xfer},
	    {TP_STRING_NNMODULE, 15, "blocks.0\0Linear"},
	    {TP_STRING_SHAPES, 14, "\1\6\1\4\6\11\4\10\0\0tp\0mp"},
	};
	static char name[32];

	if (id <= SYNTH_OPS) {
		*kind = TP_STRING_OP;
		*n = (uint32_t)snprintf(name, sizeof(name), "aten::op%u", id) + 1;
		*bytes = name;
		return true;
	}
	id -= SYNTH_OPS + 1;
	if (id >= sizeof(string) / sizeof(string[0]))
		return false;
	*kind = string[id].kind;
	*n = string[id].n;
	*bytes = string[id].bytes;
	return true;
}

enum { TEXT = SYNTH_OPS + 3, SHAPES = SYNTH_OPS + 5, COUNTER = SYNTH_OPS + 6 };
enum {
	CALL = SYNTH_OPS + 8,
	KERNEL = SYNTH_OPS + 9,
	LAUNCH = SYNTH_OPS + 10,
	COPY = SYNTH_OPS + 12,
	SET = SYNTH_OPS + 13,
	SYNC = SYNTH_OPS + 14,
	DEVMEM = SYNTH_OPS + 15,
	DEVICE = SYNTH_OPS + 16,
	MODULE = SYNTH_OPS + 17,
	MAPPING = SYNTH_OPS + 18,
	PYFRAME = SYNTH_OPS + 19,
	COMM = SYNTH_OPS + 20,
	COLL = SYNTH_OPS + 21,
	XFER = SYNTH_OPS + 22,
	NNMODULE = SYNTH_OPS + 23,
	GROUP = SYNTH_OPS + 24,
};

/* Begin, length, kind, flags, name, link, arg: every kind, every flag, and edges. */
static const struct {
	uint64_t time, len;
	uint8_t kind, flags;
	uint32_t name, link;
	uint64_t arg;
} row[] = {
    {9000, 5, TP_REC_OP, 0, 1, TP_NO_SEQ, 0},
    {8990, 40, TP_REC_OP, TP_F_BACKWARD, 2, 17, TP_ARG_OP(SHAPES, 3, 7)},
    {8000, 1100, TP_REC_RANGE, TP_F_EARLY, TEXT, TP_NO_SEQ, 0},
    {5, 9200, TP_REC_RANGE, TP_F_ASYNC, TEXT + 1, TP_NO_SEQ, TP_ARG_OP(0, 65535, 255)},
    {7000, 3000, TP_REC_STEP, TP_F_CLOCK, TEXT, 4, 1ull << 32 | 4},
    {10000, 3000, TP_REC_STEP, TP_F_SKIPPED, TEXT, 5, 1ull << 32 | 5},
    {13000, 64, TP_REC_ALLOC, 0, 0, TP_DEVICE_CPU, 0x7f0000001000},
    {13001, 64, TP_REC_ALLOC, TP_F_SHARED, 0, TP_DEVICE(1, 3), 0x7f0000002000},
    {13002, 64, TP_REC_FREE, 0, 0, TP_DEVICE_CPU, 0x7f0000001000},
    {13003, 0, TP_REC_FREE, 0, 0, TP_DEVICE_CPU, 0x7e0000000000},
    {13004, 128, TP_REC_ALLOC, 0, 0, TP_DEVICE_CPU, 0x7f0000001000},
    {13005, 1 << 20, TP_REC_TOTALS, 0, 0, TP_DEVICE(1, 3), 1 << 21},
    {13006, 3 << 20, TP_REC_TOTALS, 0, 0, TP_DEVICE(1, 3), 1 << 21},
    {13007, 0, TP_REC_COUNTER, 0, COUNTER, 2, (uint64_t)-5},
    {13008, 0, TP_REC_COUNTER, TP_F_DOUBLE, COUNTER, 3, 0x3ff8000000000000},
    {13009, 0, TP_REC_MARK, 0, TEXT + 3, 1, 42},
    {12000, 0, TP_REC_MARK, 0, TEXT, 0, 0}, /* back in time */
    {UINT64_MAX, TP_LEN_MAX, TP_REC_OP, 255, UINT32_MAX, 0, UINT64_MAX},
    {0, 0, TP_REC_OP, TP_F_OPEN, 0, 0xfffffffe, 0},
    {14000, 20000000, TP_REC_OP, TP_F_OPEN, 2, 18, 0}, /* long */
    {14001, 77, 200, 3, 4, 5, 6},		       /* of a kind not invented yet */
    {14002, 78, 200, 3, 4, 7, 9},
    /* A thread's calls, then what they started: a new run, though of the same thread. */
    {20000, 30, TP_REC_CALL, 0, CALL, 1000, TP_ARG_CALL(4242, 0)},
    {20050, 30, TP_REC_CALL, TP_F_DRIVER, CALL, 1001, TP_ARG_CALL(4250, 700)},
    {20100, 30, TP_REC_CALL, TP_F_OPEN, CALL, 1002, TP_ARG_CALL(4242, 0)},
    {20150, 900, TP_REC_OVERHEAD, 0, TEXT, 0, 4242},
    {20035, 400, TP_REC_KERNEL, 0, KERNEL, 1000, LAUNCH},
    {20440, 410, TP_REC_KERNEL, TP_F_PARTIAL, KERNEL, 1001, LAUNCH},
    {20855, 390, TP_REC_KERNEL, TP_F_AFTER, KERNEL, 1002, LAUNCH + 1},
    {20460, 50, TP_REC_MEMCPY, 0, COPY, 1003, 4096},
    {20600, 20, TP_REC_MEMSET, TP_F_AFTER, SET, 1004, 1 << 20},
    {20700, 40, TP_REC_SYNC, 0, SYNC, 1005, 3ull << 32 | 9},
    {21000, 5000, TP_REC_GRAPH, TP_F_EARLY | TP_F_AFTER, LAUNCH, 1006, 3},
    {20200, 1 << 21, TP_REC_DEVALLOC, 0, DEVMEM, 1007, 0x7f0000000000},
    {20300, 0, TP_REC_DEVFREE, 0, DEVMEM, 0, 0x7f0000000000},
    {22000, 700, TP_REC_COLL, TP_F_ENQUEUED, COLL, 11, 300ull << 48 | 8192},
    {22010, 900, TP_REC_COLL, TP_F_ASYNC | TP_F_AFTER, COLL, TP_NO_SEQ, 4096},
    {22100, 600, TP_REC_XFER, 0, XFER, 11, 64ull << 56 | 128ull << 48 | 32ull << 40 | 8192},
    {22800, 500, TP_REC_RANGE, TP_F_ASYNC, TEXT, 1500, TP_ARG_OP(GROUP, 0, 7)},
    {23000, 0, TP_REC_STACK, 0, 0, 6, 0},
    {23010, 0, TP_REC_STACK, TP_STACK_CALL, 0, 7, 0},
    {23020, 0, TP_REC_NNMODULE, 0, NNMODULE, 9, 0},
    {23030, 1024, TP_REC_CATEGORY, 1, TEXT, TP_DEVICE_CPU, 0x7f0000001000},
    {23031, 2048, TP_REC_CATEGORY, 2, 0, 0xffff, 0x7f0000002000},
    {23040, 300, TP_REC_SCAN, 0, TEXT, 2, 1},
    {23100, 40, TP_REC_EXCHANGE, 0, TEXT, 12, 0x1234},
    {20900, 30000000, TP_REC_KERNEL, TP_F_AFTER, KERNEL, 0xffffffff, LAUNCH},
    /* Stacks 1 to 3 of native code, 4 and 5 of Python, 6 both; what is at them. */
    {30000, 0, TP_REC_FRAME, TP_FRAME_CUT, 0, 1, 0x7f0000000123},
    {30000, 1, TP_REC_FRAME, 0, 0, 2, 0x7f0000000456},
    {30000, 2, TP_REC_FRAME, TP_FRAME_EXACT, 0, 3, 0x7f0000000123},
    {30000, 0, TP_REC_FRAME, TP_FRAME_PYTHON, PYFRAME, 4, 0},
    {30000, 4, TP_REC_FRAME, TP_FRAME_PYTHON | TP_FRAME_ENTRY, PYFRAME, 5, 17},
    {30000, 2, TP_REC_FRAME, TP_FRAME_JOINED, 0, 6, 5},
    {30000, 6, TP_REC_FRAME, TP_FRAME_MODULE, 0, 7, TP_ARG_MODULE(9)},
    {30000, 100, TP_REC_HEAPALLOC, 0, 0, 6, 0x5500000010},
    {30010, 0, TP_REC_HEAPALLOC, 0, 0, 0, 0},
    {30020, 0, TP_REC_HEAPFREE, TP_F_MOVED, 0, 0, 0x5500000010},
    {30030, 200, TP_REC_HEAPALLOC, TP_F_MOVED, 0, 3, 0x5500000010},
    {30040, 100, TP_REC_HEAPALLOC, TP_F_SAMPLED, 0, 6, 0x5500001008},
    {30050, 0, TP_REC_HEAPFREE, TP_F_SAMPLED, 0, 0, 0x5500001008},
    {30050, 101, TP_REC_HEAPALLOC, 0, 0, 6, 0x5500001008},
    {30045, 0, TP_REC_HEAPFREE, 0, 0, 0, 0x5600000000}, /* back in time; from before */
    {30060, 1 << 20, TP_REC_MAP, 0, MAPPING, 6, 0x7f2000000000},
    {30070, 4096, TP_REC_UNMAP, TP_F_MOVED, 0, 3, 0x7f2000000000},
    {30080, 0, TP_REC_HEAPFREE, 255, 0, 9, 0x5500001008}, /* what no writer means */
    {30090, 6, TP_REC_FRAME, 0, 0, 70000, 0x7f0000000456},
    {UINT64_MAX, TP_LEN_MAX, TP_REC_HEAPALLOC, 0, 0, UINT32_MAX, UINT64_MAX},
};

enum { N_ROWS = sizeof(row) / sizeof(row[0]) };

static void fill_rows(struct tp_rec *rec)
{
	for (uint32_t i = 0; i < N_ROWS; i++) {
		rec[i] = (struct tp_rec){.time = row[i].time,
					 .kind = row[i].kind,
					 .flags = row[i].flags,
					 .name = row[i].name,
					 .link = row[i].link,
					 .arg = row[i].arg};
		tp_rec_set_len(&rec[i], row[i].len);
	}
}

int main(int argc, char **argv)
{
	static struct tp_writer writer;
	static struct synth synth;
	static struct synth_heap heap;
	static struct tp_rec rec[SYNTH_STEP_MAX];
	const struct tp_file_head head = {
	    .boot_id = {0x0123456789abcdef, 0xfedcba9876543210},
	    .run_id = 0x1122334455667788,
	    .pid = 4242,
	    .window = 1,
	    .rank = 3,
	    .local_rank = 1,
	    .world_size = 8,
	    .node_rank = -1,
	    .clock_source = TP_CLOCK_TSC,
	    .restart = 2,
	};
	const struct tp_thread_entry entry[2] = {
	    {.slot = 0, .tid = 4242, .torch_id = 1, .flags = 1, .name = "python"},
	    {.slot = 300, .tid = 4250, .name = "pt_autograd_0"},
	};
	const char meta[] = "host=example\nprogram=train.py --epochs=2\n";
	struct tp_arena arena;
	int err;

	if (argc != 2 || tp_arena_init(&arena, 64 << 20) ||
	    tp_writer_init(&writer, &arena, 1000, find_string, NULL))
		return 2;
	writer.anchor = (struct tp_clock_anchor){1000, 2000, 1790000000000000000, 78};
	writer.dropped = 6;
	err = tp_writer_open(&writer, argv[1], &head, meta, sizeof(meta) - 1);
	tp_writer_threads(&writer, entry, 2);

	/* A piece of a training, large enough to be compressed. */
	synth_init(&synth, 1);
	synth_step(&synth, rec, SYNTH_STEP_MAX);
	tp_writer_events(&writer, rec + 500, 400, 0);
	tp_writer_events(&writer, rec + 4000, 50, 300);
	tp_writer_events(&writer, rec + 900, 50, 0);
	tp_writer_flush(&writer);

	writer.anchor = (struct tp_clock_anchor){2101000, 1002000, 1790000000001000000, 80};
	fill_rows(rec);
	tp_writer_string(&writer, DEVICE);
	tp_writer_string(&writer, MODULE);
	tp_writer_string(&writer, COMM);
	tp_writer_events(&writer, rec, N_ROWS, 65535);
	synth_heap_init(&heap, 1);
	heap.synth.now = 40000;
	synth_heap_make(&heap, rec, 12000);
	tp_writer_events(&writer, rec + 11500, 300, 0);
	tp_writer_events(&writer, rec, 60, 300);
	tp_writer_events(&writer, rec + 11800, 100, 0);
	if (!err)
		err = tp_writer_close(&writer, "why=golden\n", 11);
	if (!err)
		err = list_trace(stdout, argv[1]);
	return err != 0;
}
