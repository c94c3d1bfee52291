/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_names.c - functions, files and lines of frames that were copied
 *
 * What a code object says is remembered by its address and compared with the object in every 32nd look
 * at most: reading costs more than all else. One that was made anew in between at the same address may
 * for so long have the name of the one before. Code of modules and of no file (exec) is often made and
 * thrown away, and its strings lie where those of the one before lay: its names are read in each look.
 * Any other's are read twice, in two looks: it may have been thrown away between a look and their reading,
 * and made anew at the same address before it is looked again (an import, repeated).
 */
#include "runtime/probe/sample/pysample_names.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack_lines.h"
#include "runtime/probe/python/pystack_names.h"
#include "runtime/probe/sample/pysample_text.h"

enum {
	CODE_BYTES = 144,	/* of a code object, as far as we read it */
	SIZE = 16, BYTES_DATA = 32,
	MOST_NAME = 1000, MOST_FILE = 3000,	/* together below TP_INTERN_TEXT */
	MOST_TABLE = 1 << 16,	/* bytes of a table of lines */
	MOST_CODE = 1 << 24,
	CODES = 2048, LINES = 4096,
	WAYS = 4,		/* places that each of them may have */
	TRUSTED = 32,		/* looks */
	BATCH = 64,		/* code objects in one call of the kernel */
};

static const char shim[] = "<shim>";	/* the file of such code, 3.12 */
static const char frozen[] = "<frozen ";	/* files of the interpreter's own modules begin so */
static const char module[] = "<module>";	/* the name of a module's code, which runs once */

struct code {
	const char *code;	/* NULL: empty */
	const char *lines;	/* its table */
	uint64_t mark;
	struct tp_pysample_text text[TP_PYSAMPLE_TEXTS];	/* name and file */
	uint32_t first_line, string, checked;
	bool is_hidden, is_fleeting, is_sure;
};

struct line {
	const char *code, *at;	/* code NULL: empty */
	uint64_t mark;
	uint32_t line;
};

static struct {
	const struct tp_pyframe_layout *layout;
	struct code code[CODES / WAYS][WAYS];
	struct line line[LINES / WAYS][WAYS];
	uint32_t n_looks, next_line;
	/* Of this look. */
	uint64_t time;		/* at which the first fleeting name was read; 0: none was */
	char copy[BATCH][CODE_BYTES];
	struct tp_pysample_frame *asked[BATCH];
	/* Of the name that is read. */
	char table[MOST_TABLE];
} names;

const char *tp_pysample_names_init(const struct tp_pyframe_layout *layout)
{
	names.layout = layout;
	return tp_pysample_text_init(layout);
}

void tp_pysample_forget(void)
{
	memset(names.code, 0, sizeof(names.code));
	memset(names.line, 0, sizeof(names.line));
}

/* Where it is, or where it would be: in place of the one that was looked at longest ago. */
static struct code *place_of(const char *code)
{
	struct code *near = names.code[tp_hash_mix((uintptr_t)code) % (CODES / WAYS)], *oldest = near;

	for (uint32_t i = 0; i < WAYS; i++) {
		if (near[i].code == code)
			return &near[i];
		if (names.n_looks - near[i].checked > names.n_looks - oldest->checked)
			oldest = &near[i];
	}
	return oldest;
}

/* NULL: it is not known. */
static struct code *find_code(const char *code)
{
	struct code *place = place_of(code);

	return place->code == code ? place : NULL;
}

static struct line *lines_near(const char *code, const char *at)
{
	return names.line[tp_hash_mix((uintptr_t)code ^ (uintptr_t)at << 20) % (LINES / WAYS)];
}

/* NULL: it is not known. */
static struct line *find_line(const struct tp_pysample_frame *frame, uint64_t mark)
{
	struct line *near = lines_near(frame->code, frame->at);

	for (uint32_t i = 0; i < WAYS; i++)
		if (near[i].code == frame->code && near[i].at == frame->at && near[i].mark == mark)
			return &near[i];
	return NULL;
}

