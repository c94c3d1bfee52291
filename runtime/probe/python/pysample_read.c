/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_read.c - copies a thread's frames and what their code objects say
 *
 * One thread at a time uses it: the drain thread.
 */
#include "runtime/probe/python/pysample_read.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/hash.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack_lines.h"
#include "runtime/probe/python/pystack_names.h"

enum {
	TRIES = 4,
	MOST_FRAME = 128,	/* bytes of a frame, as far as we read it */
	CODE_BYTES = 144,	/* of a code object, likewise */
	OBJECT_TYPE = 8, SIZE = 16, BYTES_DATA = 32,
	UNICODE_STATE = 32, UNICODE_KIND = 2, UNICODE_ASCII = 6,
	MOST_NAME = 1000, MOST_FILE = 3000,	/* together below TP_INTERN_TEXT */
	MOST_TEXT_BYTES = 128 + MOST_FILE * 4,
	MOST_TABLE = 1 << 16,	/* bytes of a table of lines */
	MOST_CODE = 1 << 24,
	PLACES = 4096,
	BATCH = 64,		/* code objects in one call of the kernel */
	PAGE = 4096, PAGES = 8,
};

struct place {
	const char *code, *at;	/* code NULL: empty */
	uint64_t mark;
	uint32_t first_line, string, line;
	bool is_hidden;
};

static struct {
	const struct tp_pyframe_layout *layout;
	const char *string_type;
	struct place place[PLACES];
	/* Pages of this look. */
	uintptr_t page[PAGES];	/* address, 0: none */
	char bytes[PAGES][PAGE];
	uint32_t next_page;
	char code[BATCH][CODE_BYTES];
	struct tp_pysample_look second;
	/* Of the name that is read. */
	char object[MOST_TEXT_BYTES] __attribute__((aligned(16)));
	char table[MOST_TABLE];
	struct tp_pystack_pages own_pages;
} reader;

bool tp_pysample_read(const void *from, void *to, size_t n)
{
	struct iovec own = { to, n }, other = { (void *)(uintptr_t)from, n };

	return process_vm_readv(getpid(), &own, 1, &other, 1, 0) == (ssize_t)n;
}

const char *tp_pysample_read_init(const struct tp_pyframe_layout *layout)
{
	uint64_t here = 0x5a5a1234, there = 0;
	void *string;

	if (!tp_pysample_read(&here, &there, sizeof(there)) || there != here)
		return "process_vm_readv is not allowed here";
	if (tp_pysample_read((const void *)8, &there, sizeof(there)))
		return "process_vm_readv says that memory is there where none is";
	string = tp_py.from_utf8("", 0);
	if (!string) {
		tp_py.clear();
		return "no memory for a string";
	}
	reader.string_type = tp_pyframe_ptr(string, OBJECT_TYPE);
	tp_py.drop(string);
	reader.layout = layout;
	return NULL;
}

void tp_pysample_forget(void)
{
	memset(reader.place, 0, sizeof(reader.place));
}

/* ---- frames ---- */

/* n bytes at p (n at most MOST_FRAME), by whole pages: a thread's frames lie together. */
static bool read_near(const char *p, char *to, size_t n)
{
	uintptr_t page = (uintptr_t)p & ~(uintptr_t)(PAGE - 1);
	uint32_t i;

	if ((uintptr_t)p + n > page + PAGE)
		return tp_pysample_read(p, to, n);
	for (i = 0; i < PAGES && reader.page[i] != page; i++)
		;
	if (i == PAGES) {
		i = reader.next_page++ % PAGES;
		reader.page[i] = 0;
		if (!tp_pysample_read((const void *)page, reader.bytes[i], PAGE))
			return false;
		reader.page[i] = page;
	}
	memcpy(to, reader.bytes[i] + ((uintptr_t)p - page), n);
	return true;
}

static bool read_newest(const char *state, const char **frame)
{
	const struct tp_pyframe_layout *layout = reader.layout;

	if (!tp_pysample_read(state + layout->state_frame, frame, sizeof(*frame)))
		return false;
	if (layout->c_frame == TP_PYFRAME_NONE || !*frame)
		return true;
	return tp_pyframe_is_ptr(*frame) &&
	       tp_pysample_read(*frame + layout->c_frame, frame, sizeof(*frame));
}

