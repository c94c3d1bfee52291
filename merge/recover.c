/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - what a process had recorded and not yet written when it died
 *
 * ring_layout.h says which records those are. The file is read by pread, never mapped: it may
 * shrink, and its owner may be alive. Of a live process a consistent picture is taken: the
 * drain must not have moved while it was read. Nothing in the file is believed unchecked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/alive.h"
#include "merge/grow.h"
#include "merge/input.h"
#include "merge/run.h"

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
	struct tp_rec *copy;	/* of a live process; else NULL: read again when due */
};

struct tp_ring_rest {
	int fd;
	struct tp_ring_window window[TP_RING_WINDOWS];	/* lowest first */
	uint32_t n_windows, mine;	/* mine: which of them this source is */
	struct part *part;
	uint32_t n_parts, cap_parts;
};

/* A ring being read. */
struct ring {
	struct tp_run_in *run;
	const char *path;
	int fd;
	struct tp_ring_head head;
	struct tp_ring_slot *slot;
	struct tp_chunk *chunk;		/* one, with its records */
	struct chunk_ref {
		uint64_t sequence;
		uint32_t at;
	} *order;
	uint32_t n_order;
	struct tp_proc_in *proc;
	int64_t source[TP_RING_WINDOWS];	/* -1: none yet */
	uint64_t n_records;
	bool is_live;
};

static const bool is_span[256] = {
#define _(id, NAME, text, span, since) [id] = span,
#include "runtime/trace/records.def"
#undef _
};

