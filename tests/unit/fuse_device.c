/* SPDX-License-Identifier: Apache-2.0 */
/* What CUPTI reported, out of files: on which queue or thread, called what, in which order. */
#include "merge/model/device.h"
#include "tests/unit/merge_rig.h"

enum { MOST = 256 };

static struct tp_event event[MOST];
static uint32_t n_events;

static void note(void *ctx, const struct tp_event *e)
{
	cr_assert_lt(n_events, MOST);
	event[n_events++] = *e;
}

static struct tp_run *fuse_steps(const char *steps)
{
	struct tp_run *run = rig_open(NULL, NULL, steps);

	n_events = 0;
	cr_assert_not_null(run);
	cr_assert_eq(tp_fuse_events(run, note, NULL), 0);
	return run;
}

static struct tp_run *fuse(void)
{
	return fuse_steps(NULL);
}

TestSuite(fuse_device, .init = rig_begin, .fini = rig_end);

static uint32_t launch_on(uint32_t device, uint32_t context, uint32_t stream)
{
	struct tp_launch launch = {.place = {device, context, stream}, .grid = {7, 1, 1}};

	return rig_bytes(TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
}

static void put_kernel(uint64_t begin, uint32_t launch)
{
	rig_put((struct tp_rec){.time = begin, .kind = TP_REC_KERNEL, .name = rig_text("gemm"),
				.link = 1, .arg = launch}, 10, 0);
}

static void put_call(uint64_t begin, uint32_t tid, uint16_t slot)
{
	rig_put((struct tp_rec){.time = begin, .kind = TP_REC_CALL, .name = rig_text("cudaLaunchKernel"),
				.link = 1, .arg = TP_ARG_CALL(tid, 0)}, 10, slot);
}

Test(fuse_device, each_stream_of_each_process_is_a_queue_of_its_own)
{
	static const struct tp_device_place place[] = {
		{0, 1, 7}, {0, 1, 7}, {0, 1, 20}, {1, 1, 7}, {0, 2, 7}, {0, 1, 7},
	};
	static const uint32_t want[] = {0, 0, 1, 2, 3, 0};
	struct tp_run *run;

	for (int32_t rank = 0; rank < 2; rank++) {
		char name[16];

		snprintf(name, sizeof(name), "%d.tpt", rank);
		rig_file(name, rank, 0);
		for (uint32_t i = 0; i < 6; i++)
			put_kernel(1000 + 100 * i + (uint32_t)rank,
				   launch_on(place[i].device, place[i].context, place[i].stream));
		rig_close(9000);
	}
	run = fuse();
	cr_assert_eq(n_events, 12);
	for (uint32_t i = 0; i < 12; i++) {
		const struct tp_queue *q = event[i].queue;

		cr_assert_not_null(q);
		cr_expect_eq(q->at, want[i / 2]);
		cr_expect_eq(q, event[i].proc->queue[q->at]);
		cr_expect(q->device == place[i / 2].device && q->context == place[i / 2].context &&
			  q->stream == place[i / 2].stream);
		cr_expect_eq(tp_device_launch(&event[i]).grid[0], 7);
		cr_expect_str_eq(event[i].name->bytes, "gemm");
	}
	cr_expect_eq(run->proc[0]->n_queues, 4);
	cr_expect_eq(run->proc[1]->n_queues, 4);
	tp_run_free(run);
}

Test(fuse_device, many_queues_stay_where_they_are)
{
	struct tp_run *run;

	rig_file("a.tpt", 0, 0);
	for (uint32_t i = 0; i < 120; i++)
		put_kernel(1000 + 100 * i, launch_on(0, 1, i));
	for (uint32_t i = 0; i < 120; i++)
		put_kernel(100000 + 100 * i, launch_on(0, 1, i));
	rig_close(900000);
	run = fuse();
	cr_assert_eq(n_events, 240);
	cr_assert_eq(run->proc[0]->n_queues, 120);
	for (uint32_t i = 0; i < 120; i++) {
		cr_expect_eq(event[i].queue, event[i + 120].queue);
		cr_expect_eq(event[i].queue->stream, i);
	}
	tp_run_free(run);
}

Test(fuse_device, calls_are_on_the_thread_of_their_kernel_number)
{
	struct tp_thread_entry other = {.slot = 3, .tid = 555, .name = "pt_autograd_0"};
	const struct tp_thread *made;
	struct tp_run *run;

	rig_file("a.tpt", 0, 0);
	cr_assert_eq(tp_writer_threads(&rig.writer, &other, 1), 0);
	put_call(1000, 100, 3);		/* the main thread, in another's slot */
	put_call(2000, 555, 0);
	put_call(3000, 777, 0);		/* of no slot */
	put_call(4000, 888, 0);
	put_call(5000, 777, 0);
	put_call(6000, 0, 0);
	rig_put((struct tp_rec){.time = 7000, .kind = TP_REC_OVERHEAD, .name = rig_text("CUPTI"),
				.arg = 888}, 10, 0);
	put_kernel(8000, launch_on(0, 1, 7));
	rig_close(9000);
	run = fuse();
	cr_assert_eq(n_events, 8);
	cr_expect(event[0].thread->is_main && event[0].thread->tid == 100);
	cr_expect_str_eq(event[1].thread->name, "pt_autograd_0");
	made = event[2].thread;
	cr_expect_eq(made->tid, 777);
	cr_expect_str_empty(made->name);
	cr_expect_eq(event[3].thread->tid, 888);
	cr_expect_eq(event[4].thread, made);
	cr_expect_eq(event[5].thread->tid, 0);
	cr_expect_eq(event[6].thread, event[3].thread);
	for (uint32_t i = 0; i < 7; i++) {
		ptrdiff_t at = event[i].thread - event[i].proc->thread;

		cr_expect(at >= 0 && at <= event[i].proc->n_threads, "%td", at);
		cr_expect_null(event[i].queue);
		cr_expect_eq(event[i].detail->kind, 0);
	}
	tp_run_free(run);
}

Test(fuse_device, more_threads_than_there_is_room_for_are_nobody)
{
	struct tp_run *run;
	uint32_t n_known = 0;

	rig_file("a.tpt", 0, 0);
	put_kernel(500, launch_on(0, 1, 7));
	for (uint32_t i = 0; i < 200; i++)
		put_call(1000 + 10 * i, 5000 + i, 0);
	rig_close(9000000);
	run = fuse();
	for (uint32_t i = 1; i < n_events; i++)
		n_known += event[i].thread->tid == 5000 + i - 1;
	cr_expect_eq(n_known, 200);
	tp_run_free(run);
	rig_file("a.tpt", 0, 0);
	rig_close(9000000);
	rig_file("b.tpt", 0, 1);
	put_call(1000, 4711, 0);	/* a process without any work of a device */
	rig_close(9000000);
	run = fuse();
	cr_assert_eq(n_events, 1);
	cr_expect_eq(event[0].thread, &event[0].proc->thread[event[0].proc->n_threads]);
	tp_run_free(run);
}

Test(fuse_device, transfers_syncs_and_graphs_have_names_known_before_the_first_event)
{
	struct tp_transfer copy = {.place = {0, 1, 7}, .copy_kind = 1, .from_kind = 2, .to_kind = 3};
	struct tp_transfer same = {.place = {0, 1, 8}, .copy_kind = 1, .from_kind = 2, .to_kind = 3};
	struct tp_transfer set = {.place = {0, 1, 7}, .to_kind = 3, .value = 9};
	struct tp_sync_what sync = {.place = {0, 1, TP_NO_STREAM}, .kind = TP_SYNC_CONTEXT};
	struct tp_run *run;
	uint32_t n_before;

	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 1000, .kind = TP_REC_MEMCPY,
				.name = rig_bytes(TP_STRING_TRANSFER, (char *)&copy, sizeof(copy)),
				.arg = 4096}, 10, 0);
	rig_put((struct tp_rec){.time = 2000, .kind = TP_REC_MEMCPY,
				.name = rig_bytes(TP_STRING_TRANSFER, (char *)&same, sizeof(same))},
		10, 0);
	rig_put((struct tp_rec){.time = 3000, .kind = TP_REC_MEMSET,
				.name = rig_bytes(TP_STRING_TRANSFER, (char *)&set, sizeof(set))},
		10, 0);
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_SYNC,
				.name = rig_bytes(TP_STRING_SYNC, (char *)&sync, sizeof(sync))},
		10, 0);
	rig_put((struct tp_rec){.time = 5000, .kind = TP_REC_GRAPH, .name = launch_on(0, 1, 9),
				.arg = 3}, 10, 0);
	rig_close(9000);
	run = rig_open(NULL, NULL, NULL);
	n_before = run->n_distinct_strings;
	n_events = 0;
	cr_assert_eq(tp_fuse_events(run, note, NULL), 0);
	cr_assert_eq(n_events, 5);
	cr_expect_str_eq(event[0].name->bytes, "Memcpy HtoD (Pinned -> Device)");
	cr_expect_eq(event[0].name, event[1].name);
	cr_expect_str_eq(event[2].name->bytes, "Memset (Device)");
	cr_expect_str_eq(event[3].name->bytes, "Context Sync");
	cr_expect_str_eq(event[4].name->bytes, "cudaGraphLaunch");
	for (uint32_t i = 0; i < 5; i++) {
		cr_expect_eq(event[i].name->kind, TP_STRING_TEXT);
		cr_expect_lt(event[i].name->same, n_before);
		cr_expect_not_null(event[i].queue);
	}
	cr_expect_eq(event[1].queue->stream, 8);
	cr_expect_eq(event[3].queue->stream, TP_NO_STREAM);
	cr_expect_eq(event[4].queue->stream, 9);
	cr_expect_eq(tp_device_transfer(&event[2]).value, 9);
	cr_expect_eq(run->n_distinct_strings, n_before);
	tp_run_free(run);
}

