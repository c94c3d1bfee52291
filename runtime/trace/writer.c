/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - one trace file being written, block by block
 *
 * Runs on the drain thread inside the guest: memory comes from the caller's arena, once;
 * each write is one call of own_fd.h. After a failed one the file is put back to its last
 * whole block, so that what is there can be read, and the rest of the window is counted,
 * not kept.
 */
#include "runtime/trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/own_table.h"
#include "runtime/base/text.h"
#include "runtime/base/varint.h"
#include "runtime/trace/kinds.h"

enum {
	/* A block of names is written when this is full: a few thousand operators. */
	STRINGS_BYTES = 128 << 10,
	STRING_HEAD_BYTES = 5 + 5 + 5, /* three varints of 32 bits */
	TOTALS_BYTES = 64 << 10,
	PART_PATH = sizeof(((struct tp_writer *)0)->path) + 8,
};

enum { STAGE_EVENTS, STAGE_LONG, STAGE_HEAP };
static const uint8_t stage_type[TP_WRITER_STAGES] = {
    [STAGE_EVENTS] = TP_BLOCK_EVENTS, [STAGE_LONG] = TP_BLOCK_LONG, [STAGE_HEAP] = TP_BLOCK_HEAP};

static size_t raw_cap(void)
{
	size_t events = tp_columns_bound(TP_BLOCK_EVENTS_MAX);

	return events > TOTALS_BYTES ? events : TOTALS_BYTES;
}

int tp_writer_init(struct tp_writer *writer, struct tp_arena *arena, uint32_t n_string_ids,
		   tp_writer_string_fn string_of, void *string_ctx)
{
	enum { REC_BYTES = TP_BLOCK_EVENTS_MAX * sizeof(struct tp_rec) };
	enum { THREAD_BYTES = TP_BLOCK_EVENTS_MAX * sizeof(uint16_t) };
	size_t packer_bytes = tp_frame_packer_bytes();

	_Static_assert(STRINGS_BYTES <= TP_BLOCK_RAW_MAX, "a block of strings is a block");
	memset(writer, 0, sizeof(*writer));
	writer->file = TP_OWN_FD_NONE;
	writer->long_ticks = TP_LONG_NS;
	writer->string_of = string_of;
	writer->string_ctx = string_ctx;
	writer->n_string_ids = n_string_ids;
	writer->strings_seen = tp_arena_alloc(arena, ((size_t)n_string_ids / 64 + 1) * 8);
	for (int i = 0; i < TP_WRITER_STAGES; i++) {
		struct tp_writer_stage *stage = &writer->stage[i];

		stage->type = stage_type[i];
		stage->rec = tp_arena_alloc(arena, REC_BYTES);
		stage->thread = tp_arena_alloc(arena, THREAD_BYTES);
		if (!stage->rec || !stage->thread)
			return -ENOMEM;
	}
	writer->raw = tp_arena_alloc(arena, raw_cap());
	writer->stored = tp_arena_alloc(arena, tp_frame_bound(raw_cap()));
	writer->strings = tp_arena_alloc(arena, STRINGS_BYTES);
	writer->scratch = tp_arena_alloc(arena, tp_columns_scratch_bytes());
	writer->packer =
	    tp_frame_packer_init(tp_arena_alloc(arena, packer_bytes), packer_bytes);
	if (!writer->strings_seen || !writer->raw || !writer->stored || !writer->strings ||
	    !writer->scratch || !writer->packer)
		return -ENOMEM;
	return 0;
}

/* The file ends with its last whole block again. */
static void drop_torn_tail(struct tp_writer *writer)
{
	(void)tp_own_fd_truncate(&writer->file, writer->n_bytes);
}

/*
 * Compresses and writes one block; the caller has set type, n_items and the times of
 * `head`. 0 or -errno, also when the file is already in error.
 */
static int write_parts(struct tp_writer *writer, struct tp_block_head *head,
		       const void *raw, size_t raw_bytes, const uint32_t *part_bytes,
		       uint32_t n_parts)
{
	struct iovec part[2] = {{.iov_base = head, .iov_len = sizeof(*head)},
				{.iov_base = writer->stored}};
	size_t stored_bytes;
	int err;

	head->sequence = writer->sequence;
	head->anchor_ticks = writer->anchor.ticks;
	head->anchor_mono_ns = writer->anchor.mono_ns;
	head->anchor_real_ns = writer->anchor.real_ns;
	head->anchor_bracket_ticks = writer->anchor.bracket_ticks;
	head->dropped = writer->dropped;
	stored_bytes = tp_frame_pack(writer->packer, head, raw, raw_bytes, part_bytes,
				     n_parts, writer->stored);
	part[1].iov_len = stored_bytes;
	err = tp_own_fd_write(&writer->file, part, 2, writer->n_bytes);
	if (err) {
		drop_torn_tail(writer);
		return err;
	}
	writer->n_bytes += sizeof(*head) + stored_bytes;
	writer->sequence++;
	return 0;
}

