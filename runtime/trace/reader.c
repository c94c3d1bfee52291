/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - a trace file being read: its index of blocks, and blocks on demand
 *
 * Nothing in the file is believed before it is checked against the file's size and a
 * checksum. Heads chain by stored_bytes. Where the chain breaks, the last block before the
 * break is read to learn whether its own head lied, then the next block is searched for by
 * its magic. pread, not mmap: a file that shrinks while we read must be an error, not a
 * SIGBUS.
 */
#include "runtime/trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/text.h"
#include "runtime/trace/sniff.h"

enum {
	SEARCH_BYTES = 64 << 10,
	/* After this many breaks a file is noise; going on could take for ever. */
	BREAKS_MAX = 1000,
};

static void complain(const struct tp_reader *reader, uint64_t offset, const char *what)
{
	if (reader->complain)
		reader->complain(reader->complain_ctx, reader->path, offset, what);
}

/* Exactly n bytes at `offset`. 0, -ENODATA when the file is shorter, or -errno. */
static int read_at(const struct tp_reader *reader, uint64_t offset, void *buf, size_t n)
{
	char *p = buf;

	while (n) {
		ssize_t got = pread(reader->fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		p += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
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

static bool is_event_type(uint8_t type)
{
	return type == TP_BLOCK_EVENTS || type == TP_BLOCK_LONG;
}

/* Whether these bytes at `offset` can be the head of a block of this file. */
static bool is_plausible(const struct tp_reader *reader, uint64_t offset,
			 const struct tp_block_head *head)
{
	if (head->magic != TP_BLOCK_MAGIC || head->head_bytes != sizeof(*head))
		return false;
	if (head->raw_bytes > TP_BLOCK_RAW_MAX ||
	    head->stored_bytes > tp_frame_bound(TP_BLOCK_RAW_MAX))
		return false;
	if (is_event_type(head->type) && head->n_items > TP_BLOCK_EVENTS_MAX)
		return false;
	return head->stored_bytes <= reader->file_bytes - offset - sizeof(*head);
}

static int add_block(struct tp_reader *reader, uint64_t offset,
		     const struct tp_block_head *head)
{
	/* Doubles at each power of two. */
	if (!(reader->n_blocks & (reader->n_blocks - 1))) {
		size_t room = reader->n_blocks ? 2 * (size_t)reader->n_blocks : 1;
		void *bigger = realloc(reader->block, room * sizeof(*reader->block));

		if (!bigger)
			return -ENOMEM;
		reader->block = bigger;
	}
	reader->block[reader->n_blocks].offset = offset;
	reader->block[reader->n_blocks].head = *head;
	reader->n_blocks++;
	return 0;
}

static int load_stored(struct tp_reader *reader, const struct tp_reader_block *block)
{
	int err = grow(&reader->stored, &reader->stored_cap, block->head.stored_bytes + 1);

	return err ? err
		   : read_at(reader, block->offset + sizeof(block->head), reader->stored,
			     block->head.stored_bytes);
}

static int unpack_block(struct tp_reader *reader, const struct tp_reader_block *block)
{
	int err = load_stored(reader, block);

	if (!err)
		err = grow(&reader->raw, &reader->raw_cap, block->head.raw_bytes + 1);
	return err ? err
		   : tp_frame_unpack(reader->unpacker, &block->head, reader->stored,
				     reader->raw);
}

/* Offset of the next plausible head at or after `from`, or file_bytes. */
static uint64_t search_block(struct tp_reader *reader, uint64_t from)
{
	static const uint32_t magic = TP_BLOCK_MAGIC;
	struct tp_block_head head;
	uint8_t window[SEARCH_BYTES];

	while (reader->file_bytes - from >= sizeof(head)) {
		uint64_t left = reader->file_bytes - from;
		size_t n = left < sizeof(window) ? (size_t)left : sizeof(window);
		const uint8_t *p = window, *hit;

		if (read_at(reader, from, window, n))
			break;
		while ((hit = memmem(p, (size_t)(window + n - p), &magic, sizeof(magic)))) {
			uint64_t offset = from + (uint64_t)(hit - window);

			if (reader->file_bytes - offset >= sizeof(head) &&
			    !read_at(reader, offset, &head, sizeof(head)) &&
			    is_plausible(reader, offset, &head))
				return offset;
			p = hit + 1;
		}
		/* A magic may lie across the border of two windows. */
		from += n - (sizeof(magic) - 1);
	}
	return reader->file_bytes;
}

/*
 * The chain broke at `offset`. Says what is wrong, drops the last block when its own head
 * was the liar, and returns where to go on (file_bytes: nowhere).
 */
static uint64_t mend_chain(struct tp_reader *reader, uint64_t offset)
{
	char what[160];
	struct tp_text text;
	uint64_t from = offset + 1, next;

	if (reader->n_blocks) {
		struct tp_reader_block *last = &reader->block[reader->n_blocks - 1];

		if (unpack_block(reader, last) == -EBADMSG) {
			offset = last->offset;
			from = offset + sizeof(uint32_t);
			reader->n_blocks--;
		}
	}
	next = search_block(reader, from);
	tp_text_init(&text, what, sizeof(what));
	if (next < reader->file_bytes) {
		reader->n_bad_blocks++;
		tp_text_fmt(&text,
			    "damaged: %lu bytes are skipped, reading goes on at offset %lu",
			    next - offset, next);
	} else {
		reader->cut_bytes = reader->file_bytes - offset;
		tp_text_fmt(&text,
			    "the file ends inside a block: its last %lu bytes are left out",
			    reader->cut_bytes);
	}
	complain(reader, offset, what);
	return next;
}

/* The last block says that it is the file's last: it is believed when it is sound. What is
 * at `offset`, after it, does not count then. */
static bool is_end(struct tp_reader *reader, uint64_t offset)
{
	const struct tp_reader_block *last = &reader->block[reader->n_blocks - 1];

	if (unpack_block(reader, last)) {
		reader->n_bad_blocks++;
		reader->n_blocks--;
		complain(reader, last->offset, "a block is damaged; it is skipped");
		return false;
	}
	reader->is_whole = true;
	reader->cut_bytes = reader->file_bytes - offset;
	if (reader->cut_bytes)
		complain(reader, offset, "bytes after the end; they are left out");
	return true;
}

static int index_blocks(struct tp_reader *reader)
{
	uint64_t offset = reader->head.head_bytes;
	unsigned n_breaks = 0;

	while (offset < reader->file_bytes) {
		struct tp_block_head head;
		int err = -ENODATA;

		if (reader->file_bytes - offset >= sizeof(head))
			err = read_at(reader, offset, &head, sizeof(head));
		if (err && err != -ENODATA)
			return err;
		if (err || !is_plausible(reader, offset, &head)) {
			if (++n_breaks > BREAKS_MAX) {
				reader->cut_bytes = reader->file_bytes - offset;
				complain(
				    reader, offset,
				    "damaged in too many places: the rest is left out");
				break;
			}
			offset = mend_chain(reader, offset);
			continue;
		}
		err = add_block(reader, offset, &head);
		if (err)
			return err;
		offset += sizeof(head) + head.stored_bytes;
		if (head.type == TP_BLOCK_END && is_end(reader, offset))
			break;
	}
	return 0;
}

static int read_file_head(struct tp_reader *reader)
{
	struct tp_file_head *head = &reader->head;
	char what[160];
	struct tp_text text;
	size_t n =
	    reader->file_bytes < sizeof(*head) ? (size_t)reader->file_bytes : sizeof(*head);
	int err = read_at(reader, 0, head, n);

	tp_text_init(&text, what, sizeof(what));
	if (err) {
		tp_text_fmt(&text, "cannot be read: %s", strerror(-err));
		complain(reader, 0, what);
		return err;
	}
	memset((char *)head + n, 0, sizeof(*head) - n);
	err = tp_frame_check_file_head(head);
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
		complain(reader, 0, what);
	return err;
}

static int open_file(struct tp_reader *reader)
{
	struct stat st;
	const char *what = NULL;
	int err = 0;

	do {
		reader->fd =
		    open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (reader->fd < 0 && errno == EINTR);
	if (reader->fd < 0 || fstat(reader->fd, &st)) {
		err = -errno;
		what = strerror(errno);
	} else if (S_ISDIR(st.st_mode)) {
		err = -EINVAL;
		what = "not a trainprof trace: a directory";
	} else if (!S_ISREG(st.st_mode)) {
		err = -EINVAL;
		what = "not a trainprof trace: not a regular file";
	} else {
		reader->file_bytes = (uint64_t)st.st_size;
	}
	if (err)
		complain(reader, 0, what);
	return err;
}

static int make_unpacker(struct tp_reader *reader)
{
	size_t bytes = tp_frame_unpacker_bytes();
	void *memory = malloc(bytes);

	reader->scratch = malloc(tp_columns_scratch_bytes());
	reader->unpacker = tp_frame_unpacker_init(memory, bytes);
	if (!reader->unpacker)
		free(memory);
	return reader->unpacker && reader->scratch ? 0 : -ENOMEM;
}

int tp_reader_open(struct tp_reader *reader, const char *path,
		   tp_reader_complain_fn complain_fn, void *complain_ctx)
{
	int err;

	memset(reader, 0, sizeof(*reader));
	reader->fd = -1;
	reader->complain = complain_fn;
	reader->complain_ctx = complain_ctx;
	reader->path = strdup(path);
	err = reader->path ? make_unpacker(reader) : -ENOMEM;
	if (err)
		complain(reader, 0, "out of memory");
	if (!err)
		err = open_file(reader);
	if (!err)
		err = read_file_head(reader);
	if (!err) {
		err = index_blocks(reader);
		if (err)
			complain(reader, 0, strerror(-err));
	}
	if (err)
		tp_reader_close(reader);
	return err;
}

void tp_reader_close(struct tp_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->path);
	free(reader->block);
	free(reader->unpacker);
	free(reader->scratch);
	free(reader->stored);
	free(reader->raw);
	memset(reader, 0, sizeof(*reader));
	reader->fd = -1;
}

/* A block turned out to be bad: says so, counts it. Returns err. */
static int reject_block(struct tp_reader *reader, uint32_t i, const char *what, int err)
{
	reader->n_bad_blocks++;
	complain(reader, reader->block[i].offset, what);
	return err;
}

int tp_reader_payload(struct tp_reader *reader, uint32_t i, const uint8_t **raw,
		      uint32_t *n_bytes)
{
	int err;

	if (i >= reader->n_blocks)
		return -EINVAL;
	err = unpack_block(reader, &reader->block[i]);
	switch (err) {
	case 0:
		*raw = reader->raw;
		*n_bytes = reader->block[i].head.raw_bytes;
		return 0;
	case -EBADMSG:
		return reject_block(reader, i, "a block is damaged; it is skipped", err);
	case -ENOTSUP:
		return reject_block(
		    reader, i,
		    "a block is compressed in a way not known here; it is skipped", err);
	case -ENODATA:
		return reject_block(reader, i,
				    "the file has become shorter; a block is skipped", err);
	default:
		return reject_block(reader, i, strerror(-err), err);
	}
}

int tp_reader_events(struct tp_reader *reader, uint32_t i, struct tp_rec *rec,
		     uint16_t *thread)
{
	const uint8_t *raw;
	uint32_t n_bytes, bad_at;
	int err;

	if (i >= reader->n_blocks || !is_event_type(reader->block[i].head.type))
		return -EINVAL;
	err = tp_reader_payload(reader, i, &raw, &n_bytes);
	if (err)
		return err;
	err = tp_columns_decode(reader->scratch, raw, n_bytes,
				reader->block[i].head.n_items, rec, thread, &bad_at);
	if (err)
		return reject_block(
		    reader, i, "the events of a block are malformed; it is skipped", err);
	return 0;
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
