/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_rig.h - an interpreter of Python made of bytes: frames, code objects and strings, as each version
 * lays them out
 */
#ifndef TP_TESTS_PYSTACK_RIG_H
#define TP_TESTS_PYSTACK_RIG_H

#include <string.h>
#include <sys/mman.h>

#include "tests/unit/probe_rig.h"
#include "runtime/base/text.h"
#include "runtime/probe/python/nnmodule.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/python/pystack_deaths.h"
#include "runtime/probe/python/pystack_walk.h"

enum { OWN = 3, LINES = 200, MOST_FRAMES = 2048, PAGE = 4096, AREA = 64 * PAGE };

static const struct tp_pyframe_layout *layout;
static int is_there = 1;
static char state[512], c_frame[64], type[16];
static char *area, *area_end;	/* where the interpreter's objects lie */
static uint64_t said[100];	/* what a 3.14 says of itself */

static inline int is_initialized(void)
{
	return is_there;
}

static __thread bool has_no_state;

static inline void *get_state(void)
{
	return has_no_state ? NULL : state;
}

static inline void put_ptr(char *object, uint32_t at, const void *p)
{
	memcpy(object + at, &p, sizeof(p));
}

static inline char *make(size_t bytes)
{
	char *at = area_end;

	area_end += (bytes + 15) & ~15ul;
	cr_assert(area_end <= area + AREA);
	return at;
}

static inline const struct tp_pyframe_layout *use_version(uint16_t minor)
{
	static struct tp_pyframe_layout of_14;
	const char *why = NULL;

	tp_py.minor = minor;
	if (minor == 14) {
		static const uint8_t place[] = { 26, 32, 33, 34, 35, 36, 40, 41, 42, 43, 44, 48, 78, 80 };
		static const uint16_t offset[] = {
			72, 8, 0, 56, 80, 74, 112, 120, 128, 136, 68, 208, 32, 40,
		};

		memcpy(said, "xdebugpy", 8);
		said[1] = 0x030e00f0;
		for (size_t i = 0; i < sizeof(place); i++)
			said[place[i]] = offset[i];
		cr_assert_null(tp_pyframe_said(said, minor, &of_14));
		layout = &of_14;
	} else {
		layout = tp_pyframe_layout(&why);
		cr_assert(layout, "%s", why);
	}
	tp_pystack_walk_by(layout);
	return layout;
}

static inline void set_up(void)
{
	rig_open_window("pystack-test");
	tp_py = (struct tp_pyapi){
		.is_initialized = is_initialized, .thread_state = get_state, .code_type = type,
	};
	area = area_end = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	use_version(12);
}

static inline char *make_string(const char *text)
{
	char *string = make(layout->ascii_bytes + strlen(text) + 1);
	int64_t n = (int64_t)strlen(text);
	uint32_t bits = 1 << 2 | 1 << 5 | 1 << 6;

	memcpy(string + 16, &n, sizeof(n));
	memset(string + 24, 0xff, 8);	/* its hash was not asked for */
	memcpy(string + 32, &bits, sizeof(bits));
	memcpy(string + layout->ascii_bytes, text, strlen(text));
	return string;
}

/* A table in which each instruction is on a line of its own, from `first` + 1 on. */
static inline char *make_lines(void)
{
	static const uint8_t entry[][3] = {
		[TP_PYLINES_PAIRS] = { 2, 1 }, [TP_PYLINES_RANGES] = { 2, 1 },
		[TP_PYLINES_LOCATIONS] = { 0x80 | 13 << 3, 2 },
	};
	int64_t n = 2 * LINES;
	char *bytes = make(32 + (size_t)n);

	memcpy(bytes + 16, &n, sizeof(n));
	for (int64_t i = 0; i < n; i += 2)
		memcpy(bytes + 32 + i, entry[layout->line_kind], 2);
	if (layout->line_kind == TP_PYLINES_PAIRS)
		bytes[32] = 0;
	return bytes;
}