static int write_block(struct tp_writer *writer, struct tp_block_head *head,
		       const void *raw, size_t raw_bytes)
{
	return write_parts(writer, head, raw, raw_bytes, NULL, 0);
}

/* Remembers the first error of a file. Returns it that time and 0 ever after. */
static int note_error(struct tp_writer *writer, int err)
{
	if (!err || writer->error)
		return 0;
	writer->error = err;
	return err;
}

static int write_strings(struct tp_writer *writer)
{
	struct tp_block_head head = {.type = TP_BLOCK_STRINGS,
				     .n_items = writer->n_strings};
	int err = 0;

	if (writer->n_strings && !writer->error)
		err = write_block(writer, &head, writer->strings, writer->strings_bytes);
	writer->n_strings = 0;
	writer->strings_bytes = 0;
	return err;
}

/* Puts string `id` into the next STRINGS block, once in a file. */
static int stage_string(struct tp_writer *writer, uint32_t id)
{
	uint64_t bit = 1ull << (id % 64);
	uint32_t kind, n_bytes;
	const char *bytes;
	uint8_t *p;
	int err = 0;

	if (!id || id >= writer->n_string_ids || (writer->strings_seen[id / 64] & bit))
		return 0;
	writer->strings_seen[id / 64] |= bit;
	if (!writer->string_of(writer->string_ctx, id, &kind, &bytes, &n_bytes))
		return 0;
	if (n_bytes > STRINGS_BYTES - STRING_HEAD_BYTES)
		n_bytes = STRINGS_BYTES - STRING_HEAD_BYTES;
	if (writer->strings_bytes + STRING_HEAD_BYTES + n_bytes > STRINGS_BYTES)
		err = write_strings(writer);
	p = writer->strings + writer->strings_bytes;
	p = tp_varint_put(p, id);
	p = tp_varint_put(p, kind);
	p = tp_varint_put(p, n_bytes);
	memcpy(p, bytes, n_bytes);
	writer->strings_bytes = (uint32_t)(p + n_bytes - writer->strings);
	writer->n_strings++;
	return err;
}

static void set_times(struct tp_block_head *head, const struct tp_rec *rec, uint32_t n)
{
	head->first_time = UINT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t begin = rec[i].time, end;

		if (!tp_kind_is_span[rec[i].kind] ||
		    __builtin_add_overflow(begin, tp_rec_len(&rec[i]), &end))
			end = tp_kind_is_span[rec[i].kind] ? UINT64_MAX : begin;
		if (begin < head->first_time)
			head->first_time = begin;
		if (begin > head->last_time)
			head->last_time = begin;
		if (end > head->end_time)
			head->end_time = end;
	}
}

/* Writes what is staged in one of the stages. Its names go first. */
static int write_events(struct tp_writer *writer, struct tp_writer_stage *stage)
{
	struct tp_block_head head = {.type = stage->type, .n_items = stage->n};
	uint32_t part_bytes[TP_COLUMN_N];
	size_t raw_bytes;
	int err = 0;

	if (!stage->n)
		return 0;
	if (!writer->error)
		err = write_strings(writer);
	if (!writer->error && !err) {
		set_times(&head, stage->rec, stage->n);
		raw_bytes = (stage->type == TP_BLOCK_HEAP ? tp_columns_encode_heap
							  : tp_columns_encode)(
		    writer->scratch, stage->rec, stage->thread, stage->n, writer->raw, part_bytes);
		err = write_parts(writer, &head, writer->raw, raw_bytes, part_bytes,
				  TP_COLUMN_N);
	}
	if (writer->error || err)
		writer->n_lost += stage->n;
	else
		writer->n_events += stage->n;
	stage->n = 0;
	return note_error(writer, err);
}

/* What is staged is given up. How many events it was. */
static uint32_t drop_stages(struct tp_writer *writer)
{
	uint32_t n = 0;

	for (int i = 0; i < TP_WRITER_STAGES; i++) {
		n += writer->stage[i].n;
		writer->stage[i].n = 0;
	}
	return n;
}

