/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - what a process had not yet written when it died: the ring's head, names, threads,
 * open spans and steps
 *
 * Every offset and count in the file is checked. Its records are ring_records.c's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/ring/alive.h"
#include "merge/input/ring/ring_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/list.h"
#include "runtime/base/file.h"

enum { NAMES_WINDOW = TP_BLOCK_RAW_MAX + 4096 };	/* longer than any name */

static bool lies_in(uint64_t at, uint64_t n, uint64_t each, uint64_t bytes)
{
	return at <= bytes && n <= (bytes - at) / each;
}

/* NULL: every offset and count is inside the file. */
static const char *find_fault(const struct tp_ring_head *head, uint64_t file_bytes)
{
	if (head->magic != TP_RING_MAGIC)
		return head->magic ? "not a buffer file of trainprof"
				   : "it was not finished: nothing was recorded in it";
	if (head->version != TP_RING_VERSION)
		return "a buffer file of another version of trainprof";
	if (head->n_slots > TP_RING_SLOTS || head->n_steps != TP_RING_STEPS ||
	    !lies_in(head->slots_at, head->n_slots, sizeof(struct tp_ring_slot), file_bytes) ||
	    !lies_in(head->steps_at, head->n_steps, sizeof(struct tp_ring_step), file_bytes) ||
	    !lies_in(head->names_at, head->names_bytes, 1, file_bytes) ||
	    !lies_in(head->chunks_at, head->n_chunks, TP_CHUNK_BYTES, file_bytes) ||
	    head->names_used > head->names_bytes)
		return "damaged: what its head says does not fit the file";
	return NULL;
}

/* ---- the process ---- */

static int add_anchors(struct tp_ring_in *r)
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

/* A part of the names: their file may be sparse and claim terabytes. */
struct names {
	char *bytes;
	uint64_t from, n, used;		/* bytes[0] lies at `from`; names end at `used` */
};

static int load_names(const struct tp_ring_in *r, struct names *names, uint64_t at)
{
	names->from = at;
	names->n = names->used - at < NAMES_WINDOW ? names->used - at : NAMES_WINDOW;
	return tp_file_read_at(r->fd, r->head.names_at + at, names->bytes, names->n);
}

/* One name at *at, which goes behind it. 0; -EBADMSG: there is none. */
static int add_name(struct tp_ring_in *r, struct names *names, uint64_t *at, uint32_t *n_bad)
{
	struct tp_name_entry entry;
	int err = 0;

	if (*at + sizeof(entry) > names->from + names->n)
		err = load_names(r, names, *at);
	if (err)
		return err;
	memcpy(&entry, names->bytes + (*at - names->from), sizeof(entry));
	/* Kind 0 is a hole in the file: behind it there is nothing. */
	if (!entry.kind || entry.n_bytes > NAMES_WINDOW - sizeof(entry) ||
	    entry.n_bytes > names->used - *at - sizeof(entry))
		return -EBADMSG;
	if (*at + sizeof(entry) + entry.n_bytes > names->from + names->n)
		err = load_names(r, names, *at);
	if (!err)
		err = tp_run_string(r->run, r->proc, (uint32_t)(*at / 8), entry.kind,
				    names->bytes + (*at - names->from) + sizeof(entry), entry.n_bytes);
	if (err == -EEXIST || err == -ERANGE) {
		++*n_bad;
		err = 0;
	}
	*at += (sizeof(entry) + entry.n_bytes + 7) & ~7ull;
	return err;
}

static int add_names(struct tp_ring_in *r)
{
	struct names names = {.bytes = malloc(NAMES_WINDOW), .used = r->head.names_used};
	uint32_t n_bad = 0;
	uint64_t at = 8;
	int err = names.bytes ? 0 : -ENOMEM;

	while (!err && at + sizeof(struct tp_name_entry) <= names.used)
		err = add_name(r, &names, &at, &n_bad);
	n_bad += err == -EBADMSG;
	free(names.bytes);
	if (n_bad)
		tp_run_issue(&r->run->pub, &r->proc->pub, true,
			     "'%s': %u names in it are damaged", r->path, n_bad);
	return err == -ENOMEM ? err : 0;
}

struct tp_thread_entry tp_ring_entry(const struct tp_ring_in *r, uint32_t slot, uint32_t tid)
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

