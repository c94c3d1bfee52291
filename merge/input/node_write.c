/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_write.c - all files of a run into one: heads first, events in time order, an index
 *
 * Blocks are copied as they are stored. Each is checked first: one that is damaged stays damaged
 * in the copy, so that whoever reads it says so and not something else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/input/node_writer.h"
#include "merge/kit/grow.h"
#include "merge/kit/outfile.h"
#include "merge/kit/say.h"
#include "merge/model/sink.h"
#include "runtime/base/file.h"

static void write_bytes(struct tp_node_writer *w, const void *bytes, size_t n)
{
	tp_outfile_bytes(w->out, bytes, n);
	w->at += n;
}

/* A block whose head is complete. */
static void write_block(struct tp_node_writer *w, const struct tp_block_head *head,
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

static void pack_block(struct tp_node_writer *w, struct tp_block_head *head, const void *raw,
		       size_t n)
{
	head->sequence = w->sequence++;
	tp_frame_pack(w->packer, head, raw, n, NULL, 0, w->packed);
}

void tp_node_write_own(struct tp_node_writer *w, uint32_t number, enum tp_block_type type,
		       uint64_t offset, const void *raw, size_t n)
{
	struct tp_block_head head = {.type = (uint8_t)type, .n_items = 1};

	head.reserved[TP_NODE_MEMBER] = (uint64_t)number + 1;
	head.reserved[TP_NODE_OFFSET] = offset;
	pack_block(w, &head, raw, n);
	write_block(w, &head, w->packed);
}

void tp_node_copy_block(struct tp_node_writer *w, int fd, uint64_t lies_at, uint64_t offset,
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

/* ---- events, index ---- */

static int compare_events(const void *a, const void *b)
{
	const struct tp_node_event_block *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void write_events(struct tp_node_writer *w)
{
	if (w->n_events)
		qsort(w->event, w->n_events, sizeof(w->event[0]), compare_events);
	for (uint32_t i = 0; i < w->n_events && !w->err; i++) {
		const struct tp_node_event_block *event = &w->event[i];
		struct tp_infile *file =
			w->run->source[w->run->member[event->member].source].file;
		int fd = tp_infile_open(&w->run->files, file);

		if (fd < 0) {
			w->err = fd;
			return;
		}
		tp_node_copy_block(w, fd, event->lies_at, event->offset, event->stored_bytes,
				   w->number[event->member]);
		tp_infile_done(&w->run->files, file, fd);
	}
}

static void write_index(struct tp_node_writer *w)
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

static void write_head(struct tp_node_writer *w)
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

static int begin_writer(struct tp_node_writer *w)
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
	struct tp_node_writer w = {.run = tp_run_inside(run)};
	int err = begin_writer(&w), close_err;

	if (err) {
		tp_say("cannot write '%s': %s", path, strerror(-err));
	} else if (!(w.out = tp_outfile_open(path))) {
		err = -EIO;
	} else {
		write_head(&w);
		tp_node_write_members(&w);
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
	.help = "all traces, step logs and buffer files of the run in one file: input for trainprof-merge",
	.hint = "give it to trainprof-merge in the place of the files that are in it",
	.suffix = ".tpn",
	.write = write_node,
};