Test(fuse_device, damaged_details_say_nothing_and_harm_nothing)
{
	struct tp_device_place place = {1, 2, 3};
	struct tp_run *run;

	rig_file("a.tpt", 0, 0);
	put_kernel(1000, 0);
	put_kernel(2000, RIG_STRINGS - 1);
	put_kernel(3000, rig_text("no launch"));
	put_kernel(4000, rig_bytes(TP_STRING_LAUNCH, (char *)&place, 6));
	put_kernel(5000, rig_bytes(TP_STRING_LAUNCH, "", 0));
	rig_put((struct tp_rec){.time = 6000, .kind = TP_REC_MEMCPY, .name = rig_text("by name")}, 10,
		0);
	rig_put((struct tp_rec){.time = 7000, .kind = TP_REC_SYNC,
				.name = rig_bytes(TP_STRING_DEVMEM, "xxx", 3)}, 10, 0);
	rig_put((struct tp_rec){.time = 8000, .kind = TP_REC_DEVALLOC, .name = rig_text("x")}, 10, 0);
	rig_close(9000);
	run = fuse();
	cr_assert_eq(n_events, 8);
	for (uint32_t i = 0; i < 7; i++)
		cr_expect_not_null(event[i].queue, "%u", i);
	cr_expect_eq(event[0].queue->device, 0);
	cr_expect_eq(event[2].detail->kind, 0);
	cr_expect_eq(event[3].queue->device, 1);
	cr_expect_eq(event[3].queue->stream, 0);
	cr_expect_eq(tp_device_launch(&event[3]).grid[0], 0);
	cr_expect_str_eq(event[5].name->bytes, "by name");
	cr_expect_eq(event[6].name->kind, 0);
	cr_expect_null(event[7].queue);
	cr_expect_eq(event[7].name->kind, 0);
	cr_expect_eq(event[7].detail->kind, 0);
	tp_run_free(run);
}

