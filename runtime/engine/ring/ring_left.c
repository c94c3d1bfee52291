/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_left.c - what a dead process's ring has that is in no file, and the memory of the rest
 *
 * Counted as trainprof-merge would find it (ring_layout.h), but for one thing: what belongs to no
 * window counts, too. Whether that is so is for the merge to say.
 */
#include "runtime/engine/ring/ring_left.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/trace/ring_layout.h"

static bool is_inside(uint64_t at, uint64_t n, uint64_t each, uint64_t file_bytes)
{
	return at <= file_bytes && n <= (file_bytes - at) / each;
}

static bool read_head(int fd, struct tp_ring_head *head)
{
	struct stat st;
	uint64_t bytes;

	if (fstat(fd, &st) < 0 || tp_file_read_at(fd, 0, head, sizeof(*head)))
		return false;
	bytes = (uint64_t)st.st_size;
	return head->magic == TP_RING_MAGIC && head->version == TP_RING_VERSION &&
	       is_inside(head->slots_at, head->n_slots, sizeof(struct tp_ring_slot), bytes) &&
	       is_inside(head->chunks_at, head->n_chunks, sizeof(struct tp_chunk), bytes);
}

/* The members of struct tp_chunk before the records, which nobody needs here. */
struct chunk_head {
	uint32_t slot, state;
	uint64_t sequence;
	uint32_t published, drained, window, taken;
	uint64_t pass;
	uint64_t rest[3];
};
#define SAME_PLACE(member)                                                                 \
	_Static_assert(offsetof(struct chunk_head, member) ==                              \
		       offsetof(struct tp_chunk, member), #member)
SAME_PLACE(state);
SAME_PLACE(published);
SAME_PLACE(drained);
SAME_PLACE(taken);
SAME_PLACE(pass);
_Static_assert(sizeof(struct chunk_head) == offsetof(struct tp_chunk, rec), "chunk head");

/* The records of chunk i that are in no file. False: it cannot be read. */
static bool count_chunk(int fd, const struct tp_ring_head *head, uint32_t i, uint32_t *n)
{
	struct chunk_head chunk;
	uint32_t in_file;

	*n = 0;
	if (tp_file_read_at(fd, head->chunks_at + i * sizeof(struct tp_chunk), &chunk, sizeof(chunk)))
		return false;
	if (chunk.state == TP_CHUNK_FREE)
		return true;
	/* As tp_chunk_in_file. */
	in_file = chunk.pass && chunk.pass <= head->pass_done ? chunk.taken : chunk.drained;
	if (chunk.published > in_file)
		*n = chunk.published - in_file;
	return true;
}

static bool count_records(int fd, const struct tp_ring_head *head, struct tp_ring_left *left)
{
	uint32_t n;

	for (uint32_t i = 0; i < head->n_chunks; i++) {
		if (!count_chunk(fd, head, i, &n))
			return false;
		left->n_records += n;
	}
	return true;
}

static bool count_spans(int fd, const struct tp_ring_head *head, struct tp_ring_left *left)
{
	for (uint32_t i = 0; i < head->n_slots; i++) {
		uint32_t word[4];	/* tid, is_dead, chunk, depth */

		if (tp_file_read_at(fd, head->slots_at + i * sizeof(struct tp_ring_slot), word,
				    sizeof(word)))
			return false;
		if (word[0] && !word[1])
			left->n_spans += word[3];
	}
	return true;
}

bool tp_ring_left(int fd, struct tp_ring_left *left)
{
	struct tp_ring_head head;

	*left = (struct tp_ring_left){0};
	if (!read_head(fd, &head))
		return false;
	if (head.is_closed)
		return true;
	if (head.steps_done > head.steps_drained)
		left->n_steps = head.steps_done - head.steps_drained;
	left->n_windows = head.windows_begun - head.windows_written;
	return count_records(fd, &head, left) && count_spans(fd, &head, left);
}

bool tp_ring_left_is_none(const struct tp_ring_left *left)
{
	return !left->n_records && !left->n_steps && !left->n_windows && !left->n_spans;
}

/* Whole pages only: the first of a chunk says what is in it. */
static void give_back(int fd, uint64_t from, uint64_t to)
{
	const uint64_t page = 4096;

	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (from < to)
		(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
				 (off_t)(to - from));
}

void tp_ring_trim(int fd)
{
	struct tp_ring_head head;
	uint32_t n;

	if (!read_head(fd, &head) || head.after_death & TP_RING_TRIMMED)
		return;
	for (uint32_t i = 0; i < head.n_chunks; i++) {
		uint64_t at = head.chunks_at + i * sizeof(struct tp_chunk);

		if (count_chunk(fd, &head, i, &n) && !n)
			give_back(fd, at + sizeof(struct chunk_head), at + sizeof(struct tp_chunk));
	}
	if (head.names_used <= head.names_bytes && head.names_at < head.chunks_at &&
	    head.names_bytes <= head.chunks_at - head.names_at)
		give_back(fd, head.names_at + head.names_used, head.names_at + head.names_bytes);
	head.after_death |= TP_RING_TRIMMED;
	(void)!pwrite(fd, &head.after_death, sizeof(head.after_death),
		      offsetof(struct tp_ring_head, after_death));
}
