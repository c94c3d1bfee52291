/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c of the merge: what is shown does not depend on the format, but where a dialect says so
 */
#include "merge/sink/timeline.h"
#include "tests/unit/gpu_rig.h"

enum { LINES = 64, LINE = 400 };

/* An encoder that writes down what it is told. */
struct seen {
	char line[LINES][LINE];
	uint32_t n, n_ends;
	bool is_in_order;	/* a lane was described before anything on it */
};

static const struct tp_device_place stream_7 = {0, 1, 7};

/* Names of those that all dialects have; not of the stream, which JSON leaves out of waits of the
 * host. */
static char *put_args(char *p, const struct tp_args *args)
{
	for (uint32_t i = 0; i < args->n; i++) {
		const struct tp_arg *arg = &args->arg[i];
		const struct tp_key_text *key = &tp_key_text[arg->key];

		if (arg->kind == TP_ARG_ENCODED)
			p = mempcpy(p, arg->text, arg->n);
		else if (key->in & tp_dialect_chrome.bit && key->in & tp_dialect_perfetto.bit &&
			 arg->key != TP_KEY_STREAM)
			p = mempcpy(p, key->json, key->n + 4u);
	}
	return p;
}

static void describe(void *ctx, struct tp_lane *lane, int64_t ns)
{
	lane->is_described = true;
}

static void take_slice(void *ctx, const struct tp_slice *s)
{
	struct seen *seen = ctx;
	char args[LINE / 2];

	cr_assert_lt(seen->n, LINES);
	*put_args(args, &s->args) = 0;
	seen->is_in_order &= s->lane->is_described;
	snprintf(seen->line[seen->n++], LINE, "%s: %d %.20s %ld to %ld%s", s->lane->title,
		 s->category, s->text ? s->text : s->name->bytes, (long)s->begin_ns,
		 s->category >= TP_SLICE_INSTANTS ? (long)s->begin_ns : (long)s->end_ns, args);
}

static void take_flow(void *ctx, const struct tp_flow *flow)
{
	struct seen *seen = ctx;

	cr_assert_lt(seen->n, LINES);
	seen->is_in_order &= flow->from->is_described && flow->to->is_described;
	snprintf(seen->line[seen->n++], LINE, "arrow %d %s %ld to %s %ld", flow->category,
		 flow->from->title, (long)flow->from_ns, flow->to->title, (long)flow->to_ns);
}

static void take_point(void *ctx, const struct tp_point *point)
{
	struct seen *seen = ctx;

	cr_assert_lt(seen->n, LINES);
	snprintf(seen->line[seen->n++], LINE, "%s: %s = %lx at %ld", point->lane->title,
		 point->title, (unsigned long)point->bits, (long)point->ns);
}

static void take_end(void *ctx, struct tp_lane *lane, int64_t ns)
{
	((struct seen *)ctx)->n_ends++;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void give(void *timeline, const struct tp_event *event)
{
	tp_timeline_event(timeline, event);
}

/* What the rig has written, as that dialect shows it, sorted. */
static void show(struct seen *seen, const struct tp_dialect *dialect, bool has_ends)
{
	const struct tp_encoder encoder = {
		.lane_bytes = sizeof(struct tp_lane), .describe = describe, .slice = take_slice,
		.end = has_ends ? take_end : NULL, .point = take_point, .flow = take_flow,
		.put_args = put_args,
	};
	struct tp_run *run = rig_open(NULL, NULL, NULL);
	struct tp_timeline *timeline;
	struct tp_facts *facts;

	cr_assert_not_null(run);
	*seen = (struct seen){.is_in_order = true};
	facts = tp_facts_new(run);
	timeline = tp_timeline_new(facts, dialect, &encoder, seen, NULL);
	cr_assert_eq(tp_fuse_events(run, give, timeline), 0);
	tp_timeline_end(timeline);
	tp_timeline_free(timeline);
	tp_facts_free(facts);
	tp_run_free(run);
	qsort(seen->line, seen->n, LINE, compare_lines);
}

static void write_run(void)
{
	static const struct tp_coll coll = {.n_ranks = 8, .root = -1};

	rig_file("a.tpt", 0, 0);
	rig_device(0);
	rig_span(TP_REC_OP, rig_op("aten::mm"), 1000, 9000);
	rig_span(TP_REC_RANGE, rig_text("mine"), 1100, 9500);
	rig_call("cudaLaunchKernel", 100, 5, 0, 1200, 1300);
	rig_call("cudaStreamSynchronize", 100, 6, 0, 6000, 8000);
	rig_kernel("gemm", stream_7, 5, 2000, 5000);
	rig_kernel("crosses", stream_7, 5, 4000, 7000);
	rig_copy(stream_7, 5, 4096, 7100, 7200);
	rig_sync(TP_SYNC_STREAM, stream_7, 6, 0, 6100, 7900);
	rig_put((struct tp_rec){.time = 3000, .kind = TP_REC_MARK, .name = rig_text("loss"),
				.arg = 7}, 0, 0);
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_COLL, .link = 3,
				.name = rig_bytes(TP_STRING_COLL, (const char *)&coll,
						  sizeof(coll))},
		2000, 0);
	rig_close(90000);
}

TestSuite(timeline, .init = rig_begin, .fini = rig_end);

Test(timeline, slices_arrows_and_arguments_are_the_same_in_all_formats)
{
	static struct seen chrome, perfetto;
	uint32_t n_slices = 0;

	write_run();
	show(&chrome, &tp_dialect_chrome, false);
	show(&perfetto, &tp_dialect_perfetto, true);
	cr_expect(chrome.is_in_order);
	cr_expect(perfetto.is_in_order);
	cr_assert_eq(chrome.n, perfetto.n);
	for (uint32_t i = 0; i < chrome.n; i++) {
		cr_expect_str_eq(chrome.line[i], perfetto.line[i]);
		n_slices += !strstr(chrome.line[i], "arrow ") && strstr(chrome.line[i], " to ");
	}
	/* A mark has no end. */
	cr_expect_eq(chrome.n_ends, 0);
	cr_expect_eq(perfetto.n_ends, n_slices - 1);
}

Test(timeline, torchs_files_have_waits_on_devices_and_no_more_than_its_readers_know)
{
	static const char collective[] = "NCCL 1: ";
	static struct seen chrome, torch;
	uint32_t n_waits = 0, n_collectives = 0;

	write_run();
	show(&chrome, &tp_dialect_chrome, false);
	show(&torch, &tp_dialect_hta, false);
	for (uint32_t i = 0; i < chrome.n; i++) {
		n_waits += strstr(chrome.line[i], "thread 100 (main): ") &&
			   strstr(chrome.line[i], "Stream Sync");
		n_collectives += strstr(chrome.line[i], collective) != NULL;
	}
	cr_expect_eq(n_waits, 1);
	cr_expect_gt(n_collectives, 0);
	for (uint32_t i = 0; i < torch.n; i++) {
		n_waits += strstr(torch.line[i], "stream 7, waits: ") != NULL;
		cr_expect_null(strstr(torch.line[i], collective));
	}
	cr_expect_eq(n_waits, 2);
}
