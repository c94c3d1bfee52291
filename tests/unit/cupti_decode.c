/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_decode.c - buffers of activity records become records in the ring, each counted
 *
 * The records are those of NVIDIA's headers. Windows: tests/unit/cupti_place.c.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/probe/gpu/cupti_names.h"
#include "runtime/probe/gpu/cupti_queue.h"
#include "tests/unit/cupti_decode_rig.h"

static const struct tp_cupti_wanted whole = {.begin = 1, .has_window = true};

TestSuite(cupti_decode, .init = set_up, .fini = rig_remove_dir);

static const char *text_of(uint32_t id, uint32_t wanted_kind)
{
	static char text[2][TP_INTERN_MAX + 1];
	static int at;
	const char *bytes;
	uint32_t kind, n;

	at = !at;
	cr_assert(tp_intern_get(NULL, id, &kind, &bytes, &n), "id %u", id);
	cr_assert_eq(kind, wanted_kind);
	memcpy(text[at], bytes, n);
	text[at][n] = '\0';
	return text[at];
}

static void check_times(const struct tp_rec *rec, uint8_t kind, uint64_t time, uint64_t len,
			uint32_t link, uint8_t flags)
{
	cr_assert_eq(rec->kind, kind);
	cr_assert_eq(rec->time, time, "kind %u: %lu", kind, (unsigned long)rec->time);
	cr_assert_eq(tp_rec_len(rec), len);
	cr_assert_eq(rec->link, link);
	cr_assert_eq(rec->flags, flags, "kind %u: flags %u", kind, rec->flags);
}

Test(cupti_decode, makes_calls_and_kernels)
{
	struct tp_launch launch;
	CUpti_ActivityKernel10 *kernel;

	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 77, T(1000), T(1500));
	add_call(CUPTI_ACTIVITY_KIND_DRIVER, 307, 78, T(1100), T(1400));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 5, 79, T(1600), T(1700));
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 900, 80, T(1600), T(1700));
	add_call(CUPTI_ACTIVITY_KIND_DRIVER, 5000, 81, T(1600), T(1700));
	kernel = add_kernel("_Z3addPf", 77, T(2000), T(2250));
	kernel->graphNodeId = 1ull << 33;
	kernel->graphId = 6;
	kernel->clusterX = 2;
	kernel->clusterY = kernel->clusterZ = 1;
	kernel->localMemoryPerThread = 16;
	decode(&whole);
	cr_assert_eq(n_out, 6);
	check_times(&out[0], TP_REC_CALL, 1000, 500, 77, 0);
	cr_assert_str_eq(text_of(out[0].name, TP_STRING_TEXT), "cudaLaunchKernel");
	cr_assert_eq(TP_ARG_TID(out[0].arg), 4711);
	cr_assert_eq(TP_ARG_RETURNED(out[0].arg), 3);
	check_times(&out[1], TP_REC_CALL, 1100, 300, 78, TP_F_DRIVER);
	cr_assert_str_eq(text_of(out[1].name, TP_STRING_TEXT), "cuLaunchKernel");
	cr_assert_str_eq(text_of(out[2].name, TP_STRING_TEXT), "cudaCall5");
	cr_assert_str_eq(text_of(out[3].name, TP_STRING_TEXT), "runtime call 900");
	cr_assert_str_eq(text_of(out[4].name, TP_STRING_TEXT), "driver call 5000");
	check_times(&out[5], TP_REC_KERNEL, 2000, 250, 77, 0);
	cr_assert_str_eq(text_of(out[5].name, TP_STRING_TEXT), "_Z3addPf");
	memcpy(&launch, text_of((uint32_t)out[5].arg, TP_STRING_LAUNCH), sizeof(launch));
	cr_assert_eq(memcmp(&launch, &(struct tp_launch){
		.place = {1, 2, 7}, .graph = 6, .graph_node = 1ull << 33, .grid = {100, 2, 1},
		.block = {256, 1, 1}, .cluster = {2, 1, 1}, .registers = 64, .shared_static = 1024,
		.shared_dynamic = 4096, .local_per_thread = 16,
	}, sizeof(launch)), 0);
	check_sums();
	cr_assert_str_eq(report(), "cupti.call=5\ncupti.kernel=1\n");
}