static int add_open_span(struct tp_ring_in *r, uint32_t slot, uint32_t thread, uint32_t depth)
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

/* Between windows spans are not followed: its stacks show what was open at the last one's end. */
static int add_open_spans(struct tp_ring_in *r)
{
	int err = 0;

	if (r->head.windows_begun == r->head.windows_written)
		return 0;
	for (uint32_t i = 0; i < r->head.n_slots && !err; i++) {
		const struct tp_ring_slot *slot = &r->slot[i];
		uint32_t depth = slot->depth < TP_OPEN_SPANS ? slot->depth : TP_OPEN_SPANS;
		struct tp_thread_entry entry = tp_ring_entry(r, i, slot->tid);
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

static int add_steps(struct tp_ring_in *r)
{
	uint64_t first = r->head.steps_drained, last = r->head.steps_done;

	if (last > first + r->head.n_steps)
		first = last - r->head.n_steps;
	for (uint64_t i = first; i < last; i++) {
		struct tp_ring_step step;

		if (tp_file_read_at(r->fd, r->head.steps_at + (i & (TP_RING_STEPS - 1)) * sizeof(step),
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

/* ---- the whole ring ---- */

static int read_head(struct tp_ring_in *r, const char **fault)
{
	struct stat st;
	int err;

	*fault = NULL;
	if (fstat(r->fd, &st))
		return -errno;
	r->file = (struct tp_own_fd){.fd = -1, .device = st.st_dev, .inode = st.st_ino};
	r->uid = st.st_uid;
	if ((uint64_t)st.st_size < sizeof(r->head)) {
		*fault = "too short to be a buffer file of trainprof";
		return 0;
	}
	/* What takes no place has nothing in it. */
	r->run->n_input_bytes += (uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size
					 ? (uint64_t)st.st_blocks * 512
					 : (uint64_t)st.st_size;
	err = tp_file_read_at(r->fd, 0, &r->head, sizeof(r->head));
	if (!err)
		*fault = find_fault(&r->head, (uint64_t)st.st_size);
	if (!err && !*fault)
		tp_ring_head_take_recorder(&r->head);
	return err;
}

static int take_process(struct tp_ring_in *r)
{
	const struct tp_file_head as_file = tp_ring_head_of_files(&r->head);
	uint64_t slots_bytes = r->head.n_slots * sizeof(struct tp_ring_slot);
	int err;

	r->proc = tp_run_proc(r->run, &as_file);
	r->slot = malloc(slots_bytes + 1);
	r->chunk = malloc(TP_CHUNK_BYTES);
	if (!r->proc || !r->slot || !r->chunk)
		return -ENOMEM;
	if (r->proc->has_ring)
		return -EEXIST;
	r->is_live = !r->is_kept && !r->head.is_replaced && tp_alive(&r->head, r->fd);
	r->proc->is_live = r->proc->pub.is_running = r->is_live;
	r->proc->pub.is_dead = !r->is_live;
	r->proc->pub.is_replaced = r->head.is_replaced;
	if (!r->is_kept) {
		r->proc->ring_path = strdup(r->path);
		r->proc->ring_file = r->file;
		r->proc->ring_uid = r->uid;
	}
	err = add_names(r);
	if (!err)
		err = tp_file_read_at(r->fd, r->head.slots_at, r->slot, slots_bytes);
	return err;
}

/* Not while it was being written. */
static void note_stand(struct tp_ring_in *r)
{
	const struct tp_ring_stand *stand = &r->head.stand;

	if (!stand->turn || stand->turn & 1 || stand->time >> 62)
		return;
	r->proc->stand = *stand;
	if (stand->time > r->proc->seen_ticks)
		r->proc->seen_ticks = stand->time;
}

/* What its files will be asked for. */
static void note_passes(struct tp_ring_in *r)
{
	r->proc->has_ring = true;
	r->proc->windows_written = r->head.windows_written;
	r->proc->pass_done = r->head.pass_done;
	r->proc->ring_dropped = r->head.dropped;
	memcpy(r->proc->ring_window, r->head.windows, sizeof(r->proc->ring_window));
	r->proc->windows_begun = r->head.windows_begun;
	memcpy(r->proc->pass_window, r->head.pass_window, sizeof(r->proc->pass_window));
	memcpy(r->proc->pass_bytes, r->head.pass_bytes, sizeof(r->proc->pass_bytes));
}

static void note_death(const struct tp_ring_in *r)
{
	const char *how = tp_run_how_ended(r->proc);

	if (r->n_records)
		tp_run_issue(&r->run->pub, &r->proc->pub, false,
			     "process %u %s; %llu records that were in no trace are read from its buffer file '%s'",
			     r->head.pid, how, (unsigned long long)r->n_records, r->path);
	else if (!r->head.windows_begun && !r->head.steps_done)
		tp_run_issue(&r->run->pub, &r->proc->pub, false,
			     "process %u %s, before its first step had ended: it had recorded nothing yet",
			     r->head.pid, how);
	else
		tp_run_issue(&r->run->pub, &r->proc->pub, false,
			     "process %u %s; all that it recorded is in its files", r->head.pid, how);
}

static int read_ring(struct tp_ring_in *r)
{
	const char *fault;
	int err;

	for (uint32_t i = 0; i < TP_RING_WINDOWS; i++)
		r->source[i] = -1;
	err = read_head(r, &fault);
	if (!err && fault)
		tp_run_issue(&r->run->pub, NULL, true, "'%s': %s", r->path, fault);
	if (err || fault || r->head.is_closed ||
	    !tp_list_has(r->run->options.ranks, r->head.rank < 0 ? 0 : (uint64_t)r->head.rank))
		goto out;
	err = take_process(r);
	r->is_read = !err;
	if (!err && !r->is_live)
		err = add_open_spans(r);
	if (!err)
		err = tp_ring_records(r);
	/* Of one that goes on, after its records: what is open then has none among them. */
	if (!err && r->is_live)
		err = tp_file_read_at(r->fd, r->head.slots_at, r->slot,
				      r->head.n_slots * sizeof(struct tp_ring_slot));
	if (!err && r->is_live)
		err = add_open_spans(r);
	if (!err) {
		note_passes(r);
		note_stand(r);
		err = add_anchors(r);
	}
	if (!err)
		err = add_steps(r);
	if (!err && !r->is_live)
		note_death(r);
out:
	if (err && err != -ENOMEM) {
		tp_run_issue(&r->run->pub, r->proc ? &r->proc->pub : NULL, true, "'%s': %s", r->path,
			     err == -ENODATA  ? "it is shorter than it says"
			     : err == -EEXIST ? "another buffer file of the same process was read; "
						"this one is left out"
					      : strerror(-err));
		err = 0;
	}
	free(r->order);
	free(r->chunk);
	free(r->slot);
	return err;
}

int tp_recover_ring(struct tp_run_in *run, int fd, const char *path)
{
	struct tp_ring_in r = {.run = run, .path = path, .fd = fd};
	uint32_t n_issues = run->pub.n_issues;
	int err = read_ring(&r);

	close(r.fd);
	if (!r.is_read)
		tp_run_keep(run, n_issues);
	else if (!err && !tp_run_member(run, (struct tp_member){.kind = TP_MEMBER_RING, .proc = r.proc,
						   .path = (char *)path, .shown = (char *)path,
						   .dev = r.file.device, .ino = r.file.inode}))
		err = -ENOMEM;
	return err;
}

int tp_recover_kept(struct tp_run_in *run, int fd, const char *shown, struct tp_proc_in **proc)
{
	struct tp_ring_in r = {.run = run, .path = shown, .fd = fd, .is_kept = true};
	int err = read_ring(&r);

	*proc = r.is_read ? r.proc : NULL;
	return err;
}

uint64_t tp_recover_file_bytes(const struct tp_proc_in *proc, uint32_t window)
{
	uint64_t at = proc->pass_done & 1;

	if (!proc->has_ring || window < proc->windows_written)
		return UINT64_MAX;
	return proc->pass_window[at] == window + 1 ? proc->pass_bytes[at] : 0;
}

bool tp_recover_bounds(const struct tp_proc_in *proc, uint32_t window, uint64_t *begin, uint64_t *end)
{
	const struct tp_ring_window *of = &proc->ring_window[window % TP_RING_WINDOWS];

	if (!proc->has_ring || window < proc->windows_written || window >= proc->windows_begun ||
	    proc->windows_begun - proc->windows_written > TP_RING_WINDOWS)
		return false;
	*begin = of->begin;
	*end = of->end ? of->end : proc->seen_ticks;
	return *begin && *end > *begin;
}
