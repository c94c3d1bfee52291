/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_records.c - the records of a ring that are in no file: found, kept, handed out
 *
 * ring_layout.h says which these are. Of a dead process only places are kept, and records
 * are read again when they are due; of a live one a consistent copy is taken: the drain must
 * not have moved while it was read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/input/decode.h"
#include "merge/input/ring/ring_in.h"
#include "merge/kit/grow.h"
#include "runtime/base/file.h"

enum {
	LIVE_TRIES = 20,
	CHUNK_HEAD_BYTES = offsetof(struct tp_chunk, rec),
};

/* Records of one chunk that belong to one window. */
struct part {
	uint64_t at;		/* of the chunk's first record, in the file */
	uint32_t from, to;	/* the records to look at */
	uint32_t n;		/* those that belong */
	uint16_t slot;
	bool is_picked_in_file;	/* those with TP_RING_PICKED are in a file */
	struct tp_rec *copy;	/* of a live process; else NULL: read again when due */
};

struct tp_ring_rest {
	int fd;
	struct tp_ring_window window[TP_RING_WINDOWS];	/* lowest first */
	uint32_t n_windows, mine;	/* mine: which of them this source is */
	struct part *part;
	uint32_t n_parts, cap_parts;
};

static uint64_t chunk_at(const struct tp_ring_head *head, uint32_t i)
{
	return head->chunks_at + (uint64_t)i * TP_CHUNK_BYTES;
}

/* Which of the ring's windows a record belongs to; -1: none, thrown away. A stack that was met
 * before a window's begin may be one of its events'. */
static int window_of(const struct tp_ring_window *window, uint32_t n, const struct tp_rec *rec)
{
	uint64_t end = tp_rec_end(rec);

	if (!rec->kind)
		return -1;
	if (tp_rec_is_after(rec))
		return n && window[0].end ? 0 : -1;
	for (uint32_t i = 0; i < n; i++) {
		if ((window[i].begin <= end || rec->kind == TP_REC_FRAME) &&
		    (!window[i].end || end <= window[i].end))
			return (int)i;
	}
	return -1;
}

static uint64_t begin_in(const struct tp_ring_window *window, const struct tp_rec *rec)
{
	return rec->kind == TP_REC_FRAME && rec->time < window->begin ? window->begin : rec->time;
}

static uint32_t count_windows(const struct tp_ring_head *head)
{
	uint32_t n = head->windows_begun - head->windows_written;

	return head->windows_begun < head->windows_written ? 0
	       : n > TP_RING_WINDOWS			   ? (uint32_t)TP_RING_WINDOWS
							   : n;
}

/* Records that a pass picked are in a file if it was committed: then they become nothing. */
static void settle_picked(struct tp_rec *rec, uint32_t n, bool is_in_file)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!(rec[i].kind & TP_RING_PICKED))
			continue;
		rec[i].kind = is_in_file ? TP_REC_NONE : rec[i].kind & ~TP_RING_PICKED;
	}
}

static struct tp_ring_rest *make_rest(const struct tp_ring_in *r, uint32_t mine)
{
	struct tp_ring_rest *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return NULL;
	rest->fd = r->is_live ? -1 : fcntl(r->fd, F_DUPFD_CLOEXEC, 0);
	rest->mine = mine;
	rest->n_windows = count_windows(&r->head);
	for (uint32_t i = 0; i < rest->n_windows; i++)
		rest->window[i] = r->head.windows[(r->head.windows_written + i) % TP_RING_WINDOWS];
	return rest;
}

static int64_t source_of(struct tp_ring_in *r, uint32_t i)
{
	uint32_t number = r->head.windows_written + i;
	struct tp_window *window;
	bool is_new;
	int64_t at;

	if (r->source[i] >= 0)
		return r->source[i];
	at = tp_run_window(r->run, r->proc, number, &is_new);
	if (at < 0)
		return -1;
	window = &r->run->pub.window[at];
	if (is_new) {
		char *path = strdup(r->path), *meta = strndup(r->head.meta, sizeof(r->head.meta));

		if (path)
			window->path = path;
		if (meta && *meta) {
			window->meta = meta;
			tp_run_take_meta(r->proc, meta);
		} else {
			free(meta);
		}
	}
	window->is_recovered = !r->is_live;
	r->source[i] = tp_run_source(r->run, r->proc, (uint32_t)at, r->path);
	if (r->source[i] < 0)
		return -1;
	r->run->source[r->source[i]].rest = make_rest(r, i);
	return r->run->source[r->source[i]].rest ? r->source[i] : -1;
}

/* The newest pass over the chunk in r->chunk counts. */
static bool is_committed(const struct tp_ring_in *r)
{
	return r->chunk->pass && r->chunk->pass <= r->head.pass_done;
}

