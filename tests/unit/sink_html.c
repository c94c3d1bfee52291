/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_html.c of the merge: the page of a run whose every string would be more than text
 */
#include "merge/model/sink.h"
#include "merge/pass.h"
#include "tests/unit/merge_rig.h"
#include "tests/unit/text_file.h"

TestSuite(sink_html, .init = rig_begin, .fini = rig_end);

/* A run whose every string tries. */
static void write_hostile_run(void)
{
	static const char meta[] = "program=file:/x/</script><script>alert(1)</script>.py\n"
				   "host=<img onerror=alert(2)>\n";
	struct tp_file_head head = {.boot_id = {1, 2}, .run_id = 77, .pid = 100, .rank = 0,
				    .world_size = 1, .clock_source = TP_CLOCK_MONOTONIC};
	struct tp_thread_entry thread = {.slot = 0, .tid = 100, .torch_id = 1, .flags = 1,
					 .name = "</script>"};
	char path[256];

	snprintf(path, sizeof(path), "%s/evil.tpt", rig.folder);
	rig_anchor(0);
	rig.writer.long_ticks = TP_LONG_NS;
	cr_assert_eq(tp_writer_open(&rig.writer, path, &head, meta, sizeof(meta) - 1), 0);
	cr_assert_eq(tp_writer_threads(&rig.writer, &thread, 1), 0);
	rig_span(TP_REC_OP, rig_op("</script><b onclick=x>"), 1000, 9000);
	rig_span(TP_REC_OP, rig_op("<!--\xe2\x80\xae"), 2000, 3000);
	rig_span(TP_REC_RANGE, rig_text("]]>&lt;\xff"), 4000, 5000);
	rig_put((struct tp_rec){.time = 6000, .kind = TP_REC_COUNTER, .arg = 5,
				.name = rig_bytes(TP_STRING_COUNTER, "</script>\0B\0memory", 18)},
		0, 0);
	rig_close(10000);
}

Test(sink_html, a_page_of_a_hostile_run_has_no_script_but_its_own)
{
	struct tp_run *run;
	char path[256], *text;
	uint32_t n_parts = 8;

	write_hostile_run();
	run = rig_open(NULL, NULL, NULL);
	cr_assert_not_null(run);
	snprintf(path, sizeof(path), "%s/evil.html", rig.folder);
	cr_assert_eq(tp_pass_write(run, &tp_sink_html, path), 0);
	tp_run_free(run);
	text = read_whole(path);
	/* Data, and the page's own one or two. */
	cr_expect_eq(count(text, "<script type=\"application/json\" id=\"data-"), n_parts);
	cr_expect_eq(count(text, "<script"), count(text, "</script>"));
	cr_expect_leq(count(text, "<script"), n_parts + 2);
	cr_expect_eq(count(text, "<img"), 0);
	cr_expect_eq(count(text, "<b onclick"), 0);
	cr_expect_geq(count(text, "\\u003cb onclick"), 1);
	cr_expect_geq(count(text, "\\u003cimg onerror"), 1);
	cr_expect_eq(count(text, "{{data}}") + count(text, "{{policy}}"), 0);
	free(text);
}