static int read_at(int fd, uint64_t at, void *buf, size_t n)
{
	char *p = buf;

	while (n) {
		ssize_t got = pread(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		p += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static uint64_t chunk_at(const struct tp_ring_head *head, uint32_t i)
{
	return head->chunks_at + (uint64_t)i * TP_CHUNK_BYTES;
}

static bool lies_in(uint64_t at, uint64_t n, uint64_t each, uint64_t bytes)
{
	return at <= bytes && n <= (bytes - at) / each;
}

/* NULL: every offset and count is inside the file. */
static const char *find_fault(const struct tp_ring_head *head, uint64_t file_bytes)
{
	if (head->magic != TP_RING_MAGIC)
		return head->magic ? "not a ring of trainprof"
				   : "the ring was not finished: nothing was recorded in it";
	if (head->version != TP_RING_VERSION)
		return "a ring of another version of trainprof";
	if (head->n_slots > TP_RING_SLOTS || head->n_steps != TP_RING_STEPS ||
	    !lies_in(head->slots_at, head->n_slots, sizeof(struct tp_ring_slot), file_bytes) ||
	    !lies_in(head->steps_at, head->n_steps, sizeof(struct tp_ring_step), file_bytes) ||
	    !lies_in(head->names_at, head->names_bytes, 1, file_bytes) ||
	    !lies_in(head->chunks_at, head->n_chunks, TP_CHUNK_BYTES, file_bytes) ||
	    head->names_used > head->names_bytes)
		return "the ring is damaged: what its head says does not fit the file";
	return NULL;
}

/* ---- the process ---- */

static int add_anchors(struct ring *r)
{
	for (int i = 0; i < 2; i++) {
		struct tp_clock_anchor anchor;
		int err;

		memcpy(&anchor, &r->head.anchor[4 * i], sizeof(anchor));
		/* It was being written. */
		if (anchor.bracket_ticks == UINT64_MAX)
			continue;
		err = tp_run_anchor(r->proc, &anchor);
		if (err)
			return err;
		if (anchor.ticks > r->proc->seen_ticks)
			r->proc->seen_ticks = anchor.ticks;
	}
	return 0;
}

static int add_names(struct ring *r)
{
	uint64_t used = r->head.names_used, at = 8;
	uint32_t n_bad = 0;
	char *names = malloc(used + 1);
	int err = names ? read_at(r->fd, r->head.names_at, names, used) : -ENOMEM;

	while (!err && at + sizeof(struct tp_name_entry) <= used) {
		struct tp_name_entry entry;

		memcpy(&entry, names + at, sizeof(entry));
		if (entry.n_bytes > used - at - sizeof(entry)) {
			n_bad++;
			break;
		}
		err = tp_run_string(r->run, r->proc, (uint32_t)(at / 8), entry.kind,
				    names + at + sizeof(entry), entry.n_bytes);
		if (err == -EEXIST || err == -ERANGE) {
			n_bad++;
			err = 0;
		}
		at += (sizeof(entry) + entry.n_bytes + 7) & ~7ull;
	}
	free(names);
	if (n_bad)
		tp_run_issue(&r->run->pub, &r->proc->pub, true,
			     "'%s': %u names of the ring are damaged", r->path, n_bad);
	return err == -ENOMEM ? err : 0;
}

static struct tp_thread_entry entry_of(const struct ring *r, uint32_t slot, uint32_t tid)
{
	struct tp_thread_entry entry = {.slot = slot, .tid = tid};

	/* The slot may have a new owner by now. */
	if (slot < r->head.n_slots && r->slot[slot].tid == tid) {
		entry.torch_id = r->slot[slot].torch_id;
		entry.flags = r->slot[slot].flags;
		memcpy(entry.name, r->slot[slot].name, sizeof(entry.name));
	}
	return entry;
}

static int add_open_span(struct ring *r, uint32_t slot, uint32_t thread, uint32_t depth)
{
	struct tp_proc_in *proc = r->proc;
	const struct tp_open_span *span = &r->slot[slot].open[depth];

	if (!span->time || (span->kind != TP_REC_OP && span->kind != TP_REC_RANGE))
		return 0;
	if (!tp_grow(&proc->ring_open, &proc->cap_ring_open, proc->n_ring_open + 1,
		     sizeof(proc->ring_open[0])))
		return -ENOMEM;
	proc->ring_open[proc->n_ring_open++] = (struct tp_ring_open){
		.span = *span, .slot = slot, .thread = thread, .depth = depth};
	if (span->time > proc->seen_ticks)
		proc->seen_ticks = span->time;
	return 0;
}

static int add_open_spans(struct ring *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->head.n_slots && !err; i++) {
		const struct tp_ring_slot *slot = &r->slot[i];
		uint32_t depth = slot->depth < TP_OPEN_SPANS ? slot->depth : TP_OPEN_SPANS;
		struct tp_thread_entry entry = entry_of(r, i, slot->tid);
		int64_t thread;

		if (!slot->tid || slot->is_dead || slot->tid == TP_TID_MANY || !depth)
			continue;
		thread = tp_run_proc_thread(r->proc, &entry);
		if (thread < 0)
			return -ENOMEM;
		for (uint32_t k = 0; k < depth && !err; k++)
			err = add_open_span(r, i, (uint32_t)thread, k);
	}
	return err;
}

static int add_steps(struct ring *r)
{
	uint64_t first = r->head.steps_drained, last = r->head.steps_done;

	if (last > first + r->head.n_steps)
		first = last - r->head.n_steps;
	for (uint64_t i = first; i < last; i++) {
		struct tp_ring_step step;

		if (read_at(r->fd, r->head.steps_at + (i & (TP_RING_STEPS - 1)) * sizeof(step),
			    &step, sizeof(step)) || step.index != i + 1)
			continue;
		if (!tp_grow(&r->proc->ring_step, &r->proc->cap_ring_steps,
			     r->proc->n_ring_steps + 1, sizeof(step)))
			return -ENOMEM;
		r->proc->ring_step[r->proc->n_ring_steps++] = step;
		if (step.begin + step.duration > r->proc->seen_ticks)
			r->proc->seen_ticks = step.begin + step.duration;
	}
	return 0;
}

/* ---- records ---- */

/* Which of the ring's windows a record that ended then belongs to; -1: warm-up, thrown away. */
static int window_of(const struct tp_ring_window *window, uint32_t n, uint64_t end)
{
	for (uint32_t i = 0; i < n; i++) {
		if (window[i].begin <= end && (!window[i].end || end <= window[i].end))
			return (int)i;
	}
	return -1;
}

static uint32_t count_windows(const struct tp_ring_head *head)
{
	uint32_t n = head->windows_begun - head->windows_written;

	return head->windows_begun < head->windows_written ? 0
	       : n > TP_RING_WINDOWS			   ? (uint32_t)TP_RING_WINDOWS
							   : n;
}

static inline uint64_t end_of(const struct tp_rec *rec)
{
	return rec->time + (is_span[rec->kind] ? tp_rec_len(rec) : 0);
}

static struct tp_ring_rest *make_rest(const struct ring *r, uint32_t mine)
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

static int64_t source_of(struct ring *r, uint32_t i)
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

/* Records [from, to) of the chunk in r->chunk that belong to window i. */
static int add_part(struct ring *r, uint32_t i, uint64_t at, uint32_t from, uint32_t to,
		    uint32_t n, uint64_t first_ticks)
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
		.at = at, .from = from, .to = to, .n = n, .slot = (uint16_t)r->chunk->slot};
	if (r->is_live) {
		part->copy = malloc((to - from) * sizeof(struct tp_rec));
		if (!part->copy)
			return -ENOMEM;
		memcpy(part->copy, r->chunk->rec + from, (to - from) * sizeof(struct tp_rec));
	}
	entry = entry_of(r, r->chunk->slot, r->chunk->tid);
	tp_run_thread(source, &entry);
	r->n_records += n;
	r->run->pub.window[source->window].n_events += n;
	return tp_run_block(r->run, (uint32_t)source_at, rest->n_parts++, n, first_ticks);
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

static int add_chunk(struct ring *r, uint32_t chunk_index)
{
	uint64_t at = chunk_at(&r->head, chunk_index);
	struct tp_ring_window window[TP_RING_WINDOWS];
	uint64_t first[TP_RING_WINDOWS];
	uint32_t n_windows = count_windows(&r->head), n[TP_RING_WINDOWS] = {0}, from, to;
	int err = read_at(r->fd, at, r->chunk, TP_CHUNK_BYTES);

	if (err)
		return err;
	to = r->chunk->published < TP_CHUNK_RECORDS ? r->chunk->published : TP_CHUNK_RECORDS;
	from = tp_chunk_in_file(r->chunk, r->head.pass_done);
	if (r->chunk->slot >= TP_NO_THREAD || from >= to)
		return 0;
	for (uint32_t i = 0; i < n_windows; i++)
		window[i] = r->head.windows[(r->head.windows_written + i) % TP_RING_WINDOWS];
	for (uint32_t k = from; k < to; k++) {
		const struct tp_rec *rec = &r->chunk->rec[k];
		uint64_t end = end_of(rec);
		int i = window_of(window, n_windows, end);

		if (is_span[rec->kind])
			end_open_span(r->proc, r->chunk->slot, rec);
		if (end > r->proc->seen_ticks && end - rec->time <= TP_LEN_MAX)
			r->proc->seen_ticks = end;
		if (i < 0)
			continue;
		if (!n[i]++ || rec->time < first[i])
			first[i] = rec->time;
	}
	for (uint32_t i = 0; i < n_windows && !err; i++) {
		if (n[i])
			err = add_part(r, i, at + CHUNK_HEAD_BYTES, from, to, n[i], first[i]);
	}
	return err;
}

static int compare_order(const void *a, const void *b)
{
	const struct chunk_ref *x = a, *y = b;

	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* The chunks in use, in the order in which they were taken. */
static int list_chunks(struct ring *r)
{
	r->order = malloc((r->head.n_chunks + 1) * sizeof(r->order[0]));
	if (!r->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->head.n_chunks; i++) {
		int err = read_at(r->fd, chunk_at(&r->head, i), r->chunk, CHUNK_HEAD_BYTES);

		if (err)
			return err;
		if (r->chunk->state == TP_CHUNK_FREE)
			continue;
		r->order[r->n_order].sequence = r->chunk->sequence;
		r->order[r->n_order++].at = i;
	}
	if (r->n_order)
		qsort(r->order, r->n_order, sizeof(r->order[0]), compare_order);
	return 0;
}

/* ---- the whole ring ---- */

static int read_head(struct ring *r, const char **fault)
{
	struct stat st;
	int err;

	*fault = NULL;
	r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0 || fstat(r->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof(r->head)) {
		*fault = "too short to be a ring of trainprof";
		return 0;
	}
	err = read_at(r->fd, 0, &r->head, sizeof(r->head));
	if (!err)
		*fault = find_fault(&r->head, (uint64_t)st.st_size);
	return err;
}

/* The drain has moved since the head was read. */
static bool has_moved(const struct ring *r)
{
	struct tp_ring_head now;

	return read_at(r->fd, 0, &now, sizeof(now)) || now.pass_done != r->head.pass_done ||
	       now.windows_begun != r->head.windows_begun ||
	       now.windows_written != r->head.windows_written || now.is_closed;
}

static void forget_parts(struct ring *r)
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
		r->run->source[r->source[i]].n_blocks_left = 0;
		tp_recover_free(r->run->source[r->source[i]].rest);
		r->run->source[r->source[i]].rest = NULL;
		r->source[i] = -1;
	}
	r->n_records = 0;
	r->n_order = 0;
	free(r->order);
	r->order = NULL;
}

