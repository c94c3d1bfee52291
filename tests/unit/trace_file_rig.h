/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file_rig.h - one trace file, written and read back, and what the reader complained about
 */
#ifndef TP_TESTS_TRACE_FILE_RIG_H
#define TP_TESTS_TRACE_FILE_RIG_H

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/trace/reader.h"
#include "runtime/trace/writer.h"

enum { N_IDS = 1000, FILE_MAX = 8 << 20 };

static char dir[64], path[128], part[128];
static struct tp_arena arena;
static struct tp_writer writer;
static struct tp_reader reader;
static struct tp_rec rec[40000], back[TP_BLOCK_EVENTS_MAX];
static uint16_t back_thread[TP_BLOCK_EVENTS_MAX];
static uint8_t bytes[FILE_MAX];

/* What the last file was complained about. */
static unsigned n_complaints;
static uint64_t complaint_offset;
static char complaint[256];

static inline void complain(void *ctx, const char *file, uint64_t offset, const char *what)
{
	cr_assert_str_eq(file, path);
	n_complaints++;
	complaint_offset = offset;
	snprintf(complaint, sizeof(complaint), "%s", what);
}

/* String id: "name ID", every tenth with a NUL and bytes that are no text; 999 is not
 * there. */
static inline bool find_string(void *ctx, uint32_t id, uint32_t *kind, const char **out,
			uint32_t *n)
{
	static char name[32];

	*n = (uint32_t)snprintf(name, sizeof(name), "name %u", id);
	if (id % 10 == 0)
		memcpy(name, "\0\n\xff", 3);
	*kind = id % 2 ? TP_STRING_OP : TP_STRING_SHAPES;
	*out = name;
	return id != 999;
}

static inline void set_up(void)
{
	snprintf(dir, sizeof(dir), "/tmp/trainprof-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rank0.tpt", dir);
	snprintf(part, sizeof(part), "%s/rank0.tpt.part", dir);
	cr_assert_eq(tp_arena_init(&arena, 64 << 20), 0);
	cr_assert_eq(tp_writer_init(&writer, &arena, N_IDS, find_string, NULL), 0);
}

static inline void tear_down(void)
{
	unlink(path);
	unlink(part);
	rmdir(dir);
	tp_arena_fini(&arena);
}

static const struct tp_file_head head = {
    .boot_id = {1, 2},
    .run_id = 3,
    .pid = 4,
    .window = 5,
    .rank = 6,
    .local_rank = -1,
    .world_size = 8,
    .node_rank = 9,
    .clock_source = TP_CLOCK_MONOTONIC,
    .restart = 10,
};

static inline void open_writer(void)
{
	cr_assert_eq(tp_writer_open(&writer, path, &head, "host=here\nx=a=b\n", 16), 0);
}

static inline void put_bytes(const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, data, n), (ssize_t)n);
	close(fd);
}

static inline size_t get_bytes(const char *file)
{
	int fd = open(file, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));

	close(fd);
	cr_assert(n >= 0 && n < FILE_MAX);
	return (size_t)n;
}

static inline int open_reader(void)
{
	n_complaints = 0;
	complaint[0] = '\0';
	return tp_reader_open(&reader, path, complain, NULL);
}

/* Everything in an open reader is read. Returns events that came out. */
static inline uint64_t read_all(void)
{
	uint64_t n_events = 0;

	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		const struct tp_block_head *block = &reader.block[i].head;
		const uint8_t *raw;
		uint32_t n;

		if (tp_reader_has_events(block)) {
			if (!tp_reader_events(&reader, i, back, back_thread))
				n_events += block->n_items;
		} else {
			tp_reader_payload(&reader, i, &raw, &n);
		}
	}
	return n_events;
}

/* 20,000 events on three threads, one in 500 a long span; also names, shapes and a few
 * threads. */
static inline uint32_t make_events(void)
{
	uint64_t now = 1000000;

	for (uint32_t i = 0; i < 20000; i++, now += 1000) {
		rec[i] = (struct tp_rec){.time = now,
					 .kind = TP_REC_OP,
					 .name = 1 + i % 700,
					 .link = TP_NO_SEQ,
					 .arg = TP_ARG_OP(i % 3 ? 0 : 700 + i % 290, 0, 0)};
		tp_rec_set_len(&rec[i], i % 500 ? 700 : TP_LONG_NS + 1);
	}
	rec[77].name = 999;
	rec[78].name = 4000000000u;
	return 20000;
}

#endif
