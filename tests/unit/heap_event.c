/* SPDX-License-Identifier: Apache-2.0 */
/* Records of blocks and mappings, as the hooks have them made. */
#include "tests/unit/probe_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <sys/mman.h>

#include "runtime/engine/config/config.h"
#include "runtime/engine/session.h"
#include "runtime/probe/heap/heap.h"
#include "runtime/probe/heap/heap_count.h"
#include "runtime/probe/heap/heap_event.h"
#include "runtime/probe/heap/heap_map.h"
#include "runtime/probe/heap/heap_sample.h"

#define FRAME __builtin_frame_address(0)
#define BLOCK(n) ((void *)(uintptr_t)(0x10000 * (n)))

static struct tp_config config = {
	.record = TP_RECORD_HEAP, .heap = TP_HEAP_ALL, .heap_sample = 1000,
};

static void set_up(void)
{
	rig_open_window("heap-test");
}

static void arm(enum tp_heap_depth depth)
{
	config.heap = depth;
	cr_assert_eq(tp_heap_probe.open(&config), 0);
	tp_heap_probe.arm();
	tp_own_words.level = TP_LEVEL_WINDOW;
}

static void expect(uint32_t i, uint32_t kind, uint32_t flags, uint64_t address, uint64_t len)
{
	cr_assert_lt(i, got.n);
	cr_expect_eq(got.rec[i].kind, kind, "record %u is a %u, not a %u", i, got.rec[i].kind, kind);
	cr_expect_eq(got.rec[i].flags, flags, "record %u has flags %u, not %u", i,
		     got.rec[i].flags, flags);
	cr_expect_eq(got.rec[i].arg, address);
	cr_expect_eq(tp_rec_len(&got.rec[i]), len);
	if (i)
		cr_expect_geq(got.rec[i].time, got.rec[i - 1].time);
}

TestSuite(heap_event, .init = set_up, .fini = tear_down);

Test(heap_event, an_allocation_a_free_a_move)
{
	struct tp_heap_move move;

	arm(TP_HEAP_ALL);
	tp_heap_record_alloc(BLOCK(1), 100, FRAME);
	tp_heap_move_begin(&move, BLOCK(1));
	tp_heap_move_end(&move, BLOCK(2), 1ull << 40, FRAME);
	tp_heap_move_begin(&move, BLOCK(2));
	tp_heap_move_fail(&move);
	tp_heap_record_free(BLOCK(2));
	tp_heap_record_alloc(BLOCK(3), 0, FRAME);
	tp_heap_move_begin(&move, BLOCK(3));
	tp_heap_move_end(&move, NULL, 0, FRAME);
	collect();
	expect(0, TP_REC_HEAPALLOC, 0, 0x10000, 100);
	expect(1, TP_REC_HEAPFREE, TP_F_MOVED, 0x10000, 0);
	expect(2, TP_REC_HEAPALLOC, TP_F_MOVED, 0x20000, 1ull << 40);
	expect(3, TP_REC_HEAPFREE, 0, 0x20000, 0);
	expect(4, TP_REC_HEAPALLOC, 0, 0x30000, 0);
	expect(5, TP_REC_HEAPFREE, 0, 0x30000, 0);
	cr_expect_eq(got.n, 6);
}

Test(heap_event, only_in_a_window_and_only_of_the_program)
{
	arm(TP_HEAP_ALL);
	tp_own_words.level = TP_LEVEL_NONE;	/* the session has ended */
	tp_heap_record_alloc(BLOCK(1), 1, FRAME);
	tp_own_words.level = TP_LEVEL_WINDOW;
	tp_heap_self.is_quiet = true;
	tp_heap_record_alloc(BLOCK(1), 1, FRAME);
	tp_heap_record_free(BLOCK(1));
	cr_expect_not(tp_heap_map_is_on());
	tp_heap_self.is_quiet = false;
	cr_expect(tp_heap_map_is_on());
	tp_heap_probe.disarm();
	cr_expect_not(tp_heap_get_mode() & TP_HEAP_EVENTS);
	cr_expect_not(tp_heap_map_is_on());
	collect();
	cr_expect_eq(got.n, 0);
}