static int read_records(struct ring *r)
{
	int err = 0;

	for (int tries = 0; tries < LIVE_TRIES; tries++) {
		err = list_chunks(r);
		for (uint32_t i = 0; i < r->n_order && !err; i++)
			err = add_chunk(r, r->order[i].at);
		if (!r->is_live || err == -ENOMEM || !has_moved(r))
			return err;
		forget_parts(r);
		err = read_at(r->fd, 0, &r->head, sizeof(r->head));
		if (err)
			return err;
	}
	tp_run_issue(&r->run->pub, &r->proc->pub, false,
		     "'%s': its process writes faster than it can be read; only its files are read",
		     r->path);
	return 0;
}

static int take_process(struct ring *r)
{
	struct tp_file_head as_file = {
		.boot_id = {r->head.boot_id[0], r->head.boot_id[1]},
		.run_id = r->head.run_id,
		.pid = r->head.pid,
		.rank = r->head.rank,
		.local_rank = r->head.local_rank,
		.world_size = r->head.world_size,
		.node_rank = r->head.node_rank,
		.clock_source = r->head.clock_source,
		.restart = r->head.restart,
	};
	uint64_t slots_bytes = r->head.n_slots * sizeof(struct tp_ring_slot);
	int err;

	r->proc = tp_run_proc(r->run, &as_file);
	r->slot = malloc(slots_bytes + 1);
	r->chunk = malloc(TP_CHUNK_BYTES);
	if (!r->proc || !r->slot || !r->chunk)
		return -ENOMEM;
	r->is_live = !r->head.is_replaced && tp_alive(r->head.boot_id, r->head.pid, r->head.process_start);
	r->proc->is_live = r->is_live;
	r->proc->pub.is_dead = !r->is_live;
	r->proc->ring_path = strdup(r->path);
	err = add_names(r);
	if (!err)
		err = read_at(r->fd, r->head.slots_at, r->slot, slots_bytes);
	return err;
}

