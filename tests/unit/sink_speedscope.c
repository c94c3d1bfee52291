/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_speedscope.c of the merge: the JSON, against one made by hand; tests/flow checks the schema
 */
#include "tests/unit/heap_rig.h"

TestSuite(sink_speedscope, .init = rig_begin, .fini = rig_end);

static const char *write_rows(struct tp_hostmem_row *row, uint32_t n, uint32_t n_procs)
{
	struct tp_heap_rows heap = heap_rows(row, n, n_procs);
	struct tp_flame_rows rows = tp_heap_flame(&heap);
	char path[128];

	snprintf(path, sizeof(path), "%s/a.speedscope.json", rig.folder);
	cr_assert_eq(tp_speedscope_write(&rows, 1, path), 0);
	return rig_read("a.speedscope.json");
}

Test(sink_speedscope, a_profile_for_each_cost_and_frames_by_line)
{
	const char *text = write_rows(heap_row, HEAP_ROWS, 1);

	cr_expect_str_eq(text,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		"\"exporter\":\"trainprof-merge\",\n"
		"\"name\":\"host memory of trainprof-run\",\n"
		"\"activeProfileIndex\":0,\n"
		"\"profiles\":[\n"
		"{\"type\":\"sampled\",\"name\":\"bytes at the peak\",\"unit\":\"bytes\","
		"\"startValue\":0,\"endValue\":438,\"samples\":[\n"
		"[0,1,2,3,4,5],\n[0,1,6,3,4,5],\n[7,8]],\n\"weights\":[400,30,8]},\n"
		"{\"type\":\"sampled\",\"name\":\"allocations\",\"unit\":\"none\","
		"\"startValue\":0,\"endValue\":25,\"samples\":[\n"
		"[0,1,2,3,4,5],\n[0,1,6,3,4,5],\n[9],\n[9,10,11,12],\n[7,8]],\n"
		"\"weights\":[10,2,7,5,1]},\n"
		"{\"type\":\"sampled\",\"name\":\"bytes alive at the end\",\"unit\":\"bytes\","
		"\"startValue\":0,\"endValue\":30,\"samples\":[\n[0,1,6,3,4,5]],\n"
		"\"weights\":[30]},\n"
		"{\"type\":\"sampled\",\"name\":\"temporary allocations\",\"unit\":\"none\","
		"\"startValue\":0,\"endValue\":3,\"samples\":[\n[0,1,2,3,4,5]],\n"
		"\"weights\":[3]}],\n"
		"\"shared\":{\"frames\":[\n"
		"{\"name\":\"_start\",\"file\":\"/usr/bin/python3\"},\n"
		"{\"name\":\"<module>\",\"file\":\"/x/train.py\",\"line\":40},\n"
		"{\"name\":\"Net.forward\",\"file\":\"/x/model/net.py\",\"line\":12},\n"
		"{\"name\":\"at::native::empty_like\",\"file\":\"Tensor.cpp\",\"line\":300},\n"
		"{\"name\":\"at::empty(int; int)\",\"file\":\"Empty.h\",\"line\":11},\n"
		"{\"name\":\"alloc_cpu(unsigned long)\",\"file\":\"alloc.cpp\",\"line\":92},\n"
		"{\"name\":\"Net.forward\",\"file\":\"/x/model/net.py\",\"line\":13},\n"
		"{\"name\":\"#a\\nb\\t\\\"c\\\"\\\\;\xef\xbf\xbd<d>&\xe2\x80\xae\","
		"\"file\":\"q\\\"\\n.c\",\"line\":1},\n"
		"{\"name\":\"take 12\",\"file\":\"/lib/libtorch_cpu.so\"},\n"
		"{\"name\":\"(callers not known)\"},\n"
		"{\"name\":\"(unknown)\"},\n"
		"{\"name\":\"libtorch_cpu.so+0x4100\",\"file\":\"/lib/libtorch_cpu.so\"},\n"
		"{\"name\":\"libtorch_cpu.so+0x4000\",\"file\":\"/lib/libtorch_cpu.so\"}]}}\n");
}

Test(sink_speedscope, estimates_and_processes_are_called_so)
{
	struct tp_hostmem_row row[2] = {heap_row[0], heap_row[0]};
	struct tp_heap_rows heap = heap_rows(row, 2, 2);
	struct tp_flame_rows rows;
	char path[128];

	row[1].proc = 1;
	heap.sample_bytes = 524288;
	rows = tp_heap_flame(&heap);
	snprintf(path, sizeof(path), "%s/a.speedscope.json", rig.folder);
	cr_assert_eq(tp_speedscope_write(&rows, 1, path), 0);
	rig_has(rig_read("a.speedscope.json"), "(estimates: it was sampled)\"");
	rig_has(rig_text_of, "{\"name\":\"rank 0: train.py (pid 1000)\"}");
	rig_has(rig_text_of, "{\"name\":\"rank 1: train.py (pid 1001)\"}");
}

Test(sink_speedscope, no_profile_of_a_cost_that_nothing_has)
{
	const char *text = write_rows(heap_row + 2, 2, 1);

	rig_has(text, "\"name\":\"bytes at the peak\"");
	rig_has(text, "\"name\":\"allocations\"");
	cr_expect_eq(rig_count(text, "\"type\":\"sampled\""), 2, "%s", text);
}
