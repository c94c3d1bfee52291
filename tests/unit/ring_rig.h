/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_rig.h - what the tests of the moving half share: a folder, a ring, records with known
 * contents, and the file of a ring read as a reader of the dead reads it
 */
#ifndef TP_TESTS_RING_RIG_H
#define TP_TESTS_RING_RIG_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/engine/ring/ring.h"
#include "tests/unit/await.h"

static char rig_dir[256];

static inline void rig_make_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(rig_dir, sizeof(rig_dir), "%s/tp-ring-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(rig_dir))
		abort();
}

static inline void rig_remove_dir(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", rig_dir);
	if (rig_dir[0] && system(command))
		abort();
}

/* Where nothing stays whatever comes of a test: scripts/run-tests says. "": in /dev/shm. */
static inline const char *rig_buffer_dir(void)
{
	const char *dir = getenv("TRAINPROF_BUFFER_DIR");

	return dir ? dir : "";
}

static inline int rig_open_ring(uint64_t bytes)
{
	struct tp_ring_spec spec = {
		.bytes = bytes, .dir = rig_dir, .buffer_dir = rig_buffer_dir(), .name = "rank0.1.ring",
		.run_id = (uint64_t)getpid() << 20 | 77, .rank = 0, .local_rank = 0,
		.world_size = 1, .node_rank = 0,
	};

	return tp_ring_open(&spec);
}

/* Every field follows from (who, n), so that a reader can tell a whole record from any other. */
static inline void rig_fill(struct tp_rec *rec, uint32_t who, uint64_t n)
{
	rec->time = n * 3 + 1;
	tp_rec_set_len(rec, n ^ who);
	rec->kind = TP_REC_OP;
	rec->flags = 0;
	rec->name = (uint32_t)(n * 2654435761u);
	rec->link = who;
	rec->arg = n;
}

static inline bool rig_is_whole(const struct tp_rec *rec)
{
	struct tp_rec want;

	memset(&want, 0, sizeof(want));
	rig_fill(&want, rec->link, rec->arg);
	return !memcmp(&want, rec, sizeof(want));
}

static inline bool rig_put(uint32_t who, uint64_t n)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return false;
	rig_fill(rec, who, n);
	tp_ring_commit();
	return true;
}

/* The whole file at `path`, by read(2), as another process would see it. */
static inline struct tp_ring_head *rig_read_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	bytes = malloc((size_t)st.st_size);
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = pread(fd, bytes + at, (size_t)(st.st_size - at), at);

		if (n <= 0)
			return NULL;
		at += n;
	}
	close(fd);
	return (struct tp_ring_head *)bytes;
}

/* Calls `each` for the records that only the ring has, in the order of the chunks' taking. */
typedef void (*rig_each_fn)(void *ctx, uint32_t slot, const struct tp_rec *rec);
static inline void rig_each_left(const struct tp_ring_head *head, rig_each_fn each, void *ctx)
{
	const struct tp_chunk *chunk = (const void *)((const char *)head + head->chunks_at);
	uint64_t last = 0;
	bool is_first = true;

	for (;;) {
		const struct tp_chunk *next = NULL;

		for (uint32_t i = 0; i < head->n_chunks; i++)
			if (chunk[i].state != TP_CHUNK_FREE &&
			    (is_first || chunk[i].sequence > last) &&
			    (!next || chunk[i].sequence < next->sequence))
				next = &chunk[i];
		if (!next)
			return;
		for (uint32_t i = tp_chunk_in_file(next, head->pass_done); i < next->published; i++)
			each(ctx, next->slot, &next->rec[i]);
		last = next->sequence;
		is_first = false;
	}
}

#endif