/* What its files will be asked for. */
static void note_passes(struct ring *r)
{
	r->proc->has_ring = true;
	r->proc->windows_written = r->head.windows_written;
	r->proc->pass_done = r->head.pass_done;
	r->proc->ring_dropped = r->head.dropped;
	memcpy(r->proc->pass_window, r->head.pass_window, sizeof(r->proc->pass_window));
	memcpy(r->proc->pass_bytes, r->head.pass_bytes, sizeof(r->proc->pass_bytes));
}

int tp_recover_ring(struct tp_run_in *run, const char *path)
{
	struct ring r = {.run = run, .path = path, .fd = -1};
	const char *fault;
	int err;

	for (uint32_t i = 0; i < TP_RING_WINDOWS; i++)
		r.source[i] = -1;
	err = read_head(&r, &fault);
	if (!err && fault)
		tp_run_issue(&run->pub, NULL, true, "'%s': %s", path, fault);
	if (err || fault || r.head.is_closed ||
	    !tp_input_in_list(run->options.ranks, r.head.rank < 0 ? 0 : (uint64_t)r.head.rank))
		goto out;
	err = take_process(&r);
	if (!err && !r.is_live)
		err = add_open_spans(&r);
	if (!err)
		err = read_records(&r);
	if (!err) {
		note_passes(&r);
		err = add_anchors(&r);
	}
	if (!err)
		err = add_steps(&r);
	if (!err && !r.is_live)
		tp_run_issue(&run->pub, &r.proc->pub, false,
			     "process %u did not end in order; %llu records that were in no file are "
			     "read from its ring '%s'", r.head.pid, (unsigned long long)r.n_records,
			     path);
out:
	if (err && err != -ENOMEM) {
		tp_run_issue(&run->pub, r.proc ? &r.proc->pub : NULL, true, "'%s': %s", path,
			     err == -ENODATA ? "the ring is shorter than it says" : strerror(-err));
		err = 0;
	}
	if (r.fd >= 0)
		close(r.fd);
	free(r.order);
	free(r.chunk);
	free(r.slot);
	return err;
}