/* As a signal handler does that comes while another probe makes a record. */
Test(heap_event, not_between_reserve_and_commit)
{
	struct tp_rec *rec;
	uint64_t nested;

	arm(TP_HEAP_ALL);
	nested = tp_heap_nested();
	rec = tp_ring_reserve();
	cr_assert(rec);
	*rec = (struct tp_rec){ .kind = TP_REC_MARK, .arg = 7 };
	tp_heap_record_alloc(BLOCK(1), 1, FRAME);
	cr_expect_not(tp_heap_map_is_on());
	tp_ring_commit();
	tp_heap_record_free(BLOCK(2));
	cr_expect_eq(tp_heap_nested(), nested + 1);
	collect();
	expect(0, TP_REC_MARK, 0, 7, 0);
	expect(1, TP_REC_HEAPFREE, 0, 0x20000, 0);
	cr_expect_eq(got.n, 2);
}

Test(heap_event, the_depth_says_what_is_recorded)
{
	arm(TP_HEAP_COUNTERS);
	cr_expect_eq(tp_heap_get_mode(), TP_HEAP_LIVE);
	arm(TP_HEAP_SAMPLE);
	cr_expect_eq(tp_heap_get_mode(), TP_HEAP_LIVE | TP_HEAP_EVENTS | TP_HEAP_CHOSEN);
	tp_heap_probe.disarm();
	cr_expect_eq(tp_heap_get_mode(), TP_HEAP_LIVE);
	config.record = 0;
	arm(TP_HEAP_ALL);
	cr_expect_eq(tp_heap_get_mode(), TP_HEAP_LIVE);
	tp_heap_stop_live();
	cr_expect_eq(tp_heap_get_mode(), 0);
}

Test(heap_event, of_a_sample_both_ends)
{
	enum { LARGE = 1000000 };	/* a thousand means: chosen for sure */
	struct tp_heap_move move;

	arm(TP_HEAP_SAMPLE);
	tp_heap_record_alloc(BLOCK(1), LARGE, FRAME);
	tp_heap_record_free(BLOCK(9));
	tp_heap_move_begin(&move, BLOCK(1));
	tp_heap_move_fail(&move);
	tp_heap_move_begin(&move, BLOCK(1));
	tp_heap_move_end(&move, BLOCK(2), LARGE, FRAME);
	/* One that was not chosen becomes one that is. */
	tp_heap_move_begin(&move, BLOCK(9));
	tp_heap_move_end(&move, BLOCK(3), LARGE, FRAME);
	tp_heap_self.until_sample = 1 << 20;
	tp_heap_move_begin(&move, BLOCK(3));
	tp_heap_move_end(&move, BLOCK(4), 10, FRAME);
	tp_heap_record_free(BLOCK(4));
	tp_heap_record_free(BLOCK(2));
	collect();
	expect(0, TP_REC_HEAPALLOC, TP_F_SAMPLED, 0x10000, LARGE);
	expect(1, TP_REC_HEAPFREE, TP_F_SAMPLED | TP_F_MOVED, 0x10000, 0);
	expect(2, TP_REC_HEAPALLOC, TP_F_SAMPLED | TP_F_MOVED, 0x20000, LARGE);
	expect(3, TP_REC_HEAPALLOC, TP_F_SAMPLED, 0x30000, LARGE);
	expect(4, TP_REC_HEAPFREE, TP_F_SAMPLED, 0x30000, 0);
	expect(5, TP_REC_HEAPFREE, TP_F_SAMPLED, 0x20000, 0);
	cr_expect_eq(got.n, 6);
}

/* ---- mappings ---- */

/* What the i-th record's name says. */
static struct tp_mapping mapping_of(uint32_t i, const char **path)
{
	static char text[4096];
	struct tp_mapping what = { 0 };
	const char *bytes;
	uint32_t kind, n;

	cr_assert(tp_intern_get(NULL, got.rec[i].name, &kind, &bytes, &n));
	cr_assert_eq(kind, TP_STRING_MAPPING);
	cr_assert_geq(n, sizeof(what));
	memcpy(&what, bytes, sizeof(what));
	n -= (uint32_t)sizeof(what);
	memcpy(text, bytes + sizeof(what), n);
	text[n] = '\0';
	*path = text;
	return what;
}

