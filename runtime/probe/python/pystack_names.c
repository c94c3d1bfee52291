/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_names.c - function, file and line of a frame, from its code object
 */
#include "runtime/probe/python/pystack_names.h"

#include "runtime/engine/intern.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack_deaths.h"
#include "runtime/probe/python/pystack_lines.h"

enum {
	CODE_BYTES = 144,		/* of a code object, as far as we read it */
	SIZE = 16,			/* PyVarObject.ob_size, PyASCIIObject.length */
	BYTES_DATA = 32,		/* PyBytesObject.ob_sval */
	UNICODE_STATE = 32,		/* PyASCIIObject.state: */
	UNICODE_KIND = 2, UNICODE_COMPACT = 5, UNICODE_ASCII = 6, /* its bits */
	MOST_NAME = 1000,		/* bytes of each, together below TP_INTERN_TEXT */
	MOST_FILE = 3000,
	MOST_LINES = 1 << 20,		/* bytes of a table */
	MOST_CODE = 1 << 24,
};

static int64_t get_size(const char *object)
{
	int64_t n;

	memcpy(&n, object + SIZE, sizeof(n));
	return n;
}

/* One character; bytes written, 0: no room. */
static uint32_t put_utf8(uint32_t c, char *out, uint32_t room)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80 && room >= 1) {
		out[0] = (char)c;
		return 1;
	}
	if (c >= 0x80 && c < 0x800 && room >= 2) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c >= 0x800 && c < 0x10000 && room >= 3) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	if (c >= 0x10000 && room >= 4) {
		out[0] = (char)(0xf0 | c >> 18);
		out[1] = (char)(0x80 | (c >> 12 & 0x3f));
		out[2] = (char)(0x80 | (c >> 6 & 0x3f));
		out[3] = (char)(0x80 | (c & 0x3f));
		return 4;
	}
	return 0;
}

static uint32_t get_character(const char *data, unsigned kind, int64_t i)
{
	uint32_t c = 0;

	/* Little endian: the low bytes come first. */
	memcpy(&c, data + i * (int64_t)kind, kind);
	return c;
}

int32_t tp_pystack_utf8(const struct tp_pyframe_layout *layout, struct tp_pystack_pages *pages,
			const char *string, char *out, uint32_t cap)
{
	uint32_t state, n_out = 0;
	const char *data;
	unsigned kind;
	int64_t n;

	if (!tp_pyframe_is_ptr(string) || !tp_pystack_can_read(pages, string, layout->ascii_bytes))
		return -1;
	memcpy(&state, string + UNICODE_STATE, sizeof(state));
	kind = state >> UNICODE_KIND & 7;
	n = get_size(string);
	if (!(state >> UNICODE_COMPACT & 1) || (kind != 1 && kind != 2 && kind != 4) || n < 0)
		return -1;
	/* What is cut off is not read. */
	n = n < cap ? n : (int64_t)cap;
	if (!tp_pystack_can_read(pages, string, layout->ascii_bytes + 24 + (size_t)n * kind))
		return -1;
	if (state >> UNICODE_ASCII & 1) {
		n_out = (uint32_t)n;
		memcpy(out, string + layout->ascii_bytes, n_out);
		return (int32_t)n_out;
	}
	/* PyCompactUnicodeObject has utf8_length, utf8 and, up to 3.11, wstr_length more. */
	data = string + layout->ascii_bytes + (layout->minor < 12 ? 24 : 16);
	for (int64_t i = 0; i < n; i++) {
		uint32_t n_put = put_utf8(get_character(data, kind, i), out + n_out, cap - n_out);

		if (!n_put)
			break;
		n_out += n_put;
	}
	return (int32_t)n_out;
}

int64_t tp_pystack_byte_of(const struct tp_pyframe_layout *layout, const char *code, const char *at)
{
	if (layout->instruction_bytes)
		return (int64_t)(int32_t)(uintptr_t)at * layout->instruction_bytes;
	return at - (code + layout->instructions);
}

uint32_t tp_pystack_line_of(const struct tp_pyframe_layout *layout, struct tp_pystack_pages *pages,
			    const char *code, int64_t byte)
{
	const char *table = tp_pyframe_ptr(code, layout->lines);
	int64_t n;

	if (byte > MOST_CODE || byte < -MOST_CODE || !tp_pyframe_is_ptr(table) ||
	    !tp_pystack_can_read(pages, table, BYTES_DATA))
		return 0;
	n = get_size(table);
	if (n < 0 || n > MOST_LINES || !tp_pystack_can_read(pages, table, BYTES_DATA + (size_t)n))
		return 0;
	return tp_pystack_line((enum tp_pylines)layout->line_kind,
			       (const uint8_t *)table + BYTES_DATA, (size_t)n,
			       (int32_t)tp_pystack_first_line(layout, code), byte);
}

static bool can_read_string(const struct tp_pyframe_layout *layout, struct tp_pystack_pages *pages,
			    const char *string)
{
	uint64_t n;

	if (!tp_pyframe_is_ptr(string) || !tp_pystack_can_read(pages, string, layout->ascii_bytes))
		return false;
	n = (uint64_t)get_size(string);
	return n - 1 >= TP_INTERN_TEXT ||
	       tp_pystack_can_read(pages, string, layout->ascii_bytes + n);
}

static uint32_t intern_names(const struct tp_pyframe_layout *layout,
			     struct tp_pystack_pages *pages, const char *code)
{
	const char *name = tp_pyframe_ptr(code, tp_pystack_name_at(layout));
	const char *file = tp_pyframe_ptr(code, layout->file);
	char text[MOST_NAME + 1 + MOST_FILE];
	int32_t n_name = tp_pystack_utf8(layout, pages, name, text, MOST_NAME), n_file;

	if (n_name < 0)
		n_name = 0;
	text[n_name] = '\0';
	n_file = tp_pystack_utf8(layout, pages, file, text + n_name + 1, MOST_FILE);
	if (n_file < 0)
		n_file = 0;
	return tp_intern(TP_STRING_PYFRAME, text, (uint32_t)(n_name + 1 + n_file));
}

struct tp_pystack_place *tp_pystack_meet(const struct tp_pyframe_layout *layout,
					 struct tp_pystack_names *names, uint32_t n_deaths,
					 const char *code, const char *at,
					 enum tp_pystack_named *named)
{
	struct tp_pystack_place *place = tp_pystack_place(names, code, at);
	struct tp_pystack_pages *pages = &names->pages;
	bool has_names;

	*named = TP_PYSTACK_BROKEN;
	if (!tp_pyframe_is_ptr(code) || !tp_pystack_can_read(pages, code, CODE_BYTES) ||
	    tp_pyframe_ptr(code, TP_PYOBJECT_TYPE) != tp_py.code_type)
		return NULL;
	tp_pystack_code_met(code);
	*named = TP_PYSTACK_HIDDEN;
	if (tp_pyframe_is_helper(layout, code))
		return NULL;
	*named = TP_PYSTACK_NAMED;
	has_names = can_read_string(layout, pages, tp_pyframe_ptr(code, tp_pystack_name_at(layout))) &&
		    can_read_string(layout, pages, tp_pyframe_ptr(code, layout->file));
	*place = (struct tp_pystack_place){
		.code = code, .at = at,
		.name = {
			.string = intern_names(layout, pages, code),
			.line = tp_pystack_line_of(layout, pages, code,
						   tp_pystack_byte_of(layout, code, at)),
		},
		/* What could not be read is tried again. */
		.n_deaths = has_names ? n_deaths : ~n_deaths,
	};
	return place;
}
