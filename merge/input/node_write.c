/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_write.c - all files of a run into one: heads first, events in time order, an index
 *
 * Blocks are copied as they are stored. Each is checked first: one that is damaged stays damaged
 * in the copy, so that whoever reads it says so and not something else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/node.h"
#include "merge/kit/grow.h"
#include "merge/kit/outfile.h"
#include "merge/model/sink.h"
#include "runtime/base/file.h"

enum { PART_BYTES = 1 << 20 };	/* of a ledger or a ring, in one block */

struct node_writer {
	struct tp_run_in *run;
	struct tp_outfile *out;
	uint64_t at;			/* bytes written */
	uint32_t sequence;		/* of the node file's own blocks */
	struct tp_frame_packer *packer;
	uint8_t *raw, *packed;		/* of one block */
	struct tp_node_entry *entry;
	uint32_t n_entries, cap_entries;
	uint32_t *number;		/* of each member of the run; UINT32_MAX: left out */
	uint32_t n_members;
	struct event_block {
		int64_t first_ns;
		uint64_t lies_at, offset;
		uint32_t member;	/* of the run */
		uint32_t stored_bytes;
	} *event;			/* blocks of events, written last */
	uint32_t n_events, cap_events;
	int err;
};

static void write_bytes(struct node_writer *w, const void *bytes, size_t n)
{
	tp_outfile_bytes(w->out, bytes, n);
	w->at += n;
}

/* A block whose head is complete. */
static void write_block(struct node_writer *w, const struct tp_block_head *head,
			const void *stored)
{
	if (!tp_grow(&w->entry, &w->cap_entries, (uint64_t)w->n_entries + 1,
		     sizeof(w->entry[0]))) {
		w->err = -ENOMEM;
		return;
	}
	w->entry[w->n_entries++] = (struct tp_node_entry){.at = w->at, .head = *head};
	write_bytes(w, head, sizeof(*head));
	write_bytes(w, stored, head->stored_bytes);
}

static void pack_block(struct node_writer *w, struct tp_block_head *head, const void *raw,
		       size_t n)
{
	head->sequence = w->sequence++;
	tp_frame_pack(w->packer, head, raw, n, NULL, 0, w->packed);
}

/* One of ours: MEMBER, NOTES, LEDGER, RING. */
static void write_own(struct node_writer *w, uint32_t number, enum tp_block_type type,
		      uint64_t offset, const void *raw, size_t n)
{
	struct tp_block_head head = {.type = (uint8_t)type, .n_items = 1};

	head.reserved[TP_NODE_MEMBER] = (uint64_t)number + 1;
	head.reserved[TP_NODE_OFFSET] = offset;
	pack_block(w, &head, raw, n);
	write_block(w, &head, w->packed);
}

/* The block whose head lies at `lies_at` of fd; it was at `offset` of its own file. */
static void copy_block(struct node_writer *w, int fd, uint64_t lies_at, uint64_t offset,
		       uint32_t stored_bytes, uint32_t number)
{
	struct tp_block_head head;
	bool is_sound;
	int err = tp_file_read_at(fd, lies_at, w->packed, sizeof(head) + stored_bytes);

	if (err) {
		w->err = err;
		return;
	}
	memcpy(&head, w->packed, sizeof(head));
	if (head.stored_bytes != stored_bytes) {
		w->err = -ESTALE;
		return;
	}
	is_sound = tp_frame_is_sound(&head, w->packed + sizeof(head));
	head.reserved[TP_NODE_MEMBER] = (uint64_t)number + 1;
	head.reserved[TP_NODE_OFFSET] = offset;
	tp_frame_seal(&head, w->packed + sizeof(head));
	if (!is_sound)
		head.checksum = ~head.checksum;
	write_block(w, &head, w->packed + sizeof(head));
}

/* ---- what is said of a member ---- */

/* A member of that process that is read before member `before`. */
static int64_t number_of_proc(const struct node_writer *w, const struct tp_proc *proc,
			      uint32_t before)
{
	for (uint32_t i = 0; i < before && proc; i++) {
		if (w->number[i] != UINT32_MAX && &w->run->member[i].proc->pub == proc)
			return w->number[i];
	}
	return -1;
}