/* Records [from, to) of the chunk in r->chunk that belong to window i. */
static int add_part(struct tp_ring_in *r, uint32_t i, uint64_t at, uint32_t from, uint32_t to,
		    uint32_t n, uint64_t first_ticks, uint64_t last_ticks)
{
	int64_t source_at = source_of(r, i);
	struct tp_source *source;
	struct tp_thread_entry entry;
	struct tp_ring_rest *rest;
	struct part *part;

	if (source_at < 0)
		return -ENOMEM;
	source = &r->run->source[source_at];
	rest = source->rest;
	if (!tp_grow(&rest->part, &rest->cap_parts, rest->n_parts + 1, sizeof(*part)))
		return -ENOMEM;
	part = &rest->part[rest->n_parts];
	*part = (struct part){
		.at = at, .from = from, .to = to, .n = n, .slot = (uint16_t)r->chunk->slot,
		.is_picked_in_file = is_committed(r)};
	if (r->is_live) {
		part->copy = malloc((to - from) * sizeof(struct tp_rec));
		if (!part->copy)
			return -ENOMEM;
		memcpy(part->copy, r->chunk->rec + from, (to - from) * sizeof(struct tp_rec));
	}
	entry = tp_ring_entry(r, r->chunk->slot, r->chunk->tid);
	tp_run_thread(source, &entry);
	r->n_records += n;
	r->run->pub.window[source->window].n_events += n;
	return tp_run_block(r->run, (struct tp_block_ref){.source = (uint32_t)source_at,
							  .at = rest->n_parts++,
							  .n_events = n,
							  .has_stacks = true,
							  .first_ns = (int64_t)first_ticks,
							  .last_ns = (int64_t)last_ticks});
}

/* A span whose record is there has ended, though the stack still shows it. */
static void end_open_span(struct tp_proc_in *proc, uint32_t slot, const struct tp_rec *rec)
{
	for (uint32_t i = 0; i < proc->n_ring_open; i++) {
		struct tp_ring_open *open = &proc->ring_open[i];

		if (open->slot == slot && open->span.time == rec->time &&
		    open->span.name == rec->name)
			open->has_ended = true;
	}
}

static int add_chunk(struct tp_ring_in *r, uint32_t chunk_index)
{
	uint64_t at = chunk_at(&r->head, chunk_index);
	struct tp_ring_window window[TP_RING_WINDOWS];
	uint64_t first[TP_RING_WINDOWS], last[TP_RING_WINDOWS] = {0};
	uint32_t n_windows = count_windows(&r->head), n[TP_RING_WINDOWS] = {0}, from, to;
	int err = tp_file_read_at(r->fd, at, r->chunk, TP_CHUNK_BYTES);

	if (err)
		return err;
	to = r->chunk->published < TP_CHUNK_RECORDS ? r->chunk->published : TP_CHUNK_RECORDS;
	from = tp_chunk_in_file(r->chunk, r->head.pass_done);
	if (r->chunk->slot >= TP_NO_THREAD || from >= to)
		return 0;
	for (uint32_t i = 0; i < n_windows; i++)
		window[i] = r->head.windows[(r->head.windows_written + i) % TP_RING_WINDOWS];
	settle_picked(r->chunk->rec + from, to - from, is_committed(r));
	for (uint32_t k = from; k < to; k++) {
		const struct tp_rec *rec = &r->chunk->rec[k];
		uint64_t end = tp_rec_end(rec);
		int i = window_of(window, n_windows, rec);

		if (tp_kind_is_span[rec->kind])
			end_open_span(r->proc, r->chunk->slot, rec);
		if (end > r->proc->seen_ticks && end - rec->time <= TP_LEN_MAX)
			r->proc->seen_ticks = end;
		if (i < 0)
			continue;
		if (!n[i]++ || begin_in(&window[i], rec) < first[i])
			first[i] = begin_in(&window[i], rec);
		if (begin_in(&window[i], rec) > last[i])
			last[i] = begin_in(&window[i], rec);
	}
	for (uint32_t i = 0; i < n_windows && !err; i++) {
		if (n[i])
			err = add_part(r, i, at + CHUNK_HEAD_BYTES, from, to, n[i], first[i],
				       last[i]);
	}
	return err;
}

