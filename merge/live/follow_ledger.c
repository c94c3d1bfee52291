/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow_ledger.c - what was appended to a ledger since the last look, and where its process stands
 *
 * A ledger's process holds a lock on it as long as it lives (naming_claim.c), so whoever reads it knows,
 * on whatever machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/infile.h"
#include "merge/live/follow.h"
#include "runtime/base/file.h"
#include "runtime/base/hold.h"
#include "runtime/trace/reader.h"

enum { READ_BYTES = 64 << 10, HEAD_BYTES = 2 * TP_LEDGER_LINE_MAX };

bool tp_follow_begin_ledger(const struct tp_follow *follow, struct tp_follow_rank *rank)
{
	char text[HEAD_BYTES];
	int fd = tp_file_open_at(follow->dir, rank->name, O_RDONLY | O_NOFOLLOW, 0);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	struct stat st = {0};

	if (end && !tp_ledger_parse_head(text, (size_t)(end - text), &rank->head))
		end = NULL;
	if (end && fstat(fd, &st))
		end = NULL;
	if (fd >= 0)
		close(fd);
	if (!end)
		return false;
	rank->inode = st.st_ino;
	rank->at = (uint64_t)(end + 1 - text);
	/* Into the middle of a line: what is left of it is no row. */
	if (!follow->is_whole && st.st_size > (off_t)rank->at + TP_FOLLOW_TAIL)
		rank->at = (uint64_t)st.st_size - TP_FOLLOW_TAIL;
	return true;
}

static void add_part(struct tp_follow_part *part, const struct tp_ledger_row *row)
{
	part->steps++;
	part->step_ns += row->dur_ns;
	part->data_wait_ns += row->data_wait_ns;
	part->optimizer_ns += row->optimizer_ns;
	if (row->dur_ns > part->most_ns)
		part->most_ns = row->dur_ns;
}

static void take_line(struct tp_follow *follow, struct tp_follow_rank *rank, const char *line, size_t n)
{
	struct tp_ledger_row row;

	if (n + 1 == strlen(TP_LEDGER_END) && !memcmp(line, TP_LEDGER_END, n))
		rank->has_ended = true;
	/* A file that was made anew after its folder was removed has its last steps again. */
	if (!tp_ledger_parse_row(line, n, &row) || (rank->has_step && row.index <= rank->last.index) ||
	    row.dur_ns > INT64_MAX / 2 || row.data_wait_ns > INT64_MAX / 2)
		return;
	rank->last = row;
	rank->has_step = true;
	rank->dropped += row.dropped;
	add_part(&rank->all, &row);
	add_part(&rank->part[follow->look % TP_FOLLOW_LOOKS], &row);
	if (follow->step)
		follow->step(follow->ctx, rank, &row);
}

/* Whole lines of `text`; returns their bytes. */
static size_t take_lines(struct tp_follow *follow, struct tp_follow_rank *rank, const char *text,
			 size_t n)
{
	const char *at = text, *end;

	while ((end = memchr(at, '\n', n - (size_t)(at - text)))) {
		take_line(follow, rank, at, (size_t)(end - at));
		at = end + 1;
	}
	return (size_t)(at - text);
}

/* What is there now: who appends faster than we read does not hold up the look. A line that fills the room
 * for many is passed over, and so is where nothing was ever written. */
static void take_appended(struct tp_follow *follow, struct tp_follow_rank *rank, int fd, uint64_t bytes)
{
	static char text[READ_BYTES];

	while (rank->at < bytes) {
		ssize_t n = pread(fd, text, sizeof(text), (off_t)rank->at);
		size_t n_taken = n > 0 ? take_lines(follow, rank, text, (size_t)n) : 0;

		if (!n_taken && n == READ_BYTES)
			rank->at = tp_infile_data(fd, rank->at + READ_BYTES);
		else if (!n_taken)
			return;
		rank->at += n_taken;
	}
}

/* Of a run that was started again in the same folder. */
static bool is_replaced(struct tp_follow *follow, struct tp_follow_rank *rank, const struct stat *st)
{
	struct tp_follow_rank again = {.name = rank->name};

	if (st->st_ino == rank->inode)
		return false;
	if (tp_follow_begin_ledger(follow, &again)) {
		*rank = again;
		follow->has_new = true;
	}
	return true;
}

void tp_follow_read_ledger(struct tp_follow *follow, struct tp_follow_rank *rank)
{
	int fd = tp_file_open_at(follow->dir, rank->name, O_RDONLY | O_NOFOLLOW, 0);
	const uint64_t before = rank->at;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || is_replaced(follow, rank, &st)) {
		rank->is_alive = false;
		if (fd >= 0)
			close(fd);
		return;
	}
	take_appended(follow, rank, fd, (uint64_t)st.st_size);
	/* What was written just now was written by somebody. */
	if (!rank->has_ended && (rank->at == before || follow->look == 1))
		rank->is_alive = tp_hold_briefly(fd) == -EWOULDBLOCK;
	else
		rank->is_alive = !rank->has_ended;
	close(fd);
}

void tp_follow_read_ring(const struct tp_follow *follow, struct tp_follow_rank *rank)
{
	struct tp_ring_head head;
	struct stat st;
	int fd = tp_infile_find(follow->dir, rank->ring, &st);

	rank->has_ring = fd >= 0 && !tp_file_read_at(fd, 0, &head, sizeof(head)) &&
			 head.magic == TP_RING_MAGIC && head.version == TP_RING_VERSION &&
			 head.run_id == rank->head.run_id;
	if (fd >= 0)
		close(fd);
	if (!rank->has_ring)
		return;
	rank->phase = head.phase;
	rank->windows_begun = head.windows_begun;
	rank->windows_written = head.windows_written;
	head.meta[sizeof(head.meta) - 1] = '\0';
	if (!rank->schedule[0])
		tp_reader_text_value(head.meta, strlen(head.meta), "SCHEDULE", rank->schedule,
				     sizeof(rank->schedule));
}
