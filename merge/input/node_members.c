/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_members.c - part of writing a node file: what each member is, and its blocks but events
 *
 * Of a ledger or a ring that lies in a file of its own the bytes are cut into blocks; what was a member
 * already is copied as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/node_writer.h"
#include "merge/kit/grow.h"
#include "merge/kit/say.h"
#include "runtime/base/file.h"

/* A member of that process that is read before member `before`. */
static int64_t number_of_proc(const struct tp_node_writer *w, const struct tp_proc *proc,
			      uint32_t before)
{
	for (uint32_t i = 0; i < before && proc; i++) {
		if (w->number[i] != UINT32_MAX && &w->run->member[i].proc->pub == proc)
			return w->number[i];
	}
	return -1;
}

/* What was noted after member at - 1 was read and before `at` was. */
static void write_notes(struct tp_node_writer *w, uint32_t at, uint32_t number)
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
		tp_node_write_own(w, number, TP_BLOCK_NOTES, 0, text,
				  n < TP_BLOCK_RAW_MAX ? n : TP_NODE_PART_BYTES);
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

static void write_member(struct tp_node_writer *w, const struct tp_member *member,
			 struct tp_node_member *head)
{
	size_t n = strlen(member->shown);

	memcpy(w->raw, head, sizeof(*head));
	memcpy(w->raw + sizeof(*head), member->shown, n);
	tp_node_write_own(w, w->n_members - 1, TP_BLOCK_MEMBER, 0, w->raw, sizeof(*head) + n);
}

/* What a ledger's or a ring's own head says in its own way. */
static void describe_proc(const struct tp_proc_in *proc, struct tp_file_head *head)
{
	*head = tp_run_file_head(proc);
	tp_frame_seal_file_head(head);
}

/* ---- members ---- */

static void add_event_block(struct tp_node_writer *w, struct tp_node_event_block block)
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

static void write_trace(struct tp_node_writer *w, uint32_t at)
{
	const struct tp_member *member = &w->run->member[at];
	const struct tp_source *source = &w->run->source[member->source];
	const struct tp_window *window = &w->run->pub.window[source->window];
	struct tp_node_member head = {.kind = TP_MEMBER_TRACE};
	struct tp_reader reader;
	uint32_t hint = 0;
	int fd;

	if (member->node) {
		tp_node_view(member->node, member->part, &reader);
	} else {
		fd = tp_infile_again(member->path, member->dev, member->ino);
		w->err = fd < 0 ? fd : tp_reader_take(&reader, fd, member->path, silence, NULL);
		if (w->err)
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
		struct tp_node_event_block event = {
			.lies_at = block->lies_at,
			.offset = block->offset,
			.member = at,
			.stored_bytes = block->head.stored_bytes,
		};

		if (!tp_reader_has_events(&block->head) || !source->proc->map.n_knots ||
		    block->head.first_time >> 62) {
			tp_node_copy_block(w, reader.fd, block->lies_at, block->offset,
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
static void write_range(struct tp_node_writer *w, int fd, enum tp_block_type type, uint64_t at,
			uint64_t n)
{
	while (n && !w->err) {
		size_t part = n < TP_NODE_PART_BYTES ? (size_t)n : TP_NODE_PART_BYTES;
		ssize_t got = pread(fd, w->raw, part, (off_t)at);

		if (got <= 0) {
			w->err = got ? -errno : 0;
			return;
		}
		tp_node_write_own(w, w->n_members - 1, type, at, w->raw, (size_t)got);
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
}

/* Of a ring what is read of one: head, threads, steps, names, and the chunks in use. */
static void write_ring(struct tp_node_writer *w, int fd)
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
static void write_loose(struct tp_node_writer *w, uint32_t at)
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
		fd = tp_infile_again(member->path, member->dev, member->ino);
		w->err = fd < 0 ? fd : fstat(fd, &st) ? -errno : 0;
		if (w->err) {
			if (fd >= 0)
				close(fd);
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
			tp_node_copy_block(w, member->node->reader.fd, block->lies_at,
					   block->offset, block->head.stored_bytes,
					   w->n_members - 1);
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

static void write_report(struct tp_node_writer *w, uint64_t run_id, const struct tp_report_at *at)
{
	struct tp_node_member head = {.kind = TP_MEMBER_REPORT, .first_step = 1, .file_bytes = at->n};
	const struct tp_member member = {.shown = at->path};

	for (uint32_t i = 0; i < w->run->pub.n_procs; i++)
		if (w->run->pub.proc[i]->run_id == run_id)
			describe_proc((const struct tp_proc_in *)w->run->pub.proc[i], &head.head);
	w->n_members++;
	write_member(w, &member, &head);
	tp_node_write_own(w, w->n_members - 1, TP_BLOCK_REPORT, 0, at->text, at->n);
}

static void write_reports(struct tp_node_writer *w)
{
	const struct tp_run *run = &w->run->pub;

	for (uint32_t i = 0; i < run->n_hangs && !w->err; i++)
		write_report(w, run->hang[i].hang.run_id, &run->hang[i].at);
	for (uint32_t i = 0; i < run->n_ooms && !w->err; i++)
		write_report(w, run->oom[i].oom.run_id, &run->oom[i].at);
}

void tp_node_write_members(struct tp_node_writer *w)
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
			tp_say("'%s' cannot be read again: %s",
				w->run->member[i].shown, strerror(-w->err));
	}
	write_reports(w);
	w->n_members++;
	write_member(w, &none, &last);
	write_notes(w, w->run->n_members, w->n_members - 1);
}