Test(cupti_decode, makes_copies_sets_and_graphs)
{
	CUpti_ActivityMemcpy6 copy = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY, .copyKind = 1, .srcKind = 1, .dstKind = 3,
		.flags = 1, .bytes = 1 << 20, .start = T(10), .end = T(30), .deviceId = 3,
		.contextId = 1, .streamId = 9, .correlationId = 5, .runtimeCorrelationId = 99,
		.graphNodeId = 8, .graphId = 4,
	};
	CUpti_ActivityMemcpyPtoP4 peer = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY2, .copyKind = 10, .srcKind = 3, .dstKind = 3,
		.bytes = 4096, .start = T(40), .end = T(50), .deviceId = 0, .contextId = 1,
		.streamId = 9, .srcDeviceId = 4, .dstDeviceId = 5, .correlationId = 6,
	};
	CUpti_ActivityMemset4 set = {
		.kind = CUPTI_ACTIVITY_KIND_MEMSET, .value = 0xff, .bytes = 64, .start = T(60),
		.end = T(61), .deviceId = 2, .contextId = 1, .streamId = 9, .correlationId = 7,
		.flags = 1, .memoryKind = 3,
	};
	CUpti_ActivityGraphTrace2 graph = {
		.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE, .correlationId = 8, .start = T(70),
		.end = T(90), .deviceId = 2, .graphId = 12, .contextId = 1, .streamId = 9,
	};
	struct tp_transfer transfer;
	struct tp_launch launch;

	add_record(&copy, sizeof(copy));
	add_record(&peer, sizeof(peer));
	add_record(&set, sizeof(set));
	add_record(&graph, sizeof(graph));
	decode(&whole);
	cr_assert_eq(n_out, 4);
	check_times(&out[0], TP_REC_MEMCPY, 10, 20, 5, 0);
	cr_assert_eq(out[0].arg, 1 << 20);
	memcpy(&transfer, text_of(out[0].name, TP_STRING_TRANSFER), sizeof(transfer));
	cr_assert_eq(memcmp(&transfer, &(struct tp_transfer){
		.place = {3, 1, 9}, .graph = 4, .graph_node = 8, .copy_kind = 1, .from_kind = 1,
		.to_kind = 3, .is_async = 1, .from_device = 3, .to_device = 3,
	}, sizeof(transfer)), 0);
	check_times(&out[1], TP_REC_MEMCPY, 40, 10, 6, 0);
	memcpy(&transfer, text_of(out[1].name, TP_STRING_TRANSFER), sizeof(transfer));
	cr_assert_eq(memcmp(&transfer, &(struct tp_transfer){
		.place = {0, 1, 9}, .copy_kind = 10, .from_kind = 3, .to_kind = 3, .from_device = 4,
		.to_device = 5,
	}, sizeof(transfer)), 0);
	check_times(&out[2], TP_REC_MEMSET, 60, 1, 7, 0);
	cr_assert_eq(out[2].arg, 64);
	memcpy(&transfer, text_of(out[2].name, TP_STRING_TRANSFER), sizeof(transfer));
	cr_assert_eq(memcmp(&transfer, &(struct tp_transfer){
		.place = {2, 1, 9}, .to_kind = 3, .is_async = 1, .from_device = 2, .to_device = 2,
		.value = 0xff,
	}, sizeof(transfer)), 0);
	check_times(&out[3], TP_REC_GRAPH, 70, 20, 8, 0);
	cr_assert_eq(out[3].arg, 12);
	memcpy(&launch, text_of(out[3].name, TP_STRING_LAUNCH), sizeof(launch));
	cr_assert_eq(memcmp(&launch, &(struct tp_launch){.place = {2, 1, 9}, .graph = 12},
			    sizeof(launch)), 0);
	check_sums();
}

