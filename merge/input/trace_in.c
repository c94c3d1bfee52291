/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_in.c - a trace file: its blocks are found, its names read; no event is decoded here
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/node.h"
#include "merge/input/run.h"
#include "merge/model/label.h"
#include "merge/kit/list.h"
#include "runtime/base/begins.h"
#include "runtime/base/text.h"

struct opening {
	struct tp_run_in *run;
	struct tp_proc_in *proc;	/* of the file being read; NULL before its head is known */
	struct tp_source *source;
	uint32_t n_bad_ids;
	uint64_t n_blocks_said;		/* by its END block; 0: it has none */
	bool has_meta;
};

static void complain_reader(void *ctx, const char *path, uint64_t offset, const char *what)
{
	struct opening *o = ctx;

	tp_run_issue(&o->run->pub, o->proc ? &o->proc->pub : NULL, true, "'%s': offset %llu: %s",
		     path, (unsigned long long)offset, what);
}

static void add_string(void *ctx, uint32_t id, uint32_t kind, const char *bytes,
		       uint32_t n_bytes)
{
	struct opening *o = ctx;

	if (tp_run_string(o->run, o->proc, id, kind, bytes, n_bytes))
		o->n_bad_ids++;
}

/* "" where there is none, or a zero is all of it: who frees it asks for its first character. */
static const char *copy_text(struct tp_run_in *run, const uint8_t *bytes, uint32_t n)
{
	char *text = n && bytes[0] && tp_run_affords(run, n) ? malloc(n + 1) : NULL;

	if (!text)
		return "";
	run->n_text_bytes += n;
	memcpy(text, bytes, n);
	text[n] = 0;
	return text;
}

static uint64_t said_blocks(const uint8_t *totals, uint32_t n)
{
	char value[24];
	uint64_t blocks;

	if (!tp_reader_text_value((const char *)totals, n, "blocks", value, sizeof(value)) ||
	    tp_text_parse_u64(value, &blocks))
		return 0;
	return blocks;
}

static bool has_issue(const struct opening *o, const char *line, size_t n)
{
	const struct tp_run *run = &o->run->pub;

	for (uint32_t i = 0; i < run->n_issues; i++) {
		const char *text = run->issue[i].text;
		size_t n_text = strlen(text);

		if (run->issue[i].proc == &o->proc->pub && n_text >= n &&
		    !memcmp(text + n_text - n, line, n))
			return true;
	}
	return false;
}

/* Messages of a process that had no standard error any more; each file has all up to then. */
static void take_unsaid(const struct opening *o, const char *totals)
{
	static const char key[] = "unsaid=trainprof: ";
	const char *at = totals;

	while ((at = strstr(at, key))) {
		size_t n = strcspn(at += sizeof(key) - 1, "\n");

		if (!has_issue(o, at, n))
			tp_run_issue(&o->run->pub, &o->proc->pub, false,
				     "its standard error was gone when it said: %.*s", (int)n, at);
	}
}

/* The file was made of what a dead process left. */
static void take_recovered(const struct opening *o, struct tp_window *window)
{
	window->is_recovered = true;
	if (tp_recover_death(o->proc, window->totals))
		tp_run_issue(&o->run->pub, &o->proc->pub, true,
			     "out of memory; where process %u stood when it died is left out", o->proc->pub.pid);
}

/* Everything but events. */
static void index_block(struct opening *o, struct tp_reader *reader, uint32_t i,
			struct tp_window *window)
{
	const struct tp_block_head *head = &reader->block[i].head;
	const uint8_t *raw;
	uint32_t n;

	switch (head->type) {
	case TP_BLOCK_META:
		if (tp_reader_payload(reader, i, &raw, &n) || o->has_meta)
			break;
		/* Longer than what a ring has room for. */
		if (window->meta[0])
			free((char *)window->meta);
		window->meta = copy_text(o->run, raw, n);
		tp_run_take_meta(o->proc, window->meta);
		o->has_meta = true;
		break;
	case TP_BLOCK_END:
		if (tp_reader_payload(reader, i, &raw, &n))
			break;
		o->n_blocks_said = said_blocks(raw, n);
		if (!window->totals[0])
			window->totals = copy_text(o->run, raw, n);
		take_unsaid(o, window->totals);
		if (tp_fact_u64(window->totals, "recovered", 0))
			take_recovered(o, window);
		break;
	case TP_BLOCK_STRINGS:
		tp_reader_strings(reader, i, add_string, o);
		break;
	case TP_BLOCK_THREADS:
		if (tp_reader_payload(reader, i, &raw, &n))
			break;
		for (uint32_t k = 0; k < head->n_items; k++) {
			struct tp_thread_entry entry;

			if ((k + 1) * sizeof(entry) > n)
				break;
			memcpy(&entry, raw + k * sizeof(entry), sizeof(entry));
			tp_run_thread(o->source, &entry);
		}
		break;
	default:
		/* Of a newer writer, or a known one whose head was damaged: its checksum tells. */
		tp_reader_payload(reader, i, &raw, &n);
		break;
	}
}

