/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - from paths to a run: finds and indexes every file
 *
 * Order matters: rings first (they say how much of an unfinished file counts, and a live
 * process moves records from its ring to its file while we read), then traces and ledgers,
 * then place.c puts all on one clock. No event is decoded here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/fuse.h"
#include "merge/input/input.h"
#include "merge/input/jobs.h"
#include "merge/input/node.h"
#include "merge/input/run.h"
#include "merge/kineto/kineto_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/list.h"
#include "merge/kit/say.h"
#include "merge/kit/show.h"
#include "merge/model/label.h"
#include "merge/model/ranks.h"
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

static void complain_input(void *ctx, const char *path, const char *what)
{
	struct opening *o = ctx;

	tp_run_issue(&o->run->pub, NULL, true, "'%s': %s", path, what);
	tp_run_keep(o->run, o->run->pub.n_issues - 1);
}

static void note_input(void *ctx, const char *path, const char *what)
{
	struct opening *o = ctx;

	tp_run_issue(&o->run->pub, NULL, false, "'%s': %s", path, what);
	tp_run_keep(o->run, o->run->pub.n_issues - 1);
}

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

static const char *copy_text(struct tp_run_in *run, const uint8_t *bytes, uint32_t n)
{
	char *text = n && tp_run_affords(run, n) ? malloc(n + 1) : NULL;

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
		complain_input(&o, shown, strerror(errno));
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

static int read_input(struct tp_run_in *run, struct tp_input_list *list, uint32_t at)
{
	const struct tp_input *input = &list->item[at];
	int fd;

	if (input->is_of_other_job)
		return 0;
	/* In a folder with traces of ours: the timelines that were made of them. */
	if (input->kind == TP_INPUT_KINETO && !input->is_given && run->n_sources &&
	    run->n_sources != run->n_kineto)
		return 0;
	fd = tp_input_open(list, at);
	if (fd < 0)
		return 0;
	switch (input->kind) {
	case TP_INPUT_RING:
		return tp_recover_ring(run, fd, input->path);
	case TP_INPUT_TRACE:
		return tp_run_read_trace(run, fd, input->path, input->path);
	case TP_INPUT_LEDGER:
		return tp_run_read_ledger(run, fd, input->path, input->path);
	case TP_INPUT_REPORT:
		return tp_run_read_report(run, fd, input->path);
	case TP_INPUT_NODE:
		return tp_node_open(run, fd, input->path);
	case TP_INPUT_KINETO:
		return tp_run_read_kineto(run, fd, input->path);
	}
	close(fd);
	return 0;
}

/* After all others: what these give too is theirs. Kind by kind, as files of their own are read. */
static int read_nodes(struct tp_run_in *run)
{
	static const enum tp_member_kind order[] = {TP_MEMBER_RING, TP_MEMBER_TRACE,
						    TP_MEMBER_LEDGER, TP_MEMBER_REPORT, TP_MEMBER_NOTES};
	int err = 0;

	for (uint32_t k = 0; k < sizeof(order) / sizeof(order[0]) && !err; k++) {
		for (uint32_t i = 0; i < run->n_nodes && !err; i++)
			err = tp_node_read(run, i, order[k]);
	}
	for (uint32_t i = 0; i < run->n_nodes && !err; i++)
		tp_node_tell(run, run->node[i]);
	return err;
}

/* Rings and what was converted take a descriptor each: hundreds of ranks are more than the usual
 * soft limit. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void say_left_out(struct tp_run_in *run)
{
	static const char why[] = "are left out: with them all would take more memory than files of "
				  "this size account for";

	if (run->n_left_out)
		tp_run_issue(&run->pub, NULL, true, "%llu names and texts %s",
			     (unsigned long long)run->n_left_out, why);
	if (run->n_events_left_out)
		tp_run_issue(&run->pub, NULL, true, "%llu events %s",
			     (unsigned long long)run->n_events_left_out, why);
}

/* Processes that are known by their buffer files recorded something, only not yet. */
static void say_nothing(const struct tp_run *run, const char *others)
{
	char buf[TP_STOOD_BYTES], *stood;

	if (run->n_procs)
		tp_say("nothing to show in '%s'%s: no window had begun there and no step had ended", run->path,
		       others);
	else
		tp_say("nothing usable in '%s'%s: no trace (*.tpt), buffer file (*.ring), step log (*.steps) or "
		       "node file (*.tpn) and no *.pt.trace.json; was libtrainprof.so in LD_PRELOAD of the job, "
		       "and is this its TRAINPROF_DIR? With TRAINPROF_LOG=info the job says what it records, or "
		       "why nothing", run->path, others);
	for (uint32_t i = 0; i < run->n_procs; i++) {
		stood = tp_label_stood(buf, run->proc[i], NULL);
		if (stood)
			tp_say("process %u was last seen in %s", run->proc[i]->pid, tp_show_paths(stood));
	}
}

struct tp_run *tp_run_open(const struct tp_fuse_options *options)
{
	static const enum tp_input_kind order[] = {TP_INPUT_RING, TP_INPUT_TRACE,
						   TP_INPUT_LEDGER, TP_INPUT_REPORT,
						   TP_INPUT_KINETO, TP_INPUT_NODE};
	struct tp_run_in *run = calloc(1, sizeof(*run));
	struct opening o = {.run = run};
	struct tp_input_list list = {.complain = complain_input, .note = note_input,
				     .ctx = &o};
	int err = run ? tp_strings_init(&run->strings) : -ENOMEM;

	if (run)
		tp_infiles_init(&run->files);
	if (err)
		goto out;
	raise_limit();
	run->options = *options;
	run->pub.is_quiet = options->is_quiet;
	run->pub.path = options->n_paths ? options->path[0] : "";
	for (uint32_t i = 0; i < options->n_paths && !err; i++)
		err = tp_input_add(&list, options->path[i]);
	if (!err)
		err = tp_jobs_choose(run, &list);
	if (err)
		goto out;
	for (uint32_t k = 0; k < sizeof(order) / sizeof(order[0]) && err != -ENOMEM; k++) {
		for (uint32_t i = 0; i < list.n_items && err != -ENOMEM; i++) {
			if (list.item[i].kind == order[k])
				err = read_input(run, &list, i);
		}
	}
	err = err == -ENOMEM ? err : read_nodes(run);
	say_left_out(run);
	tp_run_settle_reports(run);
	err = err == -ENOMEM ? err : tp_run_place(run);
	if (!err) {
		tp_ranks_mark(&run->pub);
		run->pub.is_selection = options->ranks != NULL;
		tp_ranks_check(&run->pub);
	}
out:
	tp_input_free(&list);
	if (err && err != -ENOENT)
		tp_say("out of memory while files were opened");
	else if (!err && !run->pub.n_windows && !run->pub.n_steps && !run->pub.n_hangs && !run->pub.n_ooms)
		say_nothing(&run->pub, options->n_paths > 1 ? " and the other paths" : "");
	else if (!err)
		return &run->pub;
	tp_run_free(run ? &run->pub : NULL);
	return NULL;
}
