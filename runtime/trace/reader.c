/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - a trace file being read: its head, and blocks on demand
 *
 * Nothing in the file is believed before it is checked against the file's size and a
 * checksum. pread, not mmap: a file that shrinks while we read must be an error, not a
 * SIGBUS.
 */
#include "runtime/trace/reader_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/trace/sniff.h"

void tp_reader_complain(const struct tp_reader *reader, uint64_t offset, const char *what)
{
	if (reader->complain)
		reader->complain(reader->complain_ctx, reader->path, offset, what);
}

int tp_reader_read_at(const struct tp_reader *reader, uint64_t offset, void *buf, size_t n)
{
	return tp_file_read_at(reader->fd, offset, buf, n);
}

/* `*buf` holds n bytes afterwards; what was in it is lost. */
static int grow(uint8_t **buf, size_t *cap, size_t n)
{
	uint8_t *bigger;

	if (n <= *cap)
		return 0;
	bigger = malloc(n);
	if (!bigger)
		return -ENOMEM;
	free(*buf);
	*buf = bigger;
	*cap = n;
	return 0;
}

static int unpack(struct tp_reader_room *room, const struct tp_block_head *head,
		  const uint8_t *stored)
{
	int err = grow(&room->raw, &room->raw_cap, head->raw_bytes + 1);

	return err ? err : tp_frame_unpack(room->unpacker, head, stored, room->raw);
}

int tp_reader_unpack(struct tp_reader *reader, const struct tp_reader_block *block)
{
	struct tp_reader_room *room = &reader->room;
	int err = grow(&room->stored, &room->stored_cap, block->head.stored_bytes + 1);

	if (!err)
		err = tp_reader_read_at(reader, block->lies_at + sizeof(block->head), room->stored,
					block->head.stored_bytes);
	return err ? err : unpack(room, &block->head, room->stored);
}

static int read_file_head(struct tp_reader *reader)
{
	struct tp_file_head *head = &reader->head;
	char what[160];
	struct tp_text text;
	size_t n =
	    reader->file_bytes < sizeof(*head) ? (size_t)reader->file_bytes : sizeof(*head);
	int err = tp_reader_read_at(reader, 0, head, n);

	tp_text_init(&text, what, sizeof(what));
	if (err) {
		tp_text_fmt(&text, "cannot be read: %s", strerror(-err));
		tp_reader_complain(reader, 0, what);
		return err;
	}
	memset((char *)head + n, 0, sizeof(*head) - n);
	err = reader->is_node ? tp_frame_check_node_head(head) : tp_frame_check_file_head(head);
	if (err == -EPROTONOSUPPORT && n < sizeof(*head))
		err = -EBADMSG;
	if (!err && head->head_bytes > reader->file_bytes)
		err = -EBADMSG;
	switch (err) {
	case 0:
		break;
	case -EPROTONOSUPPORT:
		tp_text_fmt(&text,
			    "a trainprof trace of format %u.%u; this program reads %d.x",
			    head->major, head->minor, TP_TRACE_MAJOR);
		break;
	case -EBADMSG:
		tp_text_str(&text, n < sizeof(*head) ? "the file ends inside its head"
						     : "the head of the file is damaged");
		break;
	default:
		tp_text_fmt(&text, "not a trainprof trace: %s", tp_sniff(head, n));
	}
	if (err)
		tp_reader_complain(reader, 0, what);
	return err;
}

static int open_file(struct tp_reader *reader)
{
	struct stat st;
	const char *what;
	int err;

	if (reader->fd < 0)
		reader->fd = tp_file_open(reader->path, O_RDONLY, 0);
	err = reader->fd < 0 ? reader->fd : fstat(reader->fd, &st) ? -errno : 0;
	if (!err) {
		reader->file_bytes = (uint64_t)st.st_size;
		return 0;
	}
	if (err == -EISDIR || err == -TP_FILE_IRREGULAR) {
		what = err == -EISDIR ? "not a trainprof trace: a directory"
				      : "not a trainprof trace: not a regular file";
		err = -EINVAL;
	} else {
		what = strerror(-err);
	}
	tp_reader_complain(reader, 0, what);
	return err;
}