/* Who recorded the event that is waited for: another record said it, as does one of the device. */
Test(cupti_decode, knows_what_a_wait_is_for)
{
	CUpti_ActivityContext3 context = {
		.kind = CUPTI_ACTIVITY_KIND_CONTEXT, .contextId = 3, .deviceId = 6,
	};
	CUpti_ActivityCudaEvent2 event = {
		.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT, .correlationId = 40, .contextId = 3,
		.streamId = 11, .eventId = 20, .cudaEventSyncId = 1000,
	};
	CUpti_ActivitySynchronization2 sync = {
		.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, .start = T(100),
		.end = T(101), .correlationId = 41, .contextId = 3, .streamId = 12, .cudaEventId = 20,
		.cudaEventSyncId = 1000, .returnValue = 5,
	};
	struct tp_sync_what what;

	add_record(&context, sizeof(context));
	add_record(&event, sizeof(event));
	add_record(&sync, sizeof(sync));
	sync.cudaEventSyncId = 999;	/* of an earlier recording, of which nothing is known */
	add_record(&sync, sizeof(sync));
	sync.contextId = 3 + 4096;	/* has the same place in the table */
	sync.cudaEventSyncId = 1000;
	add_record(&sync, sizeof(sync));
	sync.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
	sync.contextId = 3;
	sync.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
	sync.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
	add_record(&sync, sizeof(sync));
	decode(&whole);
	cr_assert_eq(n_out, 4);
	check_times(&out[0], TP_REC_SYNC, 100, 1, 41, 0);
	cr_assert_eq(out[0].arg, 20 | 40ull << 32);
	memcpy(&what, text_of(out[0].name, TP_STRING_SYNC), sizeof(what));
	cr_assert_eq(memcmp(&what, &(struct tp_sync_what){
		.place = {6, 3, 12}, .kind = TP_SYNC_STREAM_WAIT, .returned = 5, .recorded_stream = 12,
	}, sizeof(what)), 0);
	cr_assert_eq(out[1].arg, 20);
	memcpy(&what, text_of(out[1].name, TP_STRING_SYNC), sizeof(what));
	cr_assert_eq(what.recorded_stream, 0);
	cr_assert_eq(out[2].arg, 20);
	memcpy(&what, text_of(out[3].name, TP_STRING_SYNC), sizeof(what));
	cr_assert_eq(memcmp(&what, &(struct tp_sync_what){
		.place = {6, 3, TP_NO_STREAM}, .kind = TP_SYNC_CONTEXT, .returned = 5,
	}, sizeof(what)), 0);
	cr_assert_eq(out[3].arg, 0);
}

Test(cupti_decode, names_overhead_as_torch_does)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} row[] = {
		{CUPTI_ACTIVITY_OVERHEAD_UNKNOWN, "Unknown"},
		{CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "Driver Compiler"},
		{CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "Buffer Flush"},
		{CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "Instrumentation"},
		{CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "Resource"},
		{CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING,
		 "Runtime Triggered Module Loading"},
		{CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, "Lazy Function Loading"},
		{CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, "Command Buffer Full"},
		{CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, "Activity Buffer Request"},
		{CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT, "UVM Activity Init"},
		{9 << 16, "Unrecognized"}, {2, "Unrecognized"}, {0x7fffffff, "Unrecognized"},
	};
	enum { N = sizeof(row) / sizeof(row[0]) };

	for (int i = 0; i < N; i++) {
		CUpti_ActivityOverhead3 overhead = {
			.kind = CUPTI_ACTIVITY_KIND_OVERHEAD, .overheadKind = row[i].kind,
			.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD, .start = T(5), .end = T(9),
			.correlationId = 3,
		};

		overhead.objectId.pt.processId = 1;
		overhead.objectId.pt.threadId = 4711;
		add_record(&overhead, sizeof(overhead));
	}
	decode(&whole);
	cr_assert_eq(n_out, N);
	for (int i = 0; i < N; i++) {
		check_times(&out[i], TP_REC_OVERHEAD, 5, 4, 0, 0);
		cr_assert_str_eq(text_of(out[i].name, TP_STRING_TEXT), row[i].name);
		cr_assert_eq(out[i].arg, 4711);
	}
}