static void index_file(struct opening *o, struct tp_reader *reader, uint32_t source_at)
{
	struct tp_run_in *run = o->run;
	uint64_t counts_to = reader->is_whole ? UINT64_MAX
					      : tp_recover_file_bytes(o->proc, reader->head.window);
	uint64_t first_dropped = reader->n_blocks ? reader->block[0].head.dropped : 0;

	for (uint32_t i = 0; i < reader->n_blocks; i++) {
		const struct tp_reader_block *block = &reader->block[i];
		const struct tp_block_head *head = &block->head;
		struct tp_window *window = &run->pub.window[run->source[source_at].window];
		struct tp_clock_anchor anchor = {
			.ticks = head->anchor_ticks,
			.mono_ns = head->anchor_mono_ns,
			.real_ns = head->anchor_real_ns,
			.bracket_ticks = head->anchor_bracket_ticks,
		};

		o->source = &run->source[source_at];
		tp_run_anchor(o->proc, &anchor);
		if (head->dropped > first_dropped)
			window->dropped = head->dropped - first_dropped;
		if (head->end_time > o->proc->seen_ticks)
			o->proc->seen_ticks = head->end_time;
		if (!tp_reader_has_events(head)) {
			index_block(o, reader, i, window);
			continue;
		}
		/* What the ring still holds is taken from there: see ring_layout.h. */
		if (block->offset >= counts_to || !head->n_items ||
		    !tp_run_affords_events(run, head->n_items))
			continue;
		if (tp_run_block(run, (struct tp_block_ref){.source = source_at,
							    .at = i,
							    .n_events = head->n_items,
							    .stored_bytes = head->stored_bytes,
							    .has_stacks = head->type == TP_BLOCK_HEAP,
							    .offset = block->offset,
							    .lies_at = block->lies_at,
							    .first_ns = (int64_t)head->first_time,
							    .last_ns = (int64_t)head->last_time}))
			tp_run_issue(&run->pub, &o->proc->pub, true,
				     "'%s': out of memory; a block is left out", reader->path);
		window->n_events += head->n_items;
	}
}

/* Blocks are numbered and END counts them: one that is gone without a trace is noticed. */
static void check_numbers(struct opening *o, const struct tp_reader *reader)
{
	uint64_t next = 0, n_missing = 0;
	bool is_mixed = false;

	for (uint32_t i = 0; i < reader->n_blocks; i++) {
		uint64_t number = reader->block[i].head.sequence;

		if (number < next)
			is_mixed = true;
		else
			n_missing += number - next;
		next = number + 1;
	}
	if (!is_mixed && o->n_blocks_said > next)
		n_missing += o->n_blocks_said - next;
	if (is_mixed)
		tp_run_issue(&o->run->pub, &o->proc->pub, true,
			     "'%s': its blocks are not in the order in which they were written: it "
			     "was put together from others or is damaged", reader->path);
	else if (n_missing)
		tp_run_issue(&o->run->pub, &o->proc->pub, true,
			     "'%s': %llu of its blocks are missing; what they held is lost",
			     reader->path, (unsigned long long)n_missing);
}

/* Two files of one window: the whole one is read, else the longer one. */
static bool is_better(const struct tp_reader *reader, const struct tp_window *than)
{
	if (reader->is_whole != than->is_whole)
		return reader->is_whole;
	return reader->file_bytes > than->file_bytes;
}

static bool is_chosen(const struct tp_run_in *run, int32_t rank, uint32_t window)
{
	/* Outside of any launcher the only process is rank 0 to its user. */
	return tp_list_has(run->options.ranks, rank < 0 ? 0 : (uint64_t)rank) &&
	       tp_list_has(run->options.windows, window);
}

static void forget_source(struct tp_run_in *run, uint32_t window_at)
{
	for (uint32_t i = 0; i < run->n_sources; i++) {
		struct tp_source *s = &run->source[i];

		if (s->window != window_at || s->rest)
			continue;
		for (uint32_t b = 0; b < run->n_blocks; b++) {
			if (run->block[b].source != i)
				continue;
			run->n_events_due -= run->block[b].n_events;
			run->pub.window[window_at].n_events -= run->block[b].n_events;
			run->block[b--] = run->block[--run->n_blocks];
		}
		for (uint32_t m = 0; m < run->n_members; m++) {
			if (run->member[m].kind == TP_MEMBER_TRACE && run->member[m].source == i)
				run->member[m].source = -1;
		}
	}
}