static bool read_frames(const char *state, struct tp_pysample_look *look)
{
	const struct tp_pyframe_layout *layout = reader.layout;
	char bytes[MOST_FRAME];
	const char *frame;

	memset(reader.page, 0, sizeof(reader.page));
	look->n = 0;
	look->is_cut = false;
	if (!read_newest(state, &frame))
		return false;
	for (; frame; frame = tp_pyframe_ptr(bytes, layout->previous)) {
		struct tp_pysample_frame *out = &look->frame[look->n];

		look->is_cut = look->n == TP_PYSAMPLE_FRAMES;
		if (look->is_cut)
			return true;
		if (!tp_pyframe_is_ptr(frame) || !read_near(frame, bytes, sizeof(bytes)))
			return false;
		*out = (struct tp_pysample_frame){ .frame = frame };
		out->is_hidden = tp_pyframe_is_own(layout, bytes);
		if (!out->is_hidden) {
			out->code = tp_pyframe_ref(bytes, layout->code);
			out->at = tp_pyframe_ptr(bytes, layout->at);
		}
		if (!out->is_hidden && !tp_pyframe_is_ptr(out->code))
			return false;
		if (layout->instruction_bytes)
			out->at = (const char *)((uintptr_t)out->at & UINT32_MAX);
		look->n++;
	}
	return true;
}

static bool is_same(const struct tp_pysample_look *a, const struct tp_pysample_look *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->frame[i].frame != b->frame[i].frame || a->frame[i].code != b->frame[i].code)
			return false;
	return true;
}

/* ---- names ---- */

/* The string's bytes as UTF-8; -1: that is no string. */
static int32_t read_text(const char *string, char *out, uint32_t cap)
{
	const struct tp_pyframe_layout *layout = reader.layout;
	uint32_t state, width, head;
	int64_t n;

	if (!tp_pyframe_is_ptr(string) || !tp_pysample_read(string, reader.object, layout->ascii_bytes) ||
	    tp_pyframe_ptr(reader.object, OBJECT_TYPE) != reader.string_type)
		return -1;
	memcpy(&n, reader.object + SIZE, sizeof(n));
	memcpy(&state, reader.object + UNICODE_STATE, sizeof(state));
	width = state >> UNICODE_KIND & 7;
	if (n < 0 || width > 4)
		return -1;
	n = n < (int64_t)cap ? n : (int64_t)cap;
	head = layout->ascii_bytes + (state >> UNICODE_ASCII & 1 ? 0 : layout->minor < 12 ? 24 : 16);
	if (!tp_pysample_read(string, reader.object, head + (size_t)n * width))
		return -1;
	return tp_pystack_utf8(layout, &reader.own_pages, reader.object, out, cap);
}

static bool read_line(struct place *place, const char *code)
{
	const struct tp_pyframe_layout *layout = reader.layout;
	const char *table = tp_pyframe_ptr(code, layout->lines);
	int64_t byte = tp_pystack_byte_of(layout, place->code, place->at), n;

	place->line = 0;
	if (byte > MOST_CODE || byte < -MOST_CODE || !tp_pyframe_is_ptr(table) ||
	    !tp_pysample_read(table + SIZE, &n, sizeof(n)) || n < 0)
		return false;
	if (n > MOST_TABLE)
		return true;	/* without a line */
	if (!tp_pysample_read(table + BYTES_DATA, reader.table, (size_t)n))
		return false;
	place->line = tp_pystack_line((enum tp_pylines)layout->line_kind,
				      (const uint8_t *)reader.table, (size_t)n,
				      (int32_t)place->first_line, byte);
	return true;
}