uint64_t tp_recover_file_bytes(const struct tp_proc_in *proc, uint32_t window)
{
	uint64_t at = proc->pass_done & 1;

	if (!proc->has_ring || window < proc->windows_written)
		return UINT64_MAX;
	return proc->pass_window[at] == window + 1 ? proc->pass_bytes[at] : 0;
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
		err = all ? read_at(rest->fd, part->at + part->from * sizeof(all[0]), all,
				    n_read * sizeof(all[0]))
			  : -ENOMEM;
	}
	for (uint32_t i = 0; i < n_read && !err; i++) {
		if (window_of(rest->window, rest->n_windows, end_of(&all[i])) != (int)rest->mine)
			continue;
		if (found == n)
			err = -ESTALE;
		else {
			rec[found] = all[i];
			if (all[i].time < rest->window[rest->mine].begin)
				rec[found].flags |= is_span[all[i].kind] ? TP_F_EARLY : 0;
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

/* ---- after the clocks ---- */

static int settle_steps(struct tp_run_in *run, struct tp_proc_in *proc)
{
	uint32_t hint = 0;

	for (uint32_t i = 0; i < proc->n_ring_steps; i++) {
		const struct tp_ring_step *from = &proc->ring_step[i];
		struct tp_step_row *row;
		int64_t begin;

		if (!tp_grow(&run->pub.step, &run->cap_steps, run->pub.n_steps + 1, sizeof(*row)))
			return -ENOMEM;
		if (from->begin >> 62 || from->duration >> 62)
			continue;
		row = &run->pub.step[run->pub.n_steps++];
		/* CLOCK_MONOTONIC, as in the ledger's other rows. */
		begin = tp_align_ns(&proc->map, &hint, from->begin);
		*row = (struct tp_step_row){
			.proc = &proc->pub,
			.index = from->index - 1,
			.epoch = from->epoch,
			.in_epoch = from->in_epoch,
			.batches = from->batches,
			.begin_ns = begin,
			.dur_ns = tp_align_ns(&proc->map, &hint, from->begin + from->duration) -
				  begin,
			.live_bytes = from->live_bytes,
			.peak_bytes = from->peak_bytes,
			.device_live = from->device_live,
			.device_peak = from->device_peak,
			.dropped = from->dropped,
			.phase = from->phase,
			.source = from->source,
			.flags = from->flags,
		};
		row->data_wait_ns = tp_align_ns(&proc->map, &hint, from->begin + from->data_wait) -
				    begin;
		row->optimizer_ns = tp_align_ns(&proc->map, &hint, from->begin + from->optimizer) -
				    begin;
	}
	return 0;
}

static int settle_open(struct tp_run_in *run, struct tp_proc_in *proc)
{
	int64_t seen_ns;
	uint32_t hint = 0;

	if (!proc->n_ring_open || proc->seen_ticks >> 62)
		return 0;
	seen_ns = tp_run_ns(proc, &hint, proc->seen_ticks);
	for (uint32_t i = 0; i < proc->n_ring_open; i++) {
		const struct tp_ring_open *from = &proc->ring_open[i];
		const struct tp_string *name = tp_ids_get(&proc->ids, from->span.name);

		if (from->has_ended || from->span.time >> 62)
			continue;
		if (!tp_grow(&run->pub.open, &run->cap_open, run->pub.n_open + 1,
			     sizeof(run->pub.open[0])))
			return -ENOMEM;
		run->pub.open[run->pub.n_open++] = (struct tp_open_at_end){
			.proc = &proc->pub,
			.thread = &proc->pub.thread[from->thread],
			.name = name ? name : &run->strings.none,
			.kind = (uint8_t)from->span.kind,
			.begin_ns = tp_run_ns(proc, &hint, from->span.time),
			.seen_ns = seen_ns,
			.depth = from->depth,
		};
	}
	return 0;
}

int tp_recover_settle(struct tp_run_in *run)
{
	int err = 0;

	for (uint32_t i = 0; i < run->pub.n_procs && !err; i++) {
		struct tp_proc_in *proc = (struct tp_proc_in *)run->pub.proc[i];

		if (!proc->map.n_knots)
			continue;
		err = settle_steps(run, proc);
		if (!err)
			err = settle_open(run, proc);
	}
	return err;
}