/* What was opened becomes the window's trace; `at` says where it comes from. 0 or -ENOMEM. */
static int read_opened(struct opening *o, struct tp_reader *reader, struct tp_member at)
{
	struct tp_run_in *run = o->run;
	struct tp_window *window;
	struct tp_infile *file;
	int64_t window_at;
	bool is_new, has_file;

	o->proc = tp_run_proc(run, &reader->head);
	window_at = o->proc ? tp_run_window(run, o->proc, reader->head.window, &is_new) : -1;
	if (window_at < 0)
		return -ENOMEM;
	window = &run->pub.window[window_at];
	has_file = window->file_bytes > 0;
	if (has_file) {
		bool better = is_better(reader, window);

		if (at.node) {
			at.node->n_told++;
		} else {
			tp_run_issue(&run->pub, &o->proc->pub, false,
				     "window %u is in both '%s' and '%s'; '%s' is left out",
				     window->window, window->path, at.shown,
				     better ? window->path : at.shown);
			tp_run_keep(run, run->pub.n_issues - 1);
		}
		if (!better)
			return 0;
		forget_source(run, (uint32_t)window_at);
	}
	if (!at.node)
		run->n_input_bytes += reader->file_bytes;
	at.proc = o->proc;
	at.source = tp_run_source(run, o->proc, (uint32_t)window_at, at.shown);
	if (at.source < 0 || !tp_run_member(run, at))
		return -ENOMEM;
	file = at.node ? at.node->file : tp_infiles_add(&run->files, at.path, reader->fd);
	if (!file)
		return -ENOMEM;
	run->source[at.source].file = file;
	if (window->path[0])
		free((char *)window->path);
	window->path = copy_text(run, (const uint8_t *)at.shown, (uint32_t)strlen(at.shown));
	window->file_bytes = reader->file_bytes;
	window->is_whole = reader->is_whole;
	window->is_recovered |= !reader->is_whole && o->proc->has_ring && !o->proc->is_live;
	index_file(o, reader, (uint32_t)at.source);
	check_numbers(o, reader);
	if (o->n_bad_ids)
		tp_run_issue(&run->pub, &o->proc->pub, true,
			     "'%s': %u names contradict others of the same process; the first ones stay",
			     at.shown, o->n_bad_ids);
	return 0;
}

/* A kill came just as the file was made: there is nothing that it could have lost. */
static bool is_just_made(struct tp_run_in *run, const struct stat *st, const char *shown)
{
	if (!tp_ends(shown, ".part") || st->st_size)
		return false;
	tp_run_issue(&run->pub, NULL, false,
		     "'%s': empty: its process ended just as it made it; nothing was lost with it",
		     shown);
	tp_run_keep(run, run->pub.n_issues - 1);
	return true;
}

int tp_run_read_trace(struct tp_run_in *run, int fd, const char *path, const char *shown)
{
	struct opening o = {.run = run};
	uint32_t n_issues = run->pub.n_issues;
	struct tp_reader reader;
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		tp_run_issue(&run->pub, NULL, true, "'%s': %s", shown, strerror(errno));
		tp_run_keep(run, n_issues);
		close(fd);
		return 0;
	}
	if (is_just_made(run, &st, shown)) {
		close(fd);
		return 0;
	}
	err = tp_reader_take(&reader, fd, shown, complain_reader, &o);
	tp_run_keep(run, n_issues);
	if (err)
		return err;
	if (is_chosen(run, reader.head.rank, reader.head.window))
		err = read_opened(&o, &reader, (struct tp_member){.kind = TP_MEMBER_TRACE,
								  .path = (char *)path,
								  .shown = (char *)shown,
								  .dev = st.st_dev,
								  .ino = st.st_ino});
	tp_reader_close(&reader);
	return err;
}

int tp_run_read_part(struct tp_run_in *run, struct tp_node *node, uint32_t part)
{
	const struct tp_file_head *head = &node->part[part].head.head;
	struct opening o = {.run = run};
	struct tp_reader reader;
	int err;

	if (!is_chosen(run, head->rank, head->window))
		return 0;
	tp_node_view(node, part, &reader);
	reader.complain = complain_reader;
	reader.complain_ctx = &o;
	err = read_opened(&o, &reader, (struct tp_member){.kind = TP_MEMBER_TRACE,
							  .path = node->file->path,
							  .shown = node->part[part].path,
							  .node = node,
							  .part = part});
	node->part[part].proc = o.proc;
	tp_node_give_back(node, &reader);
	return err;
}