Test(fuse_device, devices_are_described_by_id_and_the_last_word_counts)
{
	static const char *const text[] = {"id=2\nsms=20\n", "id=0\nsms=1\n", "name=x\n",
					   "id=2\nsms=22\nname=b\n"};
	struct tp_run *run;

	rig_file("a.tpt", 0, 0);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(tp_writer_string(&rig.writer,
					      rig_bytes(TP_STRING_DEVICE, text[i],
							(uint32_t)strlen(text[i]))), 0);
	rig_close(9000);
	run = rig_open(NULL, NULL, NULL);
	cr_assert_eq(run->proc[0]->n_devices, 2);
	cr_expect_eq(run->proc[0]->device[0].id, 0);
	cr_expect_eq(tp_device_of(run->proc[0], 2)->n_sms, 22);
	cr_expect_str_eq(run->proc[0]->device[1].name, "b");
	tp_run_free(run);
}

Test(fuse_device, a_call_comes_after_its_operator_and_before_its_work)
{
	struct tp_run *run;

	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::mm"), 1000, 1010);
	put_kernel(1000, launch_on(0, 1, 7));
	put_call(1000, 100, 0);
	rig_close(9000);
	run = fuse();
	cr_assert_eq(n_events, 3);
	cr_expect_eq(event[0].kind, TP_REC_OP);
	cr_expect_eq(event[1].kind, TP_REC_CALL);
	cr_expect_eq(event[2].kind, TP_REC_KERNEL);
	tp_run_free(run);
}