/* What was noted after member at - 1 was read and before `at` was. */
static void write_notes(struct node_writer *w, uint32_t at, uint32_t number)
{
	char *text = NULL;
	size_t n = 0;
	FILE *lines = open_memstream(&text, &n);

	if (!lines) {
		w->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < w->run->n_notes; i++) {
		const struct tp_note *note = &w->run->note[i];
		const struct tp_issue *issue = &w->run->pub.issue[note->issue];
		int64_t proc = number_of_proc(w, issue->proc, at);

		if (note->before != at)
			continue;
		fputs(issue->is_loss ? "! " : "- ", lines);
		if (proc >= 0)
			fprintf(lines, "%lld %s\n", (long long)proc, issue->text);
		else
			fprintf(lines, "- %s\n", issue->text);
	}
	if (fclose(lines))
		w->err = -ENOMEM;
	else if (n)
		write_own(w, number, TP_BLOCK_NOTES, 0, text, n < TP_BLOCK_RAW_MAX ? n : PART_BYTES);
	free(text);
}

/* Steps of the run that began in the window. */
static void find_steps(const struct tp_run *run, const struct tp_window *window,
		       struct tp_node_member *head)
{
	head->first_step = UINT64_MAX;
	head->last_step = 0;
	for (uint32_t i = 0; i < run->n_steps; i++) {
		const struct tp_step_row *step = &run->step[i];

		if (step->proc != window->proc || step->begin_ns < window->begin_ns ||
		    step->begin_ns >= window->end_ns)
			continue;
		if (step->index < head->first_step)
			head->first_step = step->index;
		if (step->index > head->last_step)
			head->last_step = step->index;
	}
}

static void write_member(struct node_writer *w, const struct tp_member *member,
			 struct tp_node_member *head)
{
	size_t n = strlen(member->shown);

	memcpy(w->raw, head, sizeof(*head));
	memcpy(w->raw + sizeof(*head), member->shown, n);
	write_own(w, w->n_members - 1, TP_BLOCK_MEMBER, 0, w->raw, sizeof(*head) + n);
}

/* What a ledger's or a ring's own head says in its own way. */
static void describe_proc(const struct tp_proc_in *proc, struct tp_file_head *head)
{
	*head = (struct tp_file_head){
		.magic = TP_FILE_MAGIC,
		.major = TP_TRACE_MAJOR,
		.minor = TP_TRACE_MINOR,
		.head_bytes = sizeof(*head),
		.boot_id = {proc->pub.boot_id[0], proc->pub.boot_id[1]},
		.run_id = proc->pub.run_id,
		.pid = proc->pub.pid,
		.rank = proc->pub.rank,
		.local_rank = proc->pub.local_rank,
		.world_size = proc->pub.world_size,
		.node_rank = proc->pub.node_rank,
		.clock_source = proc->is_tsc ? TP_CLOCK_TSC : TP_CLOCK_MONOTONIC,
		.restart = proc->pub.restart,
	};
	tp_frame_seal_file_head(head);
}

/* ---- members ---- */

static void add_event_block(struct node_writer *w, struct event_block block)
{
	if (tp_grow(&w->event, &w->cap_events, (uint64_t)w->n_events + 1, sizeof(block)))
		w->event[w->n_events++] = block;
	else
		w->err = -ENOMEM;
}

static void silence(void *ctx, const char *path, uint64_t offset, const char *what)
{
}

/* Time on the clock that is nobody's own; where it cannot be told, 0. */
static uint64_t real_ns(const struct tp_run *run, int64_t ns)
{
	return ns > 0 || (uint64_t)-ns < run->zero_real_ns ? run->zero_real_ns + (uint64_t)ns : 0;
}

static void write_trace(struct node_writer *w, uint32_t at)
{
	const struct tp_member *member = &w->run->member[at];
	const struct tp_source *source = &w->run->source[member->source];
	const struct tp_window *window = &w->run->pub.window[source->window];
	struct tp_node_member head = {.kind = TP_MEMBER_TRACE};
	struct tp_reader reader;
	uint32_t hint = 0;
	int err = 0;

	if (member->node)
		tp_node_view(member->node, member->part, &reader);
	else
		err = tp_reader_open(&reader, member->path, silence, NULL);
	if (err) {
		w->err = err;
		return;
	}
	head.flags = reader.is_whole ? TP_MEMBER_WHOLE : 0;
	head.file_bytes = reader.file_bytes;
	head.head = reader.head;
	if (window->end_ns > window->begin_ns) {
		head.begin_ns = real_ns(&w->run->pub, window->begin_ns);
		head.end_ns = real_ns(&w->run->pub, window->end_ns);
	}
	find_steps(&w->run->pub, window, &head);
	write_member(w, member, &head);
	write_notes(w, at, w->n_members - 1);
	for (uint32_t i = 0; i < reader.n_blocks && !w->err; i++) {
		const struct tp_reader_block *block = &reader.block[i];
		struct event_block event = {
			.lies_at = block->lies_at,
			.offset = block->offset,
			.member = at,
			.stored_bytes = block->head.stored_bytes,
		};

		if (!tp_reader_has_events(&block->head) || !source->proc->map.n_knots ||
		    block->head.first_time >> 62) {
			copy_block(w, reader.fd, block->lies_at, block->offset,
				   block->head.stored_bytes, w->n_members - 1);
			continue;
		}
		event.first_ns = tp_run_ns(source->proc, &hint, block->head.first_time);
		add_event_block(w, event);
	}
	if (member->node)
		tp_node_give_back(member->node, &reader);
	else
		tp_reader_close(&reader);
}