int tp_reader_room_init(struct tp_reader_room *room)
{
	size_t bytes = tp_frame_unpacker_bytes();
	void *memory = malloc(bytes);

	memset(room, 0, sizeof(*room));
	room->scratch = malloc(tp_columns_scratch_bytes());
	room->unpacker = tp_frame_unpacker_init(memory, bytes);
	if (!room->unpacker)
		free(memory);
	return room->unpacker && room->scratch ? 0 : -ENOMEM;
}

void tp_reader_room_free(struct tp_reader_room *room)
{
	free(room->unpacker);
	free(room->scratch);
	free(room->stored);
	free(room->raw);
	memset(room, 0, sizeof(*room));
}

static int index_node(struct tp_reader *reader)
{
	int err = tp_reader_node_index(reader);

	reader->is_whole = !err;
	if (err != -EBADMSG)
		return err;
	tp_reader_complain(reader, reader->file_bytes,
			   "the index of the node file is damaged or missing: what can be found is read");
	reader->n_blocks = 0;
	return tp_reader_index(reader);
}

/* fd: what it reads; -1: what is at `path`. */
static int open_reader(struct tp_reader *reader, int fd, const char *path, bool is_node,
		       tp_reader_complain_fn complain_fn, void *complain_ctx)
{
	int err;

	memset(reader, 0, sizeof(*reader));
	reader->is_node = is_node;
	reader->fd = fd;
	reader->complain = complain_fn;
	reader->complain_ctx = complain_ctx;
	reader->path = strdup(path);
	err = reader->path ? tp_reader_room_init(&reader->room) : -ENOMEM;
	if (err)
		tp_reader_complain(reader, 0, "out of memory");
	if (!err)
		err = open_file(reader);
	if (!err)
		err = read_file_head(reader);
	if (!err) {
		err = is_node ? index_node(reader) : tp_reader_index(reader);
		if (err)
			tp_reader_complain(reader, 0, strerror(-err));
	}
	if (err)
		tp_reader_close(reader);
	return err;
}

int tp_reader_open(struct tp_reader *reader, const char *path,
		   tp_reader_complain_fn complain_fn, void *complain_ctx)
{
	return open_reader(reader, -1, path, false, complain_fn, complain_ctx);
}

int tp_reader_open_node(struct tp_reader *reader, const char *path,
			tp_reader_complain_fn complain_fn, void *complain_ctx)
{
	return open_reader(reader, -1, path, true, complain_fn, complain_ctx);
}

int tp_reader_take(struct tp_reader *reader, int fd, const char *path,
		   tp_reader_complain_fn complain_fn, void *complain_ctx)
{
	return open_reader(reader, fd, path, false, complain_fn, complain_ctx);
}

int tp_reader_take_node(struct tp_reader *reader, int fd, const char *path,
			tp_reader_complain_fn complain_fn, void *complain_ctx)
{
	return open_reader(reader, fd, path, true, complain_fn, complain_ctx);
}

void tp_reader_close(struct tp_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->path);
	free(reader->block);
	tp_reader_room_free(&reader->room);
	memset(reader, 0, sizeof(*reader));
	reader->fd = -1;
}

/* A block turned out to be bad: says so, counts it. Returns err. */
static int reject_block(struct tp_reader *reader, uint32_t i, const char *what, int err)
{
	reader->n_bad_blocks++;
	tp_reader_complain(reader, reader->block[i].offset, what);
	return err;
}

const char *tp_reader_trouble(int err)
{
	switch (err) {
	case -EBADMSG:
		return "a block is damaged; it is skipped";
	case -EILSEQ:
		return "the events of a block are malformed; it is skipped";
	case -ENOTSUP:
		return "a block is compressed in a way not known here; it is skipped";
	case -ENODATA:
		return "the file has become shorter; a block is skipped";
	case -ESTALE:
		return "the file changed while it was read; a block is skipped";
	default:
		return strerror(-err);
	}
}

int tp_reader_payload(struct tp_reader *reader, uint32_t i, const uint8_t **raw,
		      uint32_t *n_bytes)
{
	int err;

	if (i >= reader->n_blocks)
		return -EINVAL;
	err = tp_reader_unpack(reader, &reader->block[i]);
	if (err)
		return reject_block(reader, i, tp_reader_trouble(err), err);
	*raw = reader->room.raw;
	*n_bytes = reader->block[i].head.raw_bytes;
	return 0;
}