/* A call at `call` (0: none) that starts a kernel at `begin`; their number is the correlation id. */
static void put_launched(uint32_t number, uint64_t call, uint64_t begin)
{
	uint32_t launch = launch_on(0, 1, 7);

	if (call)
		rig_put((struct tp_rec){.time = call, .kind = TP_REC_CALL,
					.name = rig_text("cudaLaunchKernel"), .link = number,
					.arg = TP_ARG_CALL(100, 0)}, 10, 0);
	cr_assert_eq(tp_writer_flush(&rig.writer), 0);
	rig_put((struct tp_rec){.time = begin, .kind = TP_REC_KERNEL, .name = rig_text("gemm"),
				.link = number, .arg = launch}, 10, 0);
}

Test(fuse_device, work_is_of_the_step_in_which_it_was_launched)
{
	static const uint32_t want[] = {2, 3, 4, 5};
	uint32_t n = 0;
	struct tp_run *run;
	FILE *ledger;
	char path[128];

	rig_file("rank0.tpt", 0, 0);
	put_launched(1, 1500, 2100);	/* of step 0 */
	put_launched(2, 0, 2200);	/* of nobody knows which: as it began */
	put_launched(3, 2500, 2600);
	put_launched(4, 2700, 3500);
	put_launched(5, 2800, 900000);
	put_launched(6, 3600, 3700);
	put_launched(7, 0, 3800);
	rig_close(900100);
	snprintf(path, sizeof(path), "%s/rank0.steps", rig.folder);
	ledger = fopen(path, "w");
	fputs("#trainprof-ledger 1 run=000000000000004d boot=00000000000000010000000000000002 "
	      "mono=0 real=0 rank=0 local=0 world=4 node=0 pid=100 restart=0 host=here\n", ledger);
	for (int i = 0; i < 3; i++)
		fprintf(ledger, "s%d p4 t%d d1000\n", i, 1000 + 1000 * i);
	fclose(ledger);
	run = fuse_steps("1");
	for (uint32_t i = 0; i < n_events; i++) {
		if (event[i].kind != TP_REC_KERNEL)
			continue;
		cr_assert_lt(n, 4);
		cr_expect_eq(event[i].link, want[n], "%u", event[i].link);
		n++;
	}
	cr_expect_eq(n, 4, "%u", n);
	tp_run_free(run);
}