static int write_text(struct tp_writer *writer, uint8_t type, const char *text, size_t n)
{
	struct tp_block_head head = {.type = type};

	for (size_t i = 0; i < n; i++)
		head.n_items += text[i] == '\n';
	return write_block(writer, &head, text, n);
}

/* Cuts a text that is longer than a block may be, at the end of a line. */
static size_t cut_text(const char *text, size_t n)
{
	if (n <= TOTALS_BYTES)
		return n;
	for (n = TOTALS_BYTES; n && text[n - 1] != '\n'; n--)
		;
	return n;
}

static void name_part(const struct tp_writer *writer, char *part, size_t cap)
{
	struct tp_text text;

	tp_text_init(&text, part, cap);
	tp_text_fmt(&text, "%s.part", writer->path);
}

/* The name is taken, by what has no records: a file that a process had just made when it was
 * killed, a link, a FIFO. */
static bool is_worthless(const struct tp_writer *writer, const char *part)
{
	struct tp_own_fd there;
	struct stat st;
	int err = tp_folder_open_file(writer->folder, part, O_RDONLY, &there);
	bool is_empty;

	if (err)
		return err == -ELOOP || err == -TP_FILE_IRREGULAR;
	is_empty = !tp_own_fd_stat(&there, &st) && !st.st_size;
	tp_own_fd_close(&there);
	return is_empty;
}

static int make_part(struct tp_writer *writer, const char *part)
{
	int err = tp_folder_create(writer->folder, part, O_WRONLY, 0644, &writer->file);

	if (err != -EEXIST || !is_worthless(writer, part))
		return err;
	err = tp_folder_unlink(writer->folder, part, NULL);
	return err ? err : tp_folder_create(writer->folder, part, O_WRONLY, 0644, &writer->file);
}

/* What opens, flushes and closes is one call each, however many blocks it writes: where cores are
 * scarce each change of threads may take milliseconds. */
struct writer_call {
	struct tp_writer *writer;
	const char *path, *text;
	const struct tp_file_head *head;
	uint32_t n_text;
};

static int open_writer(struct tp_writer *writer, const char *path,
		       const struct tp_file_head *head, const char *meta, uint32_t meta_bytes)
{
	struct tp_file_head sealed = *head;
	char part[PART_PATH];
	struct iovec first = {.iov_base = &sealed, .iov_len = sizeof(sealed)};
	struct tp_text text;
	int err;

	tp_text_init(&text, writer->path, sizeof(writer->path));
	tp_text_str(&text, path);
	if (text.is_cut)
		return -ENAMETOOLONG;
	name_part(writer, part, sizeof(part));
	err = make_part(writer, part);
	if (err)
		return err;

	writer->error = 0;
	writer->sequence = 0;
	writer->n_events = writer->n_lost = writer->n_bytes = 0;
	writer->n_strings = writer->strings_bytes = 0;
	drop_stages(writer);
	memset(writer->strings_seen, 0, ((size_t)writer->n_string_ids / 64 + 1) * 8);

	sealed.magic = TP_FILE_MAGIC;
	sealed.major = TP_TRACE_MAJOR;
	sealed.minor = TP_TRACE_MINOR;
	sealed.head_bytes = sizeof(sealed);
	tp_frame_seal_file_head(&sealed);
	err = tp_own_fd_write(&writer->file, &first, 1, 0);
	if (!err) {
		writer->n_bytes = sizeof(sealed);
		err = write_text(writer, TP_BLOCK_META, meta, cut_text(meta, meta_bytes));
	}
	if (err)
		tp_writer_discard(writer);	/* nothing of use is in it */
	return err;
}

static int do_open(void *arg)
{
	const struct writer_call *call = arg;

	return open_writer(call->writer, call->path, call->head, call->text, call->n_text);
}

int tp_writer_open(struct tp_writer *writer, const char *path,
		   const struct tp_file_head *head, const char *meta, uint32_t meta_bytes)
{
	struct writer_call call = {writer, path, meta, head, meta_bytes};

	return tp_own_table_call(do_open, &call);
}

static struct tp_writer_stage *stage_of(struct tp_writer *writer, const struct tp_rec *rec)
{
	if (tp_kind_is_heap(rec->kind))
		return &writer->stage[STAGE_HEAP];
	if (tp_kind_is_span[rec->kind] && tp_rec_len(rec) > writer->long_ticks)
		return &writer->stage[STAGE_LONG];
	return &writer->stage[STAGE_EVENTS];
}