static bool read_names(struct place *place, const char *code)
{
	const struct tp_pyframe_layout *layout = reader.layout;
	char text[MOST_NAME + 1 + MOST_FILE], again[CODE_BYTES];
	int32_t n_name, n_file;

	n_name = read_text(tp_pyframe_ptr(code, tp_pystack_name_at(layout)), text, MOST_NAME);
	if (n_name < 0)
		return false;
	text[n_name] = '\0';
	n_file = read_text(tp_pyframe_ptr(code, layout->file), text + n_name + 1, MOST_FILE);
	if (n_file < 0 || !read_line(place, code))
		return false;
	/* What was read belongs together only if the code object is still the same. */
	if (!tp_pysample_read(place->code, again, CODE_BYTES) ||
	    tp_pystack_mark_by(again, tp_pystack_name_at(layout), layout->file, layout->lines) !=
		    place->mark)
		return false;
	place->string = tp_intern(TP_STRING_PYFRAME, text, (uint32_t)(n_name + 1 + n_file));
	return true;
}

/* `code`: a copy of the frame's code object. *is_new becomes true where names were read for it. */
static bool name_frame(struct tp_pysample_frame *frame, const char *code, bool *is_new)
{
	const struct tp_pyframe_layout *layout = reader.layout;
	struct place *place = &reader.place[tp_hash_mix((uintptr_t)frame->code ^
							(uintptr_t)frame->at << 20) % PLACES];
	struct place found = {
		.code = frame->code, .at = frame->at,
		.mark = tp_pystack_mark_by(code, tp_pystack_name_at(layout), layout->file,
					   layout->lines),
		.first_line = tp_pystack_first_line(layout, code),
		.is_hidden = tp_pyframe_is_helper(layout, code),
	};

	if (tp_pyframe_ptr(code, OBJECT_TYPE) != tp_py.code_type)
		return false;
	if (place->code != found.code || place->at != found.at || place->mark != found.mark ||
	    place->first_line != found.first_line) {
		if (!found.is_hidden && !read_names(&found, code))
			return false;
		*place = found;
		*is_new = true;
	}
	frame->string = place->string;
	frame->line = place->line;
	frame->is_hidden = place->is_hidden;
	return true;
}

/* Code objects of frames [from, to), which are not the interpreter's own, in one call. */
static bool read_codes(const struct tp_pysample_look *look, uint32_t from, uint32_t to)
{
	struct iovec own = { reader.code, 0 }, other[BATCH];
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++)
		if (!look->frame[i].is_hidden)
			other[n++] = (struct iovec){ (void *)(uintptr_t)look->frame[i].code, CODE_BYTES };
	own.iov_len = (size_t)n * CODE_BYTES;
	return !n || process_vm_readv(getpid(), &own, 1, other, n, 0) == (ssize_t)own.iov_len;
}

static bool name_frames(struct tp_pysample_look *look, bool *is_new)
{
	for (uint32_t from = 0, to; from < look->n; from = to) {
		uint32_t at = 0;

		to = from + BATCH < look->n ? from + BATCH : look->n;
		if (!read_codes(look, from, to))
			return false;
		for (uint32_t i = from; i < to; i++) {
			if (look->frame[i].is_hidden)
				continue;
			if (!name_frame(&look->frame[i], reader.code[at++], is_new))
				return false;
		}
	}
	return true;
}

/* Both looks end at the same frame: nothing outside was missed while a call was being made. */
static bool has_same_end(const struct tp_pysample_look *a, const struct tp_pysample_look *b)
{
	return a->n && b->n && a->frame[a->n - 1].frame == b->frame[b->n - 1].frame &&
	       a->frame[a->n - 1].code == b->frame[b->n - 1].code;
}

bool tp_pysample_look(const char *state, struct tp_pysample_look *look)
{
	struct tp_pysample_look *second = &reader.second;

	for (uint32_t i = 0; i < TRIES; i++) {
		bool is_new = false, is_named;

		if (!read_frames(state, look))
			continue;
		is_named = name_frames(look, &is_new);
		if (is_named && !look->n)
			return true;
		if (!is_named || !read_frames(state, second))
			continue;
		/* A thread that calls all the time is never the same twice; what names say of it was then
		 * read in an earlier look, and is compared with what its code objects say. */
		if (is_same(look, second) || (!is_new && has_same_end(look, second)))
			return true;
	}
	return false;
}