/* Bytes [at, at + n) of fd as blocks of that type; what is behind the end is not there. */
static void write_range(struct node_writer *w, int fd, enum tp_block_type type, uint64_t at,
			uint64_t n)
{
	while (n && !w->err) {
		size_t part = n < PART_BYTES ? (size_t)n : PART_BYTES;
		ssize_t got = pread(fd, w->raw, part, (off_t)at);

		if (got <= 0) {
			w->err = got ? -errno : 0;
			return;
		}
		write_own(w, w->n_members - 1, type, at, w->raw, (size_t)got);
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
}

/* Of a ring what is read of one: head, threads, steps, names, and the chunks in use. */
static void write_ring(struct node_writer *w, int fd)
{
	struct tp_ring_head head;
	struct tp_chunk chunk;

	w->err = tp_file_read_at(fd, 0, &head, sizeof(head));
	if (w->err)
		return;
	write_range(w, fd, TP_BLOCK_RING, 0, sizeof(head));
	write_range(w, fd, TP_BLOCK_RING, head.slots_at,
		    head.n_slots * sizeof(struct tp_ring_slot));
	write_range(w, fd, TP_BLOCK_RING, head.steps_at,
		    head.n_steps * sizeof(struct tp_ring_step));
	write_range(w, fd, TP_BLOCK_RING, head.names_at, head.names_used);
	for (uint32_t i = 0; i < head.n_chunks && !w->err; i++) {
		uint64_t at = head.chunks_at + (uint64_t)i * TP_CHUNK_BYTES;

		w->err = tp_file_read_at(fd, at, &chunk, offsetof(struct tp_chunk, rec));
		if (!w->err && chunk.state != TP_CHUNK_FREE)
			write_range(w, fd, TP_BLOCK_RING, at, TP_CHUNK_BYTES);
	}
}

/* Ledger or ring. */
static void write_loose(struct node_writer *w, uint32_t at)
{
	const struct tp_member *member = &w->run->member[at];
	const struct tp_node_part *part = NULL;
	struct tp_node_member head = {.kind = member->kind, .first_step = 1};
	struct stat st;
	int fd = -1;

	if (member->node) {
		part = &member->node->part[member->part];
		head = part->head;
	} else {
		fd = open(member->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st)) {
			w->err = -errno;
			return;
		}
		head.file_bytes = (uint64_t)st.st_size;
		describe_proc(member->proc, &head.head);
	}
	write_member(w, member, &head);
	write_notes(w, at, w->n_members - 1);
	for (uint32_t i = 0; part && i < part->n_own && !w->err; i++) {
		const struct tp_reader_block *block = &member->node->reader.block[part->first + i];

		if (block->head.type == TP_BLOCK_LEDGER || block->head.type == TP_BLOCK_RING)
			copy_block(w, member->node->reader.fd, block->lies_at, block->offset,
				   block->head.stored_bytes, w->n_members - 1);
	}
	if (!part && member->kind == TP_MEMBER_LEDGER)
		write_range(w, fd, TP_BLOCK_LEDGER, 0, head.file_bytes);
	else if (!part)
		write_ring(w, fd);
	if (fd >= 0)
		close(fd);
}

/* The ring of a process that still runs has moved on since it was read. */
static bool is_left_out(struct tp_run_in *run, const struct tp_member *member)
{
	if (member->kind == TP_MEMBER_TRACE)
		return member->source < 0;
	if (member->kind != TP_MEMBER_RING || !member->proc->is_live)
		return false;
	tp_run_issue(&run->pub, &member->proc->pub, true,
		     "process %u still runs: what is in no file of it yet is not in the node file",
		     member->proc->pub.pid);
	tp_run_keep(run, run->pub.n_issues - 1);
	return true;
}