static inline char *make_code(const char *name, const char *file, int32_t first)
{
	char *code = make(256 + 64);

	put_ptr(code, 8, type);
	put_ptr(code, layout->name, make_string(name));
	if (layout->qualified_name != TP_PYFRAME_NONE)
		put_ptr(code, layout->qualified_name, make_string(name));
	put_ptr(code, layout->file, make_string(file));
	put_ptr(code, layout->lines, make_lines());
	memcpy(code + layout->first_line, &first, sizeof(first));
	return code;
}

/* At its `at`-th instruction. */
static inline void go_to(char *frame, int at)
{
	const char *code = tp_pyframe_ref(frame, layout->code);
	uint32_t number = (uint32_t)(2 * at) / (layout->instruction_bytes ? layout->instruction_bytes : 1);

	if (layout->instruction_bytes)
		memcpy(frame + layout->at, &number, sizeof(number));
	else
		put_ptr(frame, layout->at, code + layout->instructions + 2 * at);
}

static inline char *fill_frame(char *frame, const char *code, int at, const char *outer)
{
	/* 3.14 borrows: such a reference has a bit that is none of its address. */
	put_ptr(frame, layout->code, code + (layout->minor == 14));
	put_ptr(frame, layout->previous, outer);
	if (layout->owner != TP_PYFRAME_NONE)
		frame[layout->owner] = 0;
	go_to(frame, at);
	return frame;
}

static inline char *make_frame(const char *code, int at, const char *outer)
{
	return fill_frame(make(144), code, at, outer);
}

/* What lies between a frame and the C that called it, where the version has such. */
static inline char *called_by_c(const char *outer)
{
	char *own;

	if (layout->owner == TP_PYFRAME_NONE || layout->is_entry != TP_PYFRAME_NONE)
		return (char *)outer;
	own = make(144);
	put_ptr(own, layout->previous, outer);
	own[layout->owner] = OWN;
	return own;
}

static inline char *mark_entry(char *frame)
{
	if (layout->is_entry != TP_PYFRAME_NONE)
		frame[layout->is_entry] = 1;
	return frame;
}

static inline void set_newest(const char *frame)
{
	if (layout->c_frame == TP_PYFRAME_NONE) {
		put_ptr(state, layout->state_frame, frame);
		return;
	}
	put_ptr(state, layout->state_frame, c_frame);
	put_ptr(c_frame, layout->c_frame, frame);
}

static inline uint32_t take_stack(void)
{
	return tp_pystack_take(tp_clock_now());
}

/* "name file line flags; ..." of a number, innermost first. */
static inline const char *describe(uint32_t stack)
{
	static struct tp_rec known[MOST];
	static uint32_t n_known;
	static char buf[4096];
	int at = 0;

	buf[0] = '\0';
	collect();
	for (uint32_t i = 0; i < got.n && n_known < MOST; i++)
		known[n_known++] = got.rec[i];
	while (stack) {
		const struct tp_rec *rec = NULL;
		const char *bytes = "";
		uint32_t kind, n = 0, n_name;

		for (uint32_t i = 0; i < n_known; i++) {
			if (known[i].kind == TP_REC_FRAME && known[i].link == stack)
				rec = &known[i];
		}
		cr_assert(rec, "no record of stack %u", stack);
		if (rec->name)
			tp_intern_get(NULL, rec->name, &kind, &bytes, &n);
		n_name = (uint32_t)strnlen(bytes, n);
		at += snprintf(buf + at, sizeof(buf) - (size_t)at, "%.*s %.*s %lu%s%s; ", (int)n_name,
			       bytes, n ? (int)(n - n_name - 1) : 0, bytes + n_name + 1,
			       (unsigned long)rec->arg, rec->flags & TP_FRAME_ENTRY ? " C" : "",
			       rec->flags & TP_FRAME_CUT ? " cut" : "");
		cr_expect(rec->flags & TP_FRAME_PYTHON);
		stack = (uint32_t)tp_rec_len(rec);
	}
	return buf;
}

static inline uint64_t get_total(const char *name)
{
	char buf[256], key[64];
	struct tp_text text;
	const char *at;

	tp_text_init(&text, buf, sizeof(buf));
	tp_pystack_report(&text);
	snprintf(key, sizeof(key), "pystack.%s=", name);
	at = strstr(buf, key);
	cr_assert(at);
	return strtoull(at + strlen(key), NULL, 10);
}

#endif
