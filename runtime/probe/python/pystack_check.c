/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_check.c - are the offsets right? Asked of the public API, in this process
 *
 * What cannot be asked, whether a frame was called from C, is said by 3.11 in a byte that has to
 * look like it, and from 3.12 on follows from the way from frame to frame.
 */
#include "runtime/probe/python/pystack_check.h"

#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack_names.h"

enum {
	MOST_FRAMES = 64,	/* compared */
	MOST_BYTES = 160,	/* of each code, whose lines are compared */
	MOST_TEXT = 1000,
	MOST_OBJECT = 256,	/* bytes of a frame or a code object that offsets may mean */
};

static struct tp_pystack_pages pages;

static bool is_same_text(const struct tp_pyframe_layout *layout, void *string)
{
	const char *wanted = tp_py.as_utf8(string);
	char text[MOST_TEXT + 4];
	int32_t n = tp_pystack_utf8(layout, &pages, string, text, sizeof(text));

	/* One that UTF-8 cannot say is none of ours to compare. */
	if (!wanted)
		tp_py.clear();
	if (!wanted || n > MOST_TEXT)
		return true;
	return n >= 0 && strlen(wanted) == (size_t)n && memcmp(wanted, text, (size_t)n) == 0;
}

/* A string of one character, in each of the ways that they are stored. */
static const char *check_strings(const struct tp_pyframe_layout *layout)
{
	static const char *const texts[] = {
		"", "plain", "caf\xc3\xa9", "\xd0\x96 and \xe2\x82\xac", "\xf0\x9f\x98\x80 too",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		void *string = tp_py.from_utf8(texts[i], (ptrdiff_t)strlen(texts[i]));
		bool is_same;

		if (!string) {
			tp_py.clear();
			return "no memory for a string";
		}
		is_same = is_same_text(layout, string);
		tp_py.drop(string);
		if (!is_same)
			return "strings are stored another way";
	}
	return NULL;
}

/* The attribute is where we read it, and the text there is its own. */
static bool is_attribute(const struct tp_pyframe_layout *layout, void *code, const char *name,
			 uint16_t at)
{
	void *value = tp_py.get_attr(code, name);
	bool is_it;

	if (!value) {
		tp_py.clear();
		return false;
	}
	is_it = tp_pyframe_ptr(code, at) == value && is_same_text(layout, value);
	tp_py.drop(value);
	return is_it;
}

static uint32_t ask_line(void *code, int64_t byte)
{
	int line = tp_py.line_at(code, (int)byte);

	return line > 0 ? (uint32_t)line : 0;
}

/* Beyond the end Python may read anything, where it keeps lines in an array: while a program traces. */
static int64_t count_bytes(void *code)
{
	void *bytes = tp_py.get_attr(code, "co_code");
	int64_t n = bytes ? (int64_t)tp_py.size(bytes) : 0;

	if (!bytes || n < 0)
		tp_py.clear();
	if (bytes)
		tp_py.drop(bytes);
	return n > 0 ? n : 0;
}

static const char *check_code(const struct tp_pyframe_layout *layout, void *code)
{
	int64_t n;

	if (!is_attribute(layout, code, "co_name", layout->name) ||
	    !is_attribute(layout, code, "co_filename", layout->file) ||
	    (layout->qualified_name != TP_PYFRAME_NONE &&
	     !is_attribute(layout, code, "co_qualname", layout->qualified_name)))
		return "names in code objects are elsewhere";
	n = count_bytes(code);
	for (int64_t byte = -1; byte < MOST_BYTES && byte < n; byte++) {
		if (tp_pystack_line_of(layout, &pages, code, byte) != ask_line(code, byte))
			return "lines in code objects are elsewhere";
	}
	return NULL;
}

/* Wrong offsets lead anywhere. */
static bool is_readable(const char *object)
{
	return tp_pyframe_is_ptr(object) && tp_pystack_can_read(&pages, object, MOST_OBJECT);
}

/* From `frame` outwards, the first that the public API would show; NULL: none. */
static const char *skip_hidden(const struct tp_pyframe_layout *layout, const char *frame)
{
	for (uint32_t i = 0; is_readable(frame) && i < MOST_FRAMES; i++) {
		const char *code = tp_pyframe_ref(frame, layout->code);

		if (!tp_pyframe_is_own(layout, frame) &&
		    (!is_readable(code) || !tp_pyframe_is_helper(layout, code)))
			return frame;
		frame = tp_pyframe_ptr(frame, layout->previous);
	}
	return NULL;
}

static const char *get_newest(const struct tp_pyframe_layout *layout)
{
	const char *thread_state = tp_py.thread_state();

	if (layout->c_frame != TP_PYFRAME_NONE &&
	    !is_readable(tp_pyframe_ptr(thread_state, layout->state_frame)))
		return NULL;
	return skip_hidden(layout, tp_pyframe_newest(layout, thread_state));
}

/* Where a frame says whether C called it: yes or no, and of the outermost one yes. */
static bool is_plausible_entry(const struct tp_pyframe_layout *layout, const char *frame)
{
	uint8_t is_entry;

	if (layout->is_entry == TP_PYFRAME_NONE)
		return true;
	is_entry = (uint8_t)frame[layout->is_entry];
	return is_entry == 1 || (!is_entry && tp_pyframe_ptr(frame, layout->previous));
}

static const char *check_frame(const struct tp_pyframe_layout *layout, const char *own, void *frame,
			       void *code)
{
	int64_t byte = tp_pystack_byte_of(layout, code, tp_pyframe_ptr(own, layout->at));

	if (tp_pyframe_ref(own, layout->code) != code)
		return "frames read and frames reported differ";
	if (byte != tp_pyapi_number(frame, "f_lasti", -1))
		return "instructions read and instructions reported differ";
	if (tp_pystack_line_of(layout, &pages, code, byte) !=
	    (uint32_t)tp_pyapi_number(frame, "f_lineno", 0))
		return "lines read and lines reported differ";
	if (!is_plausible_entry(layout, own))
		return "whom C called is said elsewhere";
	return check_code(layout, code);
}

/* Python's None where there is no outer frame has no code. */
static bool is_frame(void *object)
{
	void *code = object ? tp_py.get_attr(object, "f_code") : NULL;

	if (code)
		tp_py.drop(code);
	else
		tp_py.clear();
	return code != NULL;
}

static const char *check_frames(const struct tp_pyframe_layout *layout)
{
	const char *own = get_newest(layout);
	void *frame = tp_py.frame();
	const char *why = NULL;
	uint32_t n = 0;

	if (!frame || !own)
		return "no frame to compare with";
	tp_py.take(frame);
	while (!why && own && is_frame(frame) && n++ < MOST_FRAMES) {
		void *code = tp_py.get_attr(frame, "f_code");
		void *outer = tp_py.get_attr(frame, "f_back");

		why = check_frame(layout, own, frame, code);
		tp_py.drop(code);
		tp_py.drop(frame);
		frame = outer;
		own = skip_hidden(layout, tp_pyframe_ptr(own, layout->previous));
	}
	if (!why && n < MOST_FRAMES && (own != NULL) != is_frame(frame))
		why = "frames read and frames reported are not as many";
	tp_pyapi_drop(frame);
	if (tp_py.error())
		tp_py.clear();
	return why;
}

const char *tp_pystack_check(const struct tp_pyframe_layout *layout)
{
	const char *why;

	/* An exception on its way is not ours to disturb. */
	if (tp_py.error())
		return "an exception was set";
	if (!tp_py.thread_state())
		return "this thread has no state of python";
	why = check_strings(layout);
	return why ? why : check_frames(layout);
}