static bool read_line(const struct code *code, const struct tp_pysample_frame *frame)
{
	const struct tp_pyframe_layout *layout = names.layout;
	int64_t byte = tp_pystack_byte_of(layout, frame->code, frame->at), n;
	struct line line = { frame->code, frame->at, code->mark, 0 };

	if (byte > MOST_CODE || byte < -MOST_CODE || !tp_pyframe_is_ptr(code->lines) ||
	    !tp_pysample_read(code->lines + SIZE, &n, sizeof(n)) || n < 0)
		return false;
	/* Of a longer table without a line. */
	if (n <= MOST_TABLE && !tp_pysample_read(code->lines + BYTES_DATA, names.table, (size_t)n))
		return false;
	if (n <= MOST_TABLE)
		line.line = tp_pystack_line((enum tp_pylines)layout->line_kind,
					    (const uint8_t *)names.table, (size_t)n,
					    (int32_t)code->first_line, byte);
	lines_near(line.code, line.at)[names.next_line++ % WAYS] = line;
	return true;
}

static bool is_fleeting(const char *name, const char *file)
{
	return (file[0] == '<' && strncmp(file, frozen, sizeof(frozen) - 1) != 0) || !strcmp(name, module);
}

static bool read_names(struct code *code, const char *copy)
{
	const struct tp_pyframe_layout *layout = names.layout;
	char text[MOST_NAME + 1 + MOST_FILE + 1];
	int32_t n_name, n_file;
	uint64_t time;

	n_name = tp_pysample_text_read(tp_pyframe_ptr(copy, tp_pystack_name_at(layout)), text, MOST_NAME,
				       &code->text[0]);
	time = tp_clock_now();
	if (n_name < 0)
		return false;
	text[n_name] = '\0';
	n_file = tp_pysample_text_read(tp_pyframe_ptr(copy, layout->file), text + n_name + 1, MOST_FILE,
				       &code->text[1]);
	if (n_file < 0)
		return false;
	text[n_name + 1 + n_file] = '\0';
	/* Of the interpreter's own: met while its frame is being made. */
	code->is_hidden = n_file == sizeof(shim) - 1 && !memcmp(text + n_name + 1, shim, sizeof(shim) - 1);
	if (code->is_hidden)
		return true;
	code->is_fleeting = is_fleeting(text, text + n_name + 1);
	if (code->is_fleeting && !names.time)
		names.time = time;
	code->string = tp_intern(TP_STRING_PYFRAME, text, (uint32_t)(n_name + 1 + n_file));
	return true;
}

/*
 * What a code object holds, in a word: another one may come to stand at the same address. Large
 * factors: pools give addresses that differ by small multiples of a block, and so do small sums of
 * them (3.14, blocks of 48 and 80 bytes).
 */
static uint64_t get_mark(const char *copy)
{
	const struct tp_pyframe_layout *layout = names.layout;

	return (uintptr_t)tp_pyframe_ptr(copy, tp_pystack_name_at(layout)) +
	       0x9e3779b97f4a7c15u * (uintptr_t)tp_pyframe_ptr(copy, layout->file) +
	       0xff51afd7ed558ccdu * (uintptr_t)tp_pyframe_ptr(copy, layout->lines);
}

/* What is fleeting says what it said, and is the same. */
static bool is_said_again(const struct code *code)
{
	char again[CODE_BYTES];

	if (!tp_pysample_text_is(code->text, code->code, again, CODE_BYTES) || get_mark(again) != code->mark)
		return false;
	if (!names.time)
		names.time = tp_clock_now();
	return true;
}

/* What was read belongs together only if the code object is still the same. */
static bool is_still(const struct code *code)
{
	char again[CODE_BYTES];

	return tp_pysample_read(code->code, again, CODE_BYTES) && get_mark(again) == code->mark;
}

/* Reads it all; *is_new becomes true unless it says what is known of the place. */
static bool read_code(const struct tp_pysample_frame *frame, const char *copy, struct code *code,
		      const struct code *known, bool *is_new)
{
	bool is_same;

	if (!read_names(code, copy))
		return false;
	is_same = known && known->string == code->string && known->is_hidden == code->is_hidden;
	*is_new |= !is_same;
	code->is_sure = is_same;
	return ((is_same && find_line(frame, code->mark)) || read_line(code, frame)) && is_still(code);
}

