/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovered.c - writes recovered windows as trace files and takes the rings away
 *
 * A ring is removed only after everything in it is in a file under its final name.
 *
 * Others may write in the folder, and change what a name is at any moment. So the folder is opened
 * once, and is the one that the ring lies in; files are made new, reached without links, and
 * changed or removed only if they are those that were read.
 */
#include "merge/input/ring/recovered.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/decode.h"
#include "merge/input/ring/death.h"
#include "merge/input/ring/recovered_ledger.h"
#include "runtime/base/begins.h"
#include "runtime/base/file.h"
#include "runtime/base/folder.h"
#include "runtime/base/text.h"
#include "runtime/trace/writer.h"

enum { ARENA_BYTES = 256 << 20 };	/* reserved; what is not touched costs nothing */

enum { TOTALS_BYTES = 48 << 10 };

struct recovery {
	struct tp_run_in *run;
	struct tp_proc_in *proc;
	struct tp_folder folder;	/* that the ring, or the link to it, lies in */
	struct tp_writer writer;
	struct tp_reader_room room;
	struct tp_rec *rec;
	uint16_t *thread;
	uint64_t n_events;
};

static bool string_of(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
		      uint32_t *n_bytes)
{
	const struct recovery *r = ctx;
	const struct tp_string *s = tp_ids_get(&r->proc->ids, id);

	if (!s)
		return false;
	*kind = s->kind;
	*bytes = s->bytes;
	*n_bytes = s->n_bytes;
	return true;
}

/* "x.tpt.part" -> "x.tpt"; of a window without a file, a name beside the ring. */
static int final_path(const struct recovery *r, const struct tp_window *window, char *path,
		      size_t cap)
{
	size_t n = strlen(window->path);
	const char *slash = strrchr(r->proc->ring_path, '/');
	int written;

	if (tp_ends(window->path, ".part"))
		written = snprintf(path, cap, "%.*s", (int)(n - 5), window->path);
	else
		written = snprintf(path, cap, "%.*srank%d.pid%u.%u.recovered.tpt",
				   slash ? (int)(slash - r->proc->ring_path + 1) : 0,
				   r->proc->ring_path, r->proc->pub.rank < 0 ? 0 : r->proc->pub.rank,
				   r->proc->pub.pid,
				   window->window);
	if (written < 0 || (size_t)written >= cap)
		return -ENAMETOOLONG;
	return access(path, F_OK) ? 0 : -EEXIST;
}

static int write_events(struct recovery *r, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0, k; i < n && !err; i = k) {
		for (k = i + 1; k < n && r->thread[k] == r->thread[i]; k++)
			;
		err = tp_writer_events(&r->writer, r->rec + i, k - i, r->thread[i]);
	}
	r->n_events += n;
	return err;
}

static int write_block(struct recovery *r, const struct tp_block_ref *block)
{
	enum tp_decode_trouble trouble;
	int err = tp_decode_read(r->run, &r->room, block, r->rec, r->thread, &trouble);

	/* A damaged block was reported when it was read; nothing can be saved of it. Any other
	 * failure means that the ring must stay. */
	if (err == -EBADMSG || err == -EILSEQ)
		return 0;
	return err ? err : write_events(r, block->n_events);
}

/* Spans that never ended: the names of the first n_told, which END tells of; the others are events. */
static int write_open_spans(struct recovery *r, uint32_t n_told)
{
	int err = 0;

	for (uint32_t i = 0; i < r->proc->n_ring_open && !err; i++) {
		const struct tp_ring_open *open = &r->proc->ring_open[i];
		struct tp_rec rec = {
			.time = open->span.time,
			.kind = (uint8_t)open->span.kind,
			.flags = TP_F_OPEN,
			.name = open->span.name,
			.link = TP_NO_SEQ,
		};

		if (open->has_ended)
			continue;
		tp_rec_set_len(&rec, r->proc->seen_ticks - rec.time);
		err = i < n_told ? tp_writer_string(&r->writer, rec.name)
				 : tp_writer_events(&r->writer, &rec, 1, (uint16_t)open->slot);
	}
	return err;
}

static int write_threads(struct recovery *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->proc->queues.n_listed && !err; i++) {
		const struct tp_thread *t = &r->proc->pub.thread[i];
		struct tp_thread_entry entry = {
			.slot = t->slot, .tid = t->tid, .torch_id = t->torch_id, .flags = t->is_main};

		if (!t->tid)
			continue;
		memcpy(entry.name, t->name, sizeof(entry.name));
		err = tp_writer_threads(&r->writer, &entry, 1);
	}
	return err;
}