static void record_map(void *address, size_t bytes, int protection, int flags, int fd)
{
	const struct tp_heap_mmap map = { address, bytes, protection, flags, fd };

	tp_heap_record_map(tp_clock_now(), &map, FRAME);
}

Test(heap_event, mappings_say_what_they_are)
{
	static const struct {
		int protection, flags, file;	/* file: -1 none, 0 memory, 1 a real one */
		uint8_t kind, is_shared, is_writable, is_executable;
	} row[] = {
		{ PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, TP_MAPPING_ANON, 0, 1, 0 },
		{ PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, TP_MAPPING_SHARED, 1, 0, 0 },
		{ PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, TP_MAPPING_RESERVED, 0, 0, 0 },
		{ PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE, 0, TP_MAPPING_SHM, 1, 1, 0 },
		{ PROT_READ | PROT_EXEC, MAP_PRIVATE, 1, TP_MAPPING_FILE, 0, 0, 1 },
	};
	int memory = memfd_create("tp-test", 0), file = open("/proc/self/exe", O_RDONLY);
	const char *path;

	arm(TP_HEAP_ALL);
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		record_map(BLOCK(i + 1), 5000, row[i].protection, row[i].flags,
			   row[i].file < 0 ? -1 : row[i].file ? file : memory);
	collect();
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_mapping what = mapping_of(i, &path);

		expect(i, TP_REC_MAP, 0, 0x10000 * (i + 1), 8192);
		cr_expect_eq(what.kind, row[i].kind, "row %u: kind %u", i, what.kind);
		cr_expect_eq(what.is_shared, row[i].is_shared);
		cr_expect_eq(what.is_writable, row[i].is_writable);
		cr_expect_eq(what.is_executable, row[i].is_executable);
		if (row[i].file < 0)
			cr_expect_str_eq(path, "");
		else
			cr_expect(strstr(path, row[i].file ? "heap_event" : "memfd:tp-test"), "%s",
				  path);
	}
}

Test(heap_event, what_is_mapped_over_is_unmapped_first)
{
	struct tp_heap_mremap remap = { BLOCK(1), BLOCK(5), 8192, 20000, MREMAP_MAYMOVE };
	const char *path;
	uint64_t begin;

	arm(TP_HEAP_ALL);
	begin = tp_clock_now();
	record_map(BLOCK(1), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	tp_heap_record_unmap(tp_clock_now(), BLOCK(2), 1, 77);
	tp_heap_record_remap(tp_clock_now(), &remap, 78);
	remap.flags |= MREMAP_FIXED;
	tp_heap_record_remap(tp_clock_now(), &remap, 78);
	remap.flags = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
	tp_heap_record_remap(tp_clock_now(), &remap, 78);
	collect();
	expect(0, TP_REC_UNMAP, 0, 0x10000, 4096);
	cr_expect_geq(got.rec[0].time, begin);
	expect(1, TP_REC_MAP, 0, 0x10000, 4096);
	expect(2, TP_REC_UNMAP, 0, 0x20000, 4096);
	expect(3, TP_REC_UNMAP, TP_F_MOVED, 0x10000, 8192);
	expect(4, TP_REC_MAP, TP_F_MOVED, 0x50000, 20480);
	cr_expect_eq(got.rec[4].name, 0);
	cr_expect_eq(got.rec[2].link, 77);
	cr_expect_eq(got.rec[4].link, 78);
	expect(5, TP_REC_UNMAP, 0, 0x50000, 20480);
	expect(6, TP_REC_UNMAP, TP_F_MOVED, 0x10000, 8192);
	expect(7, TP_REC_MAP, TP_F_MOVED, 0x50000, 20480);
	expect(8, TP_REC_MAP, 0, 0x50000, 20480);
	cr_expect_eq(mapping_of(8, &path).kind, TP_MAPPING_ANON);
	cr_expect_eq(got.n, 9);
}