/* What is in room->raw. 0 or -EILSEQ. */
static int decode(struct tp_reader_room *room, const struct tp_block_head *head,
		  struct tp_rec *rec, uint16_t *thread)
{
	uint32_t bad_at;
	int err = (head->type == TP_BLOCK_HEAP ? tp_columns_decode_heap : tp_columns_decode)(
	    room->scratch, room->raw, head->raw_bytes, head->n_items, rec, thread, &bad_at);

	return err ? -EILSEQ : 0;
}

int tp_reader_events(struct tp_reader *reader, uint32_t i, struct tp_rec *rec,
		     uint16_t *thread)
{
	const uint8_t *raw;
	uint32_t n_bytes;
	int err;

	if (i >= reader->n_blocks || !tp_reader_has_events(&reader->block[i].head))
		return -EINVAL;
	err = tp_reader_payload(reader, i, &raw, &n_bytes);
	if (err)
		return err;
	err = decode(&reader->room, &reader->block[i].head, rec, thread);
	return err ? reject_block(reader, i, tp_reader_trouble(err), -EBADMSG) : 0;
}

int tp_reader_events_at(struct tp_reader_room *room, int fd, uint64_t offset, uint32_t n_items,
			uint32_t stored_bytes, struct tp_rec *rec, uint16_t *thread)
{
	struct tp_block_head head;
	size_t n = sizeof(head) + (size_t)stored_bytes;
	int err = grow(&room->stored, &room->stored_cap, n + 1);

	if (!err)
		err = tp_file_read_at(fd, offset, room->stored, n);
	if (err)
		return err;
	memcpy(&head, room->stored, sizeof(head));
	if (head.n_items != n_items || head.stored_bytes != stored_bytes ||
	    !tp_reader_has_events(&head) || head.raw_bytes > TP_BLOCK_RAW_MAX)
		return -ESTALE;
	err = unpack(room, &head, room->stored + sizeof(head));
	return err ? err : decode(room, &head, rec, thread);
}

/* An unsigned LEB128 of at most 32 bits. False: none at *p. */
static bool get_varint(const uint8_t **p, const uint8_t *end, uint32_t *value)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 35 && *p < end; shift += 7) {
		uint8_t byte = *(*p)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = (uint32_t)v;
			return v <= UINT32_MAX;
		}
	}
	return false;
}

int tp_reader_strings(struct tp_reader *reader, uint32_t i, tp_reader_string_fn each,
		      void *ctx)
{
	const uint8_t *p, *end;
	uint32_t n_bytes;
	int err;

	if (i >= reader->n_blocks || reader->block[i].head.type != TP_BLOCK_STRINGS)
		return -EINVAL;
	err = tp_reader_payload(reader, i, &p, &n_bytes);
	if (err)
		return err;
	end = p + n_bytes;
	for (uint32_t item = 0; item < reader->block[i].head.n_items; item++) {
		uint32_t id, kind, n;

		if (!get_varint(&p, end, &id) || !get_varint(&p, end, &kind) ||
		    !get_varint(&p, end, &n) || n > (size_t)(end - p))
			return reject_block(
			    reader, i,
			    "a block of names is malformed; the rest of it is skipped",
			    -EBADMSG);
		each(ctx, id, kind, (const char *)p, n);
		p += n;
	}
	return 0;
}

bool tp_reader_text_value(const char *text, size_t n_bytes, const char *key, char *value,
			  size_t cap)
{
	const char *p = text, *end = text + n_bytes;
	size_t n_key = strlen(key);

	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		struct tp_text out;

		if (!line_end)
			line_end = end;
		if ((size_t)(line_end - p) > n_key && !memcmp(p, key, n_key) &&
		    p[n_key] == '=') {
			tp_text_init(&out, value, cap);
			tp_text_bytes(&out, p + n_key + 1,
				      (size_t)(line_end - p) - n_key - 1);
			return true;
		}
		p = line_end + 1;
	}
	return false;
}