static int compare_places(const void *a, const void *b)
{
	const struct tp_block_ref *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* All blocks of a source, as they lie there: the run has them in order of their times. */
static int write_source(struct recovery *r, uint32_t source_at)
{
	struct tp_block_ref *block = malloc((r->run->n_blocks + 1) * sizeof(block[0]));
	uint32_t n = 0;
	int err = block ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < r->run->n_blocks && !err; i++)
		if (r->run->block[i].source == source_at)
			block[n++] = r->run->block[i];
	if (n)
		qsort(block, n, sizeof(block[0]), compare_places);
	for (uint32_t i = 0; i < n && !err; i++)
		err = write_block(r, &block[i]);
	free(block);
	return err;
}

/* A window's files, or what the ring has of it: that was recorded after what is in files. */
static int write_sources(struct recovery *r, uint32_t window_at, bool is_ring)
{
	int err = 0;

	for (uint32_t i = 0; i < r->run->n_sources && !err; i++)
		if (r->run->source[i].window == window_at && !r->run->source[i].rest == !is_ring)
			err = write_source(r, i);
	return err;
}

static int write_content(struct recovery *r, uint32_t window_at)
{
	const struct tp_clock_anchor *anchor = r->proc->anchor;
	int err;

	/* The first reading is in the META block; the last one goes with all that follows. */
	r->writer.anchor = anchor[r->proc->n_anchors - 1];
	r->writer.dropped = r->proc->ring_dropped;
	err = write_threads(r);
	for (uint32_t i = 0; i < r->proc->n_loose_ids && !err; i++)
		err = tp_writer_string(&r->writer, r->proc->loose_id[i]);
	err = err ? err : write_sources(r, window_at, false);
	err = err ? err : write_sources(r, window_at, true);
	return err;
}

static int write_window(struct recovery *r, uint32_t window_at, bool is_last)
{
	const struct tp_window *window = &r->run->pub.window[window_at];
	struct tp_file_head head = tp_run_file_head(r->proc);
	char path[4096], new_path[4096 + 32], totals[TOTALS_BYTES];
	int err = final_path(r, window, path, sizeof(path));
	uint32_t n_told = 0;
	uint64_t begin, end;
	struct tp_text text;

	if (err)
		return tp_recovered_say(r->proc, window->path, err);
	head.window = window->window;
	r->n_events = 0;
	r->writer.anchor = r->proc->anchor[0];
	/* The writer makes a ".part" of its own, which must not be the one that is read. */
	snprintf(new_path, sizeof(new_path), "%s.recovered.part", path);
	tp_folder_unlink(&r->folder, new_path, NULL);	/* of a recovery that was killed */
	new_path[strlen(new_path) - strlen(".part")] = '\0';
	err = tp_writer_open(&r->writer, new_path, &head, window->meta,
			     (uint32_t)strlen(window->meta));
	if (err)
		return tp_recovered_say(r->proc, path, err);
	tp_text_init(&text, totals, sizeof(totals));
	tp_text_fmt(&text, "recovered=1\n");
	if (tp_recover_bounds(r->proc, window->window, &begin, &end))
		tp_text_fmt(&text, "begin=%lu\nend=%lu\n", begin, end);
	if (is_last)
		n_told = tp_death_put(&text, r->proc);
	err = write_content(r, window_at);
	if (!err && is_last)
		err = write_open_spans(r, n_told);
	if (err)
		tp_writer_abandon(&r->writer);
	else
		err = tp_writer_close(&r->writer, totals, (uint32_t)text.len);
	if (!err)
		err = tp_folder_rename(&r->folder, new_path, path);
	if (err) {
		strcat(new_path, ".part");
		tp_folder_unlink(&r->folder, new_path, NULL);
		return tp_recovered_say(r->proc, path, err);
	}
	printf("recovered %s: %llu events\n", path, (unsigned long long)r->n_events);
	return 0;
}

/* Opens the folder of the ring, and makes sure that it is. */
static int open_folder(struct recovery *r)
{
	const char *path = r->proc->ring_path, *slash = strrchr(path, '/');
	char folder[sizeof(r->folder.path)];
	struct stat st;
	int n = slash == path ? 1 : slash ? (int)(slash - path) : 0;
	int err;

	if (n >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "%.*s", n ? n : 1, n ? path : ".");
	err = tp_folder_open(&r->folder, folder);
	if (err)
		return err;
	if (fstatat(r->folder.own.fd, slash ? slash + 1 : path, &st, 0) < 0)
		err = -errno;
	else if (!tp_own_fd_is_file(&r->proc->ring_file, &st))
		err = -ESTALE;
	if (err)
		tp_folder_close(&r->folder);
	return err;
}