/* Without a record: devices, memory, contexts, streams. What is not known is counted. */
Test(cupti_decode, takes_note_of_the_rest)
{
	CUpti_ActivityDevice5 device = {
		.kind = CUPTI_ACTIVITY_KIND_DEVICE, .id = 1, .numMultiprocessors = 132, .name = "H100",
	};
	CUpti_ActivityMemory4 memory = {
		.kind = CUPTI_ACTIVITY_KIND_MEMORY2, .memoryOperationType = 1, .memoryKind = 3,
		.bytes = 4096, .deviceId = 1, .timestamp = T(3),
	};
	CUpti_ActivityStream stream = {.kind = CUPTI_ACTIVITY_KIND_STREAM};
	CUpti_ActivityMemoryPool3 pool = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL};
	static const struct tp_cupti_wanted none = {.has_window = false};
	const uint32_t *ids;

	add_record(&memory, sizeof(memory));
	decode(&none);
	add_record(&device, sizeof(device));
	add_record(&device, sizeof(device));
	add_record(&memory, sizeof(memory));
	memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	add_record(&memory, sizeof(memory));
	memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
	memory.memoryOperationType = 2;
	memory.bytes = 100;
	add_record(&memory, sizeof(memory));
	memory.deviceId = 1000000;
	add_record(&memory, sizeof(memory));
	add_record(&stream, sizeof(stream));
	add_record(&pool, sizeof(pool));
	decode(&whole);
	cr_assert_eq(n_out, 0);
	cr_assert_eq(tp_intern_loose(&ids), 1);
	cr_assert_str_eq(text_of(ids[0], TP_STRING_DEVICE), "id=1\nsms=132\nname=H100\n");
	cr_assert_str_eq(report(), "cupti.memory2.1.alloc_bytes=4096\n"
				   "cupti.memory2.1.free_bytes=100\n");
	cr_assert_eq(tp_cupti_unknown_kinds, 0);
	memset(records_buffer, 0x77, 40);
	records_bytes = 40;
	decode(&whole);
	cr_assert_eq(tp_cupti_unknown_kinds, 1);
	cr_assert_not_null(strstr(report(), "cupti.unknown=1\n"));
}

Test(cupti_decode, counts_records_without_times)
{
	add_kernel("k", 1, T(100), 0);
	add_kernel("k", 1, 0, T(100));
	add_kernel("k", 1, 0, 0);
	add_kernel("k", 1, T(100), T(99));
	add_kernel("k", 1, T(100), T(100));
	decode(&whole);
	cr_assert_eq(n_out, 1);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].no_time, 4);
	check_sums();
	cr_assert_str_eq(report(), "cupti.kernel=1\ncupti.kernel.no_time=4\n");
}

static const char *tell_queues(void)
{
	static char said[512];
	struct tp_text text;

	tp_text_init(&text, said, sizeof(said));
	tp_cupti_queue_tell(&text);
	return said;
}

Test(cupti_decode, tells_what_is_not_done_by_stream)
{
	add_kernel("before", 1, 0, 0);
	decode(&whole);
	cr_expect_str_eq(tell_queues(), "", "nobody asked");
	tp_cupti_queue_begin();
	add_kernel("done", 2, T(10), T(20));
	add_kernel("_ZN2at4cuda11spin_kernelEl", 4, T(30), 0);
	add_kernel("_Z3addPfS_", 3, 0, 0)->streamId = 13;
	add_kernel("later", 5, 0, 0);
	decode(&whole);
	cr_expect_str_eq(tell_queues(),
			 "stream 13 of GPU 1 has 1 piece of work that is not done, add; stream 7 of GPU 1 has 2 "
			 "pieces of work that are not done, the first of them spin_kernel");
	cr_expect_str_eq(tell_queues(), "", "told");
	cr_expect_eq(tp_cupti_counts[TP_REC_KERNEL].no_time, 4, "and counted as ever");
	/* Names that lie about their lengths; more streams than are told. */
	tp_cupti_queue_begin();
	for (uint32_t i = 0; i < 100; i++)
		add_kernel(i ? "_ZN99999999999999999999" : "_Z", 10 + i, 0, 0)->streamId = 20 + i;
	decode(&whole);
	cr_expect(strstr(tell_queues(), "stream 20 of GPU 1 has 1 piece of work that is not done, _Z; "));
	tp_cupti_queue_begin();
	for (uint32_t i = 0; i < 100; i++)
		add_kernel("k", 10 + i, 0, 0)->streamId = 20 + i;
	decode(&whole);
	cr_expect(strstr(tell_queues(), "is not done, k; other streams have 97"));
}