int tp_writer_events(struct tp_writer *writer, const struct tp_rec *rec, uint32_t n,
		     uint16_t thread)
{
	int first_err = 0;

	if (writer->file.fd < 0 || writer->error) {
		writer->n_lost += n;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct tp_writer_stage *stage = stage_of(writer, &rec[i]);
		int err;

		err = note_error(writer, stage_string(writer, rec[i].name));
		if (!err && tp_kind_has_shapes(rec[i].kind))
			err = note_error(writer,
					 stage_string(writer, TP_ARG_SHAPES(rec[i].arg)));
		if (!err && rec[i].kind == TP_REC_KERNEL)
			err = note_error(writer, stage_string(writer, (uint32_t)rec[i].arg));
		stage->rec[stage->n] = rec[i];
		stage->thread[stage->n] = thread;
		if (++stage->n == TP_BLOCK_EVENTS_MAX && !err)
			err = write_events(writer, stage);
		if (writer->error) {
			/* What is staged and what follows can no longer be kept. */
			writer->n_lost += drop_stages(writer) + (n - i - 1);
			first_err = err;
			break;
		}
	}
	return first_err;
}

int tp_writer_threads(struct tp_writer *writer, const struct tp_thread_entry *entry,
		      uint32_t n)
{
	struct tp_block_head head = {.type = TP_BLOCK_THREADS, .n_items = n};

	if (writer->file.fd < 0 || writer->error || !n)
		return 0;
	if (n > raw_cap() / sizeof(*entry))
		return note_error(writer, -E2BIG);
	return note_error(writer, write_block(writer, &head, entry, n * sizeof(*entry)));
}

int tp_writer_string(struct tp_writer *writer, uint32_t id)
{
	if (writer->file.fd < 0 || writer->error)
		return 0;
	return note_error(writer, stage_string(writer, id));
}

static int do_flush(void *arg)
{
	struct tp_writer *writer = arg;
	int err = 0;

	/* One error a file is told: after it the others are 0. */
	for (int i = 0; i < TP_WRITER_STAGES; i++)
		err += write_events(writer, &writer->stage[i]);
	/* Those that no event brought along. */
	if (!writer->error)
		err += note_error(writer, write_strings(writer));
	return err;
}

int tp_writer_flush(struct tp_writer *writer)
{
	return writer->file.fd < 0 ? 0 : tp_own_table_call(do_flush, writer);
}

/* The totals that only the writer knows, then the caller's. */
static int write_end(struct tp_writer *writer, const char *totals, uint32_t totals_bytes)
{
	struct tp_text text;
	size_t n;

	tp_text_init(&text, (char *)writer->raw, TOTALS_BYTES);
	tp_text_fmt(&text, "events=%lu\nlost=%lu\ndropped=%lu\nblocks=%u\n",
		    writer->n_events, writer->n_lost, writer->dropped,
		    writer->sequence + 1);
	n = cut_text(totals, totals_bytes);
	if (n < text.cap - text.len)
		tp_text_bytes(&text, totals, n);
	return write_text(writer, TP_BLOCK_END, text.buf, text.len);
}

static int close_writer(struct tp_writer *writer, const char *totals, uint32_t totals_bytes)
{
	char part[PART_PATH];
	int err, flush_err, close_err;

	flush_err = tp_writer_flush(writer);
	/* Also after an error: a file that says what is missing is better than a torn one,
	 * and there may be room for a few bytes where there was none for a block. */
	err = write_end(writer, totals, totals_bytes);
	name_part(writer, part, sizeof(part));
	/* Compared while it is open: until then every file system keeps its number. */
	err = err ? err : tp_folder_check(writer->folder, part, &writer->file);
	close_err = tp_own_fd_close(&writer->file);
	err = err ? err : close_err;
	if (!err)
		err = tp_folder_rename(writer->folder, part, writer->path);
	return err ? err : flush_err;
}

static int do_close(void *arg)
{
	const struct writer_call *call = arg;

	return close_writer(call->writer, call->text, call->n_text);
}

int tp_writer_close(struct tp_writer *writer, const char *totals, uint32_t totals_bytes)
{
	struct writer_call call = {.writer = writer, .text = totals, .n_text = totals_bytes};

	return writer->file.fd < 0 ? -EBADF : tp_own_table_call(do_close, &call);
}

void tp_writer_abandon(struct tp_writer *writer)
{
	tp_own_fd_close(&writer->file);
	writer->n_strings = writer->strings_bytes = 0;
	drop_stages(writer);
}

void tp_writer_discard(struct tp_writer *writer)
{
	char part[PART_PATH];

	name_part(writer, part, sizeof(part));
	(void)tp_folder_unlink(writer->folder, part, &writer->file);
	tp_writer_abandon(writer);
}