static int compare_order(const void *a, const void *b)
{
	const struct tp_chunk_ref *x = a, *y = b;

	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The chunks in use, in the order in which they were taken. */
/* The first from `i` on that is in no hole of the file: there all chunks are free. */
static uint32_t next_chunk(const struct tp_ring_in *r, uint32_t i)
{
	off_t at, data;

	if (i >= r->head.n_chunks)
		return r->head.n_chunks;
	at = (off_t)chunk_at(&r->head, i);
	data = lseek(r->fd, at, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? r->head.n_chunks : i;
	return data <= at ? i : i + (uint32_t)((uint64_t)(data - at) / TP_CHUNK_BYTES);
}

static int list_chunks(struct tp_ring_in *r)
{
	uint32_t cap = 0;

	for (uint32_t i = next_chunk(r, 0); i < r->head.n_chunks; i = next_chunk(r, i + 1)) {
		int err = tp_file_read_at(r->fd, chunk_at(&r->head, i), r->chunk, CHUNK_HEAD_BYTES);

		if (err)
			return err;
		if (r->chunk->state == TP_CHUNK_FREE)
			continue;
		if (!tp_grow(&r->order, &cap, r->n_order + 1ull, sizeof(r->order[0])))
			return -ENOMEM;
		r->order[r->n_order].sequence = r->chunk->sequence;
		r->order[r->n_order++].at = i;
	}
	if (r->n_order)
		qsort(r->order, r->n_order, sizeof(r->order[0]), compare_order);
	return 0;
}

/* The drain has moved since the head was read. */
static bool has_moved(const struct tp_ring_in *r)
{
	struct tp_ring_head now;

	if (tp_file_read_at(r->fd, 0, &now, sizeof(now)))
		return true;
	tp_ring_head_take_recorder(&now);
	return now.pass_done != r->head.pass_done || now.windows_begun != r->head.windows_begun ||
	       now.windows_written != r->head.windows_written || now.is_closed;
}

static void forget_parts(struct tp_ring_in *r)
{
	for (uint32_t i = 0; i < TP_RING_WINDOWS; i++) {
		uint32_t kept = 0;

		if (r->source[i] < 0)
			continue;
		for (uint32_t b = 0; b < r->run->n_blocks; b++) {
			const struct tp_block_ref *block = &r->run->block[b];

			if (block->source != r->source[i]) {
				r->run->block[kept++] = *block;
				continue;
			}
			r->run->n_events_due -= block->n_events;
			r->run->pub.window[r->run->source[r->source[i]].window].n_events -=
				block->n_events;
		}
		r->run->n_blocks = kept;
		tp_recover_free(r->run->source[r->source[i]].rest);
		r->run->source[r->source[i]].rest = NULL;
		r->source[i] = -1;
	}
	r->n_records = 0;
	r->n_order = 0;
	free(r->order);
	r->order = NULL;
}

int tp_ring_records(struct tp_ring_in *r)
{
	int err = 0;

	for (int tries = 0; tries < LIVE_TRIES; tries++) {
		err = list_chunks(r);
		for (uint32_t i = 0; i < r->n_order && !err; i++)
			err = add_chunk(r, r->order[i].at);
		if (!r->is_live || err == -ENOMEM || !has_moved(r))
			return err;
		forget_parts(r);
		err = tp_file_read_at(r->fd, 0, &r->head, sizeof(r->head));
		if (err)
			return err;
		tp_ring_head_take_recorder(&r->head);
	}
	tp_run_issue(&r->run->pub, &r->proc->pub, false,
		     "'%s': its process writes faster than it can be read; only its files are read",
		     r->path);
	return 0;
}

int tp_recover_events(struct tp_ring_rest *rest, uint32_t at, struct tp_rec *rec,
		      uint16_t *thread, uint32_t n)
{
	const struct part *part = &rest->part[at];
	uint32_t n_read = part->to - part->from, found = 0;
	struct tp_rec *all = part->copy;
	int err = 0;

	if (!all) {
		all = malloc(n_read * sizeof(all[0]));
		err = all ? tp_file_read_at(rest->fd, part->at + part->from * sizeof(all[0]), all,
				    n_read * sizeof(all[0]))
			  : -ENOMEM;
	}
	if (!err)
		settle_picked(all, n_read, part->is_picked_in_file);
	for (uint32_t i = 0; i < n_read && !err; i++) {
		if (window_of(rest->window, rest->n_windows, &all[i]) != (int)rest->mine)
			continue;
		if (found == n)
			err = -ESTALE;
		else {
			rec[found] = all[i];
			rec[found].time = begin_in(&rest->window[rest->mine], &all[i]);
			if (all[i].time < rest->window[rest->mine].begin)
				rec[found].flags |= tp_kind_is_span[all[i].kind] ? TP_F_EARLY : 0;
			thread[found++] = part->slot;
		}
	}
	if (all != part->copy)
		free(all);
	return err ? err : found == n ? 0 : -ESTALE;
}

void tp_recover_free(struct tp_ring_rest *rest)
{
	if (!rest)
		return;
	for (uint32_t i = 0; i < rest->n_parts; i++)
		free(rest->part[i].copy);
	free(rest->part);
	if (rest->fd >= 0)
		close(rest->fd);
	free(rest);
}