/* CUPTI uses the memory of a name again when its module was unloaded. */
Test(cupti_decode, sees_another_name_at_the_same_place)
{
	static char name[TP_INTERN_MAX + 100] = "first_kernel";
	uint32_t id;

	add_kernel(name, 1, T(10), T(20));
	add_kernel(name, 2, T(10), T(20));
	decode(&whole);
	id = out[0].name;
	cr_assert_eq(out[1].name, id);
	strcpy(name, "first_kernel_and_more");
	add_kernel(name, 3, T(10), T(20));
	decode(&whole);
	cr_assert_str_eq(text_of(out[0].name, TP_STRING_TEXT), "first_kernel_and_more");
	strcpy(name, "first_kern");
	add_kernel(name, 4, T(10), T(20));
	add_kernel(NULL, 5, T(10), T(20));
	decode(&whole);
	cr_assert_str_eq(text_of(out[0].name, TP_STRING_TEXT), "first_kern");
	cr_assert_eq(out[1].name, 0);
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].no_name, 1);
	memset(name, 'x', sizeof(name) - 1);	/* longer than what is kept */
	add_kernel(name, 6, T(10), T(20));
	add_kernel(name, 7, T(10), T(20));
	decode(&whole);
	cr_assert_eq(strlen(text_of(out[0].name, TP_STRING_TEXT)), TP_INTERN_MAX);
	cr_assert_eq(tp_intern_cut(), 1);
	cr_assert_eq(out[1].name, out[0].name);
}

/* More kernels and shapes than the caches have places: each still has its own. */
Test(cupti_decode, never_takes_one_shape_for_another)
{
	static char name[3000][8];
	struct tp_launch launch;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 3000; i++) {
			snprintf(name[i], sizeof(name[i]), "k%u", i * 7 % 3000);
			add_kernel(name[i], i, T(10), T(20))->gridX = (int32_t)(i * 11 % 2999);
		}
		decode(&whole);
		cr_assert_eq(n_out, 3000);
		for (uint32_t i = 0; i < 3000; i++) {
			cr_assert_str_eq(text_of(out[i].name, TP_STRING_TEXT), name[i]);
			memcpy(&launch, text_of((uint32_t)out[i].arg, TP_STRING_LAUNCH), sizeof(launch));
			cr_assert_eq(launch.grid[0], i * 11 % 2999);
		}
	}
}

Test(cupti_decode, goes_on_where_it_stopped)
{
	struct tp_cupti_batch batch;
	uint32_t calls = 0;

	for (uint32_t i = 0; i < 100; i++) {
		add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, i, T(10 + i), T(11 + i));
		add_kernel("k", i, T(20 + i), T(21 + i));
	}
	batch = (struct tp_cupti_batch){records_buffer, records_bytes, 0};
	while (!tp_cupti_decode(&batch, &whole, 7))
		cr_assert_lt(++calls, 100);
	drain();
	cr_assert_eq(calls, 28);
	cr_assert_eq(n_out, 200);
	for (uint32_t i = 0; i < 200; i++)
		cr_assert_eq(out[i].link, i / 2);
	cr_assert(tp_cupti_decode(&batch, &whole, 7), "an end is an end");
	cr_assert_eq(tp_ring_waiting(), 0);
}

/* Nothing is lost while someone drains: it stops before the ring is full. */
Test(cupti_decode, waits_for_the_drain)
{
	struct tp_cupti_batch batch;
	uint32_t stops = 0;
	enum { N = 100000 };

	for (uint32_t i = 0; i < N; i++)
		add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, i, T(10 + i), T(11 + i));
	batch = (struct tp_cupti_batch){records_buffer, records_bytes, 0};
	while (!tp_cupti_decode(&batch, &whole, UINT32_MAX)) {
		cr_assert_leq(tp_ring_chunks_used(), tp_ring.head->n_chunks / 2 + 2);
		cr_assert_gt(tp_ring_waiting(), 0);
		drain();
		stops++;
	}
	cr_assert_gt(stops, 0);
	cr_assert_eq(tp_cupti_counts[TP_REC_CALL].emitted, N);
	cr_assert_eq(tp_ring_dropped(), 0);
	check_sums();
}

Test(cupti_decode, counts_what_finds_no_room)
{
	struct tp_ring_head *head = tp_ring.head;

	/* As after tp_ring_leave: there is no ring any more. */
	for (uint32_t i = 0; i < 10; i++)
		add_kernel("k", i, T(10), T(20));
	tp_ring.head = NULL;
	tp_cupti_decode(&(struct tp_cupti_batch){records_buffer, records_bytes, 0}, &whole, 1000);
	tp_ring.head = head;
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].no_room, 10);
	check_sums();
}