/* By a copy of the frame's code object; *is_new becomes true where something new was read for it. */
static bool check_code(const struct tp_pysample_frame *frame, const char *copy, bool *is_new)
{
	struct code *known = find_code(frame->code);
	struct code code = {
		.code = frame->code, .lines = tp_pyframe_ptr(copy, names.layout->lines),
		.mark = get_mark(copy),
		.first_line = tp_pystack_first_line(names.layout, copy),
		.checked = names.n_looks,
		.is_hidden = tp_pyframe_is_helper(names.layout, copy),
		.is_sure = true,
	};
	bool is_known;

	if (tp_pyframe_ptr(copy, TP_PYOBJECT_TYPE) != tp_py.code_type)
		return false;
	is_known = known && known->mark == code.mark && known->first_line == code.first_line;
	if (is_known && known->is_sure && (!known->is_fleeting || is_said_again(known))) {
		known->checked = names.n_looks;
		/* Which line an instruction is of does not change as long as its code is there. */
		return known->is_hidden || find_line(frame, known->mark) ||
		       (read_line(known, frame) && is_still(known));
	}
	*is_new |= code.is_hidden;
	if (!code.is_hidden && !read_code(frame, copy, &code, is_known ? known : NULL, is_new))
		return false;
	*place_of(code.code) = code;
	return true;
}

/* What is known of it now, and is known: another frame of the same look may take its place. */
static void take_name(struct tp_pysample_frame *frame)
{
	const struct code *code = find_code(frame->code);
	const struct line *line = find_line(frame, code->mark);

	frame->string = code->string;
	frame->is_hidden = code->is_hidden;
	frame->is_fleeting = code->is_fleeting;
	frame->line = line ? line->line : 0;
}

/* All of those that are asked for, in one call. */
static bool check_asked(uint32_t n, bool *is_new)
{
	struct iovec own = { names.copy, (size_t)n * CODE_BYTES }, other[BATCH];

	for (uint32_t i = 0; i < n; i++)
		other[i] = (struct iovec){ (void *)(uintptr_t)names.asked[i]->code, CODE_BYTES };
	if (n && process_vm_readv(getpid(), &own, 1, other, n, 0) != (ssize_t)own.iov_len)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!check_code(names.asked[i], names.copy[i], is_new))
			return false;
		take_name(names.asked[i]);
	}
	return true;
}

/* True: named, without another look at its code. */
static bool take_trusted(struct tp_pysample_frame *frame)
{
	const struct code *code = find_code(frame->code);

	if (!code || code->is_fleeting || !code->is_sure ||
	    names.n_looks - code->checked >= TRUSTED || (!code->is_hidden && !find_line(frame, code->mark)))
		return false;
	take_name(frame);
	return true;
}

bool tp_pysample_names_is(const struct tp_pysample_frame *frame, const char *name, const char *file_end)
{
	const struct tp_pyframe_layout *layout = names.layout;
	char copy[CODE_BYTES], text[MOST_FILE];
	struct tp_pysample_text unused;
	size_t n_name = strlen(name), n_end = strlen(file_end);
	int32_t n;

	if (frame->is_hidden || !tp_pysample_read(frame->code, copy, CODE_BYTES) ||
	    tp_pyframe_ptr(copy, TP_PYOBJECT_TYPE) != tp_py.code_type)
		return false;
	n = tp_pysample_text_read(tp_pyframe_ptr(copy, tp_pystack_name_at(layout)), text, MOST_NAME, &unused);
	if (n < 0 || (size_t)n != n_name || memcmp(text, name, n_name))
		return false;
	n = tp_pysample_text_read(tp_pyframe_ptr(copy, layout->file), text, MOST_FILE, &unused);
	return n >= (int32_t)n_end && !memcmp(text + n - n_end, file_end, n_end);
}

bool tp_pysample_names(struct tp_pysample_look *look, bool *is_new)
{
	uint32_t n_asked = 0;

	names.n_looks++;
	names.time = 0;
	look->is_fleeting = false;
	for (uint32_t i = 0; i < look->n; i++) {
		if (look->frame[i].is_hidden || take_trusted(&look->frame[i]))
			continue;
		names.asked[n_asked++] = &look->frame[i];
		if (n_asked < BATCH)
			continue;
		if (!check_asked(n_asked, is_new))
			return false;
		n_asked = 0;
	}
	if (!check_asked(n_asked, is_new))
		return false;
	for (uint32_t i = 0; i < look->n; i++)
		look->is_fleeting |= look->frame[i].is_fleeting;
	look->time = names.time ? names.time : look->time;
	return true;
}