static void write_members(struct node_writer *w)
{
	struct tp_node_member last = {.kind = TP_MEMBER_NOTES, .first_step = 1};
	const struct tp_member none = {.shown = (char *)""};

	for (uint32_t i = 0; i < w->run->n_members && !w->err; i++) {
		w->number[i] = UINT32_MAX;
		if (is_left_out(w->run, &w->run->member[i]))
			continue;
		w->number[i] = w->n_members++;
		if (w->run->member[i].kind == TP_MEMBER_TRACE)
			write_trace(w, i);
		else
			write_loose(w, i);
		if (w->err)
			fprintf(stderr, "trainprof-merge: '%s' cannot be read again: %s\n",
				w->run->member[i].shown, strerror(-w->err));
	}
	w->n_members++;
	write_member(w, &none, &last);
	write_notes(w, w->run->n_members, w->n_members - 1);
}

/* ---- events, index ---- */

static int compare_events(const void *a, const void *b)
{
	const struct event_block *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void write_events(struct node_writer *w)
{
	if (w->n_events)
		qsort(w->event, w->n_events, sizeof(w->event[0]), compare_events);
	for (uint32_t i = 0; i < w->n_events && !w->err; i++) {
		const struct event_block *event = &w->event[i];
		struct tp_infile *file =
			w->run->source[w->run->member[event->member].source].file;
		int fd = tp_infile_open(&w->run->files, file);

		if (fd < 0) {
			w->err = fd;
			return;
		}
		copy_block(w, fd, event->lies_at, event->offset, event->stored_bytes,
			   w->number[event->member]);
		tp_infile_done(&w->run->files, file, fd);
	}
}

static void write_index(struct node_writer *w)
{
	struct tp_node_tail tail = {
		.magic = TP_NODE_TAIL_MAGIC,
		.index_at = w->at,
		.n_members = w->n_members,
		.n_blocks = w->n_entries,
	};

	for (uint32_t i = 0, n; i < w->n_entries; i += n) {
		struct tp_block_head head = {.type = TP_BLOCK_INDEX};

		n = w->n_entries - i;
		if (n > TP_NODE_ENTRIES_MAX)
			n = TP_NODE_ENTRIES_MAX;
		head.n_items = n;
		pack_block(w, &head, &w->entry[i], n * sizeof(w->entry[0]));
		write_bytes(w, &head, sizeof(head));
		write_bytes(w, w->packed, head.stored_bytes);
		tail.n_index++;
	}
	tp_frame_seal_node_tail(&tail);
	write_bytes(w, &tail, sizeof(tail));
}

static void write_head(struct node_writer *w)
{
	struct tp_file_head head = {
		.magic = TP_NODE_MAGIC,
		.major = TP_TRACE_MAJOR,
		.minor = TP_TRACE_MINOR,
		.head_bytes = sizeof(head),
		.rank = -1,
		.local_rank = -1,
		.world_size = -1,
		.node_rank = -1,
	};

	for (uint32_t i = 0; i < w->run->pub.n_procs; i++) {
		int32_t node = w->run->pub.proc[i]->node_rank;

		if (i && node != head.node_rank) {
			head.node_rank = -1;
			break;
		}
		head.node_rank = node;
	}
	tp_frame_seal_file_head(&head);
	write_bytes(w, &head, sizeof(head));
}

static int begin_writer(struct node_writer *w)
{
	size_t bytes = tp_frame_packer_bytes();
	void *memory = malloc(bytes);

	w->packer = tp_frame_packer_init(memory, bytes);
	if (!w->packer)
		free(memory);
	w->raw = malloc(TP_BLOCK_RAW_MAX);
	w->packed = malloc(sizeof(struct tp_block_head) + tp_frame_bound(TP_BLOCK_RAW_MAX));
	w->number = malloc((w->run->n_members + 1) * sizeof(w->number[0]));
	return w->packer && w->raw && w->packed && w->number ? 0 : -ENOMEM;
}

static int write_node(struct tp_run *run, const char *path)
{
	struct node_writer w = {.run = tp_run_inside(run)};
	int err = begin_writer(&w), close_err;

	if (err) {
		fprintf(stderr, "trainprof-merge: cannot write '%s': %s\n", path, strerror(-err));
	} else if (!(w.out = tp_outfile_open(path))) {
		err = -EIO;
	} else {
		write_head(&w);
		write_members(&w);
		write_events(&w);
		write_index(&w);
		err = w.err;
		close_err = err ? tp_outfile_abandon(w.out, err) : tp_outfile_close(w.out);
		err = err ? err : close_err;
	}
	free(w.packer);
	free(w.raw);
	free(w.packed);
	free(w.number);
	free(w.entry);
	free(w.event);
	return err;
}

const struct tp_sink tp_sink_node = {
	.name = "tpn",
	.help = "all traces, ledgers and rings of the run in one file: input for trainprof-merge",
	.hint = "give it to trainprof-merge in the place of the files that are in it",
	.suffix = ".tpn",
	.write = write_node,
};