static void remove_ring(const struct recovery *r)
{
	const struct tp_proc_in *proc = r->proc;
	char *real = NULL;

	/* Else it is a link, to a ring elsewhere. */
	if (tp_folder_unlink(&r->folder, proc->ring_path, &proc->ring_file) != -ESTALE)
		return;
	real = realpath(proc->ring_path, NULL);
	if (real && tp_folder_unlink(NULL, real, &proc->ring_file))
		tp_recovered_say(r->proc, real, -ESTALE);
	else
		tp_folder_unlink(&r->folder, proc->ring_path, NULL);
	free(real);
}

/* The file of a window, now that all of it is in another one. */
static void remove_part(const struct recovery *r, uint32_t window_at)
{
	const char *path = r->run->pub.window[window_at].path;

	if (!tp_ends(path, ".part"))
		return;
	for (uint32_t i = 0; i < r->run->n_sources; i++) {
		const struct tp_source *source = &r->run->source[i];
		struct tp_own_fd file = {.fd = -1};
		int err;

		if (source->window != window_at || !source->file || strcmp(source->path, path))
			continue;
		file.device = source->file->dev;
		file.inode = source->file->ino;
		err = tp_folder_unlink(&r->folder, path, &file);
		if (err)
			tp_recovered_say(r->proc, path, err);
		return;
	}
}

static int recover_in_folder(struct recovery *r)
{
	struct tp_run *run = &r->run->pub;
	int64_t last = -1;
	int err = 0;

	for (uint32_t i = 0; i < run->n_windows; i++) {
		if (run->window[i].proc == &r->proc->pub && !run->window[i].is_whole &&
		    (last < 0 || run->window[i].window > run->window[last].window))
			last = i;
	}
	for (uint32_t i = 0; i < run->n_windows && !err; i++) {
		if (run->window[i].proc == &r->proc->pub && !run->window[i].is_whole)
			err = write_window(r, i, i == last);
	}
	if (!err)
		err = tp_recovered_ledger(r->proc, &r->folder);
	if (err)
		return err;
	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == &r->proc->pub && !run->window[i].is_whole)
			remove_part(r, i);
	remove_ring(r);
	return 0;
}

static int recover_process(struct recovery *r)
{
	int err = open_folder(r);

	if (err)
		return tp_recovered_say(r->proc, r->proc->ring_path, err);
	r->writer.folder = &r->folder;
	err = recover_in_folder(r);
	tp_folder_close(&r->folder);
	return err;
}

int tp_recovered_write(struct tp_run *run)
{
	struct recovery r = {.run = tp_run_inside(run)};
	int err = 0;

	r.rec = malloc(TP_BLOCK_EVENTS_MAX * sizeof(r.rec[0]));
	r.thread = malloc(TP_BLOCK_EVENTS_MAX * sizeof(r.thread[0]));
	if (tp_reader_room_init(&r.room) || !r.rec || !r.thread)
		err = -ENOMEM;
	for (uint32_t i = 0; i < run->n_procs && err != -ENOMEM; i++) {
		struct tp_arena arena;
		int one;

		r.proc = (struct tp_proc_in *)run->proc[i];
		if (!r.proc->pub.is_dead || !r.proc->ring_path || !r.proc->n_anchors)
			continue;
		one = tp_arena_init(&arena, ARENA_BYTES);
		if (!one)
			one = tp_writer_init(&r.writer, &arena, r.proc->ids.n_pages * TP_IDS_PAGE,
					     string_of, &r);
		/* What is long in ticks, for the order of its blocks; not known where no anchor is sane. */
		if (!one && r.proc->map.n_knots)
			r.writer.long_ticks = (uint64_t)(((unsigned __int128)TP_LONG_NS << 32) /
							 r.proc->map.knot[0].rate);
		if (!one)
			one = recover_process(&r);
		tp_arena_fini(&arena);
		if (one && !err)
			err = one;
	}
	tp_reader_room_free(&r.room);
	free(r.rec);
	free(r.thread);
	return err;
}

uint32_t tp_recovered_left(const struct tp_run *run, char path[TP_RECOVERED_PATH], uint64_t *bytes)
{
	uint32_t n = 0;

	*bytes = 0;
	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc_in *proc = (const struct tp_proc_in *)run->proc[i];
		struct stat st;
		char *real;

		if (!proc->pub.is_dead || !proc->ring_path || stat(proc->ring_path, &st))
			continue;
		*bytes += (uint64_t)st.st_blocks * 512;
		if (n++)
			continue;
		real = realpath(proc->ring_path, NULL);
		snprintf(path, TP_RECOVERED_PATH, "%s", real ? real : proc->ring_path);
		free(real);
	}
	return n;
}