Test(cupti_decode, counts_names_that_find_no_room)
{
	static char name[100][4001];

	for (uint32_t i = 0; i < 10000; i++) {
		char fill[4001];

		snprintf(fill, sizeof(fill), "%04000u", i);
		if (!tp_intern_text(fill))
			break;
	}
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(name[i], sizeof(name[i]), "%03990uk%u", 7u, i);
		add_kernel(name[i], i, T(10), T(20))->gridX = 1000 + (int32_t)i;
	}
	decode(&whole);
	cr_assert_eq(n_out, 100);
	cr_assert_gt(tp_cupti_counts[TP_REC_KERNEL].no_name, 90);
	check_sums();
}

/* A buffer that was cut anywhere, before memory that cannot be read. */
Test(cupti_decode, never_reads_past_the_buffer)
{
	enum { PAGE = 4096 };
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, T(10), T(20));
	add_kernel("k", 1, T(30), T(40));
	add_kernel("k", 2, T(30), T(40));
	for (size_t n = 0; n <= records_bytes; n++) {
		struct tp_cupti_batch batch = {pages + PAGE - n, n, 0};

		/* The step itself looks at a record's kind. */
		if (n < records_bytes && n % 8)
			continue;
		memcpy(pages + PAGE - n, records_buffer, n);
		n_out = 0;
		cr_assert(tp_cupti_decode(&batch, &whole, 100));
		drain();
		/* What both 11.8 and we need of a kernel are its first 200 bytes. */
		cr_assert_eq(n_out, (n >= 40) + (n >= 240) + (n >= 456), "%zu: %u", n, n_out);
	}
}

static long hostile_step;
static CUptiResult CUPTIAPI hostile_next(uint8_t *buffer, size_t n_bytes, CUpti_Activity **record)
{
	*record = (CUpti_Activity *)((uint8_t *)(*record ? *record : (void *)buffer) + hostile_step);
	return CUPTI_SUCCESS;
}

/* Where a record is to follow where none can be, the buffer has ended. */
Test(cupti_decode, survives_a_cupti_that_steps_wrong)
{
	static const long steps[] = {0, -8, -100000000, 100000000, 1 << 22};

	tp_cupti.cuptiActivityGetNextRecord = hostile_next;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		hostile_step = steps[i];
		add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, T(10), T(20));
		add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, T(10), T(20));
		decode(&whole);
		cr_assert_leq(n_out, 1);
	}
	tp_cupti.cuptiActivityGetNextRecord = NULL;
	add_call(CUPTI_ACTIVITY_KIND_RUNTIME, 211, 1, T(10), T(20));
	decode(&whole);
	cr_assert_eq(n_out, 0);
}

/* As real traces of torch.profiler have them. */
Test(cupti_decode, names_calls_as_torch_does)
{
	static const char *const row[][2] = {
		{"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
		{"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"},
		{"cudaMemcpyAsync_v3020", "cudaMemcpyAsync"},
		{"cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2"},
		{"cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000",
		 "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"},
		{"cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync_v2"},
		{"cuMemcpy2D_v2_ptds", "cuMemcpy2D_v2"}, {"cuLaunchKernel", "cuLaunchKernel"},
		{"cuCtxCreate_v3", "cuCtxCreate_v3"}, {"INVALID", "INVALID"}, {"", ""}, {"_v3020", ""},
		{"3020", "3020"}, {"v3020", "v3020"}, {"_ptsz", ""},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint32_t n = tp_cupti_call_length(row[i][0]);

		cr_assert(n == strlen(row[i][1]) && !memcmp(row[i][0], row[i][1], n), "%s: %.*s",
			  row[i][0], (int)n, row[i][0]);
	}
}

Test(cupti_decode, has_nothing_of_the_parent_after_fork)
{
	add_kernel("k", 1, T(10), T(20));
	decode(&whole);
	tp_cupti_decode_forked();
	cr_assert_str_eq(report(), "");
	cr_assert_eq(tp_cupti_counts[TP_REC_KERNEL].seen, 0);
}
