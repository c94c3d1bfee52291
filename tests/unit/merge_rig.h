/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_rig.h - small trace files for tests of the merge, written by the product's writer
 *
 * One writer for all files of a test program; strings are added as they are named. Times are
 * in ticks of a clock that runs at `rate` ticks a nanosecond from 0 on.
 */
#ifndef TP_TESTS_MERGE_RIG_H
#define TP_TESTS_MERGE_RIG_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/input/fuse.h"
#include "runtime/trace/writer.h"

enum { RIG_STRINGS = 256 };

static struct {
	char folder[64];
	struct tp_arena arena;
	struct tp_writer writer;
	struct {
		uint32_t kind, n;
		char bytes[512];
	} string[RIG_STRINGS];
	uint32_t n_strings;
	uint64_t rate;		/* ticks per ns */
	int64_t real_minus_mono;
} rig = {.n_strings = 1, .rate = 1};

static inline bool rig_string_of(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
				 uint32_t *n)
{
	if (!id || id >= rig.n_strings)
		return false;
	*kind = rig.string[id].kind;
	*bytes = rig.string[id].bytes;
	*n = rig.string[id].n;
	return true;
}

static inline uint32_t rig_bytes(uint32_t kind, const char *bytes, uint32_t n)
{
	for (uint32_t i = 1; i < rig.n_strings; i++) {
		if (rig.string[i].kind == kind && rig.string[i].n == n &&
		    !memcmp(rig.string[i].bytes, bytes, n))
			return i;
	}
	cr_assert(rig.n_strings < RIG_STRINGS && n <= sizeof(rig.string[0].bytes));
	rig.string[rig.n_strings].kind = kind;
	rig.string[rig.n_strings].n = n;
	memcpy(rig.string[rig.n_strings].bytes, bytes, n);
	return rig.n_strings++;
}

static inline uint32_t rig_text(const char *text)
{
	return rig_bytes(TP_STRING_TEXT, text, (uint32_t)strlen(text));
}

static inline uint32_t rig_op(const char *name)
{
	/* Name, NUL, no overload. */
	return rig_bytes(TP_STRING_OP, name, (uint32_t)strlen(name) + 1);
}

static inline void rig_begin(void)
{
	strcpy(rig.folder, "/tmp/trainprof-rig.XXXXXX");
	cr_assert_not_null(mkdtemp(rig.folder));
	cr_assert_eq(tp_arena_init(&rig.arena, 64 << 20), 0);
	cr_assert_eq(tp_writer_init(&rig.writer, &rig.arena, RIG_STRINGS, rig_string_of, NULL),
		     0);
}

static inline int rig_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static inline void rig_end(void)
{
	nftw(rig.folder, rig_remove, 16, FTW_DEPTH | FTW_PHYS);
	tp_arena_fini(&rig.arena);
}

static inline void rig_anchor(uint64_t ns)
{
	rig.writer.anchor = (struct tp_clock_anchor){
		.ticks = ns * rig.rate,
		.mono_ns = ns,
		.real_ns = (uint64_t)((int64_t)ns + rig.real_minus_mono),
		.bracket_ticks = 40 * rig.rate,
	};
}

/* A file of rank `rank`: head and main thread (slot 0, tid 100 + rank), first anchor at 0. */
static inline void rig_file(const char *name, int32_t rank, uint32_t window)
{
	struct tp_file_head head = {
		.boot_id = {1, 2}, .run_id = 77 + (uint64_t)rank, .pid = 100 + (uint32_t)rank,
		.window = window, .rank = rank, .local_rank = rank, .world_size = 4,
		.node_rank = 0, .clock_source = rig.rate == 1 ? TP_CLOCK_MONOTONIC : TP_CLOCK_TSC,
	};
	struct tp_thread_entry thread = {
		.slot = 0, .tid = 100 + (uint32_t)rank, .torch_id = 1, .flags = 1, .name = "python"};
	static const char meta[] = "program=/x/train.py\nhost=here\n";
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", rig.folder, name);
	rig_anchor(0);
	rig.writer.long_ticks = TP_LONG_NS * rig.rate;
	cr_assert_eq(tp_writer_open(&rig.writer, path, &head, meta, sizeof(meta) - 1), 0);
	cr_assert_eq(tp_writer_threads(&rig.writer, &thread, 1), 0);
}

static inline void rig_put(struct tp_rec rec, uint64_t len, uint16_t slot)
{
	tp_rec_set_len(&rec, len);
	cr_assert_eq(tp_writer_events(&rig.writer, &rec, 1, slot), 0);
}

static inline void rig_span(uint8_t kind, uint32_t name, uint64_t begin_ns, uint64_t end_ns)
{
	rig_put((struct tp_rec){.time = begin_ns * rig.rate, .kind = kind, .name = name,
				.link = TP_NO_SEQ}, (end_ns - begin_ns) * rig.rate, 0);
}

static inline void rig_close(uint64_t now_ns)
{
	rig_anchor(now_ns);
	cr_assert_eq(tp_writer_close(&rig.writer, "events=1\n", 9), 0);
}

static inline struct tp_run *rig_open(const char *ranks, const char *windows, const char *steps)
{
	static const char *path[1];
	struct tp_fuse_options options = {.path = path, .n_paths = 1, .ranks = ranks,
					  .windows = windows, .steps = steps, .is_quiet = true};

	path[0] = rig.folder;
	return tp_run_open(&options);
}

#endif
