/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over Python's frames, on an interpreter of our own making: a thread's state, frames
 * and code objects with the offsets of each version, right and wrong ones.
 */
#include "tests/unit/probe_rig.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

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

static int is_initialized(void)
{
	return is_there;
}

static __thread bool has_no_state;

static void *get_state(void)
{
	return has_no_state ? NULL : state;
}

static void put_ptr(char *object, uint32_t at, const void *p)
{
	memcpy(object + at, &p, sizeof(p));
}

static char *make(size_t bytes)
{
	char *at = area_end;

	area_end += (bytes + 15) & ~15ul;
	cr_assert(area_end <= area + AREA);
	return at;
}

static const struct tp_pyframe_layout *use_version(uint16_t minor)
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

static void set_up(void)
{
	rig_open_window("pystack-test");
	tp_py = (struct tp_pyapi){
		.is_initialized = is_initialized, .thread_state = get_state, .code_type = type,
	};
	area = area_end = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	use_version(12);
}

static char *make_string(const char *text)
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
static char *make_lines(void)
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

static char *make_code(const char *name, const char *file, int32_t first)
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
static void go_to(char *frame, int at)
{
	const char *code = tp_pyframe_ref(frame, layout->code);
	uint32_t number = (uint32_t)(2 * at) / (layout->instruction_bytes ? layout->instruction_bytes : 1);

	if (layout->instruction_bytes)
		memcpy(frame + layout->at, &number, sizeof(number));
	else
		put_ptr(frame, layout->at, code + layout->instructions + 2 * at);
}

static char *fill_frame(char *frame, const char *code, int at, const char *outer)
{
	/* 3.14 borrows: such a reference has a bit that is none of its address. */
	put_ptr(frame, layout->code, code + (layout->minor == 14));
	put_ptr(frame, layout->previous, outer);
	if (layout->owner != TP_PYFRAME_NONE)
		frame[layout->owner] = 0;
	go_to(frame, at);
	return frame;
}

static char *make_frame(const char *code, int at, const char *outer)
{
	return fill_frame(make(144), code, at, outer);
}

/* What lies between a frame and the C that called it, where the version has such. */
static char *called_by_c(const char *outer)
{
	char *own;

	if (layout->owner == TP_PYFRAME_NONE || layout->is_entry != TP_PYFRAME_NONE)
		return (char *)outer;
	own = make(144);
	put_ptr(own, layout->previous, outer);
	own[layout->owner] = OWN;
	return own;
}

static char *mark_entry(char *frame)
{
	if (layout->is_entry != TP_PYFRAME_NONE)
		frame[layout->is_entry] = 1;
	return frame;
}

static void set_newest(const char *frame)
{
	if (layout->c_frame == TP_PYFRAME_NONE) {
		put_ptr(state, layout->state_frame, frame);
		return;
	}
	put_ptr(state, layout->state_frame, c_frame);
	put_ptr(c_frame, layout->c_frame, frame);
}

static uint32_t take_stack(void)
{
	return tp_pystack_take(tp_clock_now());
}

/* "name file line flags; ..." of a number, innermost first. */
static const char *describe(uint32_t stack)
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

static uint64_t get_total(const char *name)
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

TestSuite(pystack, .init = set_up, .fini = tear_down);

Test(pystack, names_files_lines_and_who_was_called_by_c_in_each_version)
{
	static const uint16_t versions[] = { 9, 10, 11, 12, 13, 14 };

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		char *program, *work, *leaf;

		if (versions[i] == 13)	/* says it itself, like 14 */
			continue;
		use_version(versions[i]);
		program = mark_entry(make_frame(make_code("<module>", "a.py", 1), 3, called_by_c(NULL)));
		work = make_frame(make_code("C.work", "b.py", 10), 0, program);
		leaf = mark_entry(make_frame(make_code("leaf", "c.py", 100), 5, called_by_c(work)));
		set_newest(leaf);
		cr_expect_str_eq(describe(take_stack()),
				 versions[i] < 11 ? "leaf c.py 106 C; C.work b.py 11 C; <module> a.py 5 C; " :
						    "leaf c.py 106 C; C.work b.py 11; <module> a.py 5 C; ",
				 "3.%u", versions[i]);
	}
}

Test(pystack, what_did_not_change_is_not_recorded_again)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *inner = make_frame(make_code("inner", "a.py", 50), 0, outer);
	uint32_t stack, other;

	set_newest(inner);
	stack = take_stack();
	collect();
	cr_expect_eq(got.n, 2);
	for (int i = 0; i < 3; i++)
		cr_expect_eq(take_stack(), stack);
	collect();
	cr_expect_eq(got.n, 0);

	go_to(inner, 1);
	other = take_stack();
	cr_expect_neq(other, stack);
	collect();
	cr_expect_eq(got.n, 1);
	/* Back where it was: the tree knows. */
	go_to(inner, 0);
	cr_expect_eq(take_stack(), stack);
	/* The outer one has gone on: both are other stacks. */
	go_to(outer, 7);
	cr_expect_neq(take_stack(), stack);
	collect();
	cr_expect_eq(got.n, 2);
	/* The inner one has returned, and been called again. */
	set_newest(outer);
	take_stack();
	set_newest(inner);
	take_stack();
	collect();
	cr_expect_eq(got.n, 0);
}

Test(pystack, called_again_a_frame_is_in_the_stack_of_its_caller)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *inner = make_frame(make_code("inner", "b.py", 1), 0, outer);
	char *leaf = make_frame(make_code("leaf", "c.py", 1), 0, inner);
	uint32_t stack;

	set_newest(leaf);
	stack = take_stack();
	/* Both have returned, and the outer one has gone on before it called them again. */
	go_to(outer, 1);
	set_newest(outer);
	cr_expect_str_eq(describe(take_stack()), "outer a.py 3 C; ");
	set_newest(leaf);
	cr_expect_str_eq(describe(take_stack()), "leaf c.py 2; inner b.py 2; outer a.py 3 C; ");
	/* From the same place as at first, without and with one look in between. */
	go_to(outer, 0);
	cr_expect_eq(take_stack(), stack);
	set_newest(outer);
	take_stack();
	go_to(leaf, 2);
	set_newest(leaf);
	cr_expect_str_eq(describe(take_stack()), "leaf c.py 4; inner b.py 2; outer a.py 2 C; ");
	collect();
	set_newest(inner);
	take_stack();
	set_newest(leaf);
	take_stack();
	collect();
	cr_expect_eq(got.n, 0);
	/* By C. */
	set_newest(outer);
	take_stack();
	put_ptr(inner, layout->previous, called_by_c(outer));
	set_newest(leaf);
	cr_expect_str_eq(describe(take_stack()), "leaf c.py 4; inner b.py 2 C; outer a.py 2 C; ");
}

Test(pystack, called_again_a_function_may_have_moved_in_its_file)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *code = make_code("inner", "b.py", 1), *inner = make_frame(code, 0, outer);
	const int32_t first = 50;

	set_newest(inner);
	cr_expect_str_eq(describe(take_stack()), "inner b.py 2; outer a.py 2 C; ");
	set_newest(outer);
	take_stack();
	/* Another one with the same name, file and table. */
	tp_pystack_code_died(code);
	memcpy(code + layout->first_line, &first, sizeof(first));
	set_newest(inner);
	cr_expect_str_eq(describe(take_stack()), "inner b.py 51; outer a.py 2 C; ");
}

/* The number of the module whose call a stack's innermost frame is. */
static uint32_t find_module(uint32_t stack)
{
	collect();
	for (uint32_t i = 0; i < got.n; i++) {
		const struct tp_rec *rec = &got.rec[i];

		if (rec->kind == TP_REC_FRAME && rec->link == stack &&
		    (rec->flags & TP_FRAME_MODULE) == TP_FRAME_MODULE)
			return TP_MODULE_NUMBER(rec->arg);
	}
	return 0;
}

Test(pystack, calls_of_two_modules_from_one_line_are_two_stacks)
{
	char *code = make_code("Module._wrapped_call_impl", "m.py", 1);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *call = make_frame(code, 0, outer), *one = make(64), *two = make(64);
	uint32_t stack, other;

	tp_pystack_hold(true, true);
	tp_nnmodule_code = code;
	put_ptr(call, layout->locals, one);
	set_newest(call);
	stack = take_stack();
	cr_expect_eq(find_module(stack), tp_nnmodule_number(one));
	put_ptr(call, layout->locals, two);
	other = take_stack();
	cr_expect_eq(find_module(other), tp_nnmodule_number(two));
	cr_expect_eq(got.n, 1, "the frame is the same");
	put_ptr(call, layout->locals, one);
	cr_expect_eq(take_stack(), stack);
	collect();
	cr_expect_eq(got.n, 0);
	/* From another line, both of them. */
	go_to(outer, 1);
	cr_expect_neq(take_stack(), stack);
	put_ptr(call, layout->locals, two);
	cr_expect_neq(take_stack(), other);
	collect();
	cr_expect_eq(got.n, 4);
}

Test(pystack, frames_and_code_at_addresses_of_others_are_themselves)
{
	char *one = make_code("one", "a.py", 1), *two = make_code("two", "b.py", 1);
	char *outer = make_frame(one, 0, called_by_c(NULL)), *inner = make_frame(two, 0, outer);
	char *aside = make_frame(make_code("aside", "c.py", 1), 0, outer);

	set_newest(inner);
	cr_expect_str_eq(describe(take_stack()), "two b.py 2; one a.py 2 C; ");
	/* Another frame there. */
	fill_frame(inner, one, 2, outer);
	cr_expect_str_eq(describe(take_stack()), "one a.py 4; one a.py 2 C; ");
	/* Other code at the address of the old. */
	fill_frame(inner, two, 0, outer);
	take_stack();
	tp_pystack_code_died(two);
	put_ptr(two, layout->qualified_name, make_string("new"));
	cr_expect_str_eq(describe(take_stack()), "new b.py 2; one a.py 2 C; ");
	tp_pystack_code_died(two);
	put_ptr(two, layout->file, make_string("new.py"));
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; one a.py 2 C; ");
	/* Another one between two that are known; and gone again. */
	put_ptr(inner, layout->previous, aside);
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; aside c.py 2; one a.py 2 C; ");
	put_ptr(inner, layout->previous, outer);
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; one a.py 2 C; ");
	/* A generator: what was outermost is called by another one. */
	put_ptr(outer, layout->previous, called_by_c(make_frame(make_code("main", "m.py", 7), 0,
								called_by_c(NULL))));
	cr_expect_str_eq(describe(take_stack()), "new new.py 2; one a.py 2 C; main m.py 8 C; ");
}

/* 3 * 2400 = 5 * 1440: what blocks of a pool may be apart. */
Test(pystack, code_whose_parts_moved_by_multiples_of_a_block_is_another)
{
	char *code = make_code("f", "", 1), *frame = make_frame(code, 0, called_by_c(NULL));
	char *pool = make(4096), *more_lines = make(2048);
	const char *file = make_string("one.py"), *other_file = make_string("two.py");
	const char *lines = tp_pyframe_ptr(code, layout->lines);

	memcpy(pool, file, 64);
	memcpy(pool + 2400, other_file, 64);
	memcpy(more_lines, lines, 32 + 2 * LINES);
	memcpy(more_lines + 1440, lines, 32 + 2 * LINES);
	set_newest(frame);
	put_ptr(code, layout->file, pool);
	put_ptr(code, layout->lines, more_lines + 1440);
	cr_expect_str_eq(describe(take_stack()), "f one.py 2 C; ");
	tp_pystack_code_died(code);
	put_ptr(code, layout->file, pool + 2400);
	put_ptr(code, layout->lines, more_lines);
	cr_expect_str_eq(describe(take_stack()), "f two.py 2 C; ");
}

Test(pystack, strings_made_one_after_another_at_one_address_differ)
{
	char *code = make_code("f", "<made 1>", 1), *frame = make_frame(code, 0, called_by_c(NULL));
	char *file = (char *)tp_pyframe_ptr(code, layout->file);

	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 1> 2 C; ");
	/* While it was not on the stack. */
	set_newest(make_frame(make_code("g", "g.py", 1), 0, called_by_c(NULL)));
	take_stack();
	tp_pystack_code_died(code);
	file[layout->ascii_bytes + strlen("<made ")] = '2';
	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 2> 2 C; ");
}

Test(pystack, what_a_string_says_is_known_by_the_hash_that_python_made_of_it)
{
	char *code = make_code("f", "<made 1 by a program>", 1);
	char *frame = make_frame(code, 0, called_by_c(NULL));
	char *file = (char *)tp_pyframe_ptr(code, layout->file);

	memset(file + 24, 0x11, 8);
	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 1 by a program> 2 C; ");
	set_newest(make_frame(make_code("g", "g.py", 1), 0, called_by_c(NULL)));
	take_stack();
	/* Of the same length, and it ends alike. */
	tp_pystack_code_died(code);
	file[layout->ascii_bytes + strlen("<made ")] = '2';
	memset(file + 24, 0x22, 8);
	set_newest(frame);
	cr_expect_str_eq(describe(take_stack()), "f <made 2 by a program> 2 C; ");
}

Test(pystack, each_line_of_a_long_function_is_itself)
{
	char *frame = make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL));

	set_newest(frame);
	for (int i = 0; i < 2 * LINES; i++) {
		char wanted[32];

		go_to(frame, i % LINES);
		snprintf(wanted, sizeof(wanted), "f a.py %d C; ", i % LINES + 2);
		cr_expect_str_eq(describe(take_stack()), wanted);
	}
}

Test(pystack, a_helper_of_the_interpreter_is_no_frame)
{
	char *helper = make_code("__init__", "x", 0);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *frame = make_frame(helper, 0, outer);

	set_newest(make_frame(make_code("C.__init__", "a.py", 20), 0, frame));
	put_ptr(helper, layout->file, tp_pyframe_ptr(helper, layout->name));
	cr_expect_str_eq(describe(take_stack()), "C.__init__ a.py 21; outer a.py 2 C; ");
	put_ptr(helper, layout->name, NULL);
	put_ptr(helper, layout->file, NULL);
	go_to(outer, 1);
	cr_expect_str_eq(describe(take_stack()), "C.__init__ a.py 21; outer a.py 3 C; ");
}

Test(pystack, another_window_gets_its_own_records)
{
	set_newest(make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL)));
	take_stack();
	collect();
	cr_expect_eq(got.n, 1);
	tp_ring.head->windows_begun = 2;
	tp_ring.head->window_turn += 2;
	cr_expect_str_eq(describe(take_stack()), "f a.py 2 C; ");
	cr_expect_eq(got.n, 1);
}

Test(pystack, where_no_python_runs_there_is_no_stack)
{
	char *frame = make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL));

	set_newest(NULL);
	cr_expect_eq(take_stack(), 0);
	set_newest(frame);
	cr_expect_neq(take_stack(), 0);
	is_there = 0;
	cr_expect_eq(take_stack(), 0);
	is_there = 1;
	has_no_state = true;
	cr_expect_eq(take_stack(), 0);
}

/* What a handler of a signal may meet, or memory that was given back. */
Test(pystack, impossible_frames_end_the_walk_and_are_counted)
{
	char *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *code = make_code("inner", "a.py", 50), *inner = make_frame(code, 0, outer);
	const char *const bad[] = { (char *)8, inner + 1, gone, (char *)(1ull << 63), (char *)~7ull };
	uint64_t n_broken = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put_ptr(inner, layout->previous, bad[i]);
		set_newest(inner);
		cr_expect_str_eq(describe(take_stack()), "inner a.py 51 cut; ", "frame %zu", i);
		cr_expect_eq(get_total("broken"), ++n_broken);
		/* It stays what it is, and is known by now. */
		cr_expect_str_eq(describe(take_stack()), "inner a.py 51 cut; ");
		cr_expect_eq(get_total("broken"), n_broken);
	}
	put_ptr(inner, layout->previous, outer);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put_ptr(inner, layout->code, bad[i]);
		cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ", "code %zu", i);
		cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ", "code %zu, again", i);
		n_broken += 2;
		cr_expect_eq(get_total("broken"), n_broken);
	}
	put_ptr(inner, layout->code, area);	/* an object of another type */
	cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ");
	fill_frame(inner, code, 0, outer);
	cr_expect_str_eq(describe(take_stack()), "inner a.py 51; outer a.py 2 C; ");
}

Test(pystack, a_circle_of_frames_ends)
{
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, NULL);
	char *inner = make_frame(make_code("inner", "a.py", 50), 0, outer);

	set_newest(inner);
	take_stack();
	put_ptr(outer, layout->previous, inner);
	cr_expect_neq(take_stack(), 0);
	cr_expect_eq(get_total("cut"), 1);
	put_ptr(outer, layout->previous, called_by_c(NULL));
	cr_expect_str_eq(describe(take_stack()), "inner a.py 51; outer a.py 2 C; ");
}

Test(pystack, what_was_unmapped_is_not_read_again)
{
	char *chunk = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *outer = make_frame(make_code("outer", "a.py", 1), 0, called_by_c(NULL));
	char *inner = fill_frame(chunk, make_code("inner", "a.py", 50), 0, outer);

	set_newest(inner);
	take_stack();
	take_stack();
	/* 3.11 does so when a function returns: its frame is still the newest. */
	munmap(chunk, PAGE);
	tp_pystack_unmapped();
	cr_expect_eq(take_stack(), 0);
	cr_expect_eq(get_total("broken"), 1);
	set_newest(outer);
	cr_expect_str_eq(describe(take_stack()), "outer a.py 2 C; ");
}

Test(pystack, deep_stacks_are_cut_outside)
{
	char *code = make_code("f", "a.py", 1);
	char *frames = mmap(NULL, 144 * 2100, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *outer = NULL;
	uint32_t stack = 0, n = 0;

	for (int i = 0; i < 2100; i++) {
		outer = fill_frame(frames + 144 * i, code, 0, outer);
		set_newest(outer);
		if (i % 1000 == 999)
			take_stack();
	}
	collect();
	stack = take_stack();
	cr_expect_eq(get_total("cut"), 1);
	collect();
	for (uint32_t i = 0; i < got.n; i++)
		n += got.rec[i].kind == TP_REC_FRAME && got.rec[i].flags & TP_FRAME_CUT;
	cr_expect_eq(n, 1, "%u cut", n);
	cr_expect_eq(take_stack(), stack);
}

static void *take_one(void *unused)
{
	cr_expect_neq(take_stack(), 0);
	return NULL;
}

Test(pystack, threads_that_ended_leave_their_memory_to_others)
{
	set_newest(make_frame(make_code("f", "a.py", 1), 0, called_by_c(NULL)));
	for (int i = 0; i < 600; i++) {
		pthread_t thread;

		cr_assert_eq(pthread_create(&thread, NULL, take_one, NULL), 0);
		pthread_join(thread, NULL);
		/* Its frames are its own: numbers of another thread are not used. */
		collect();
		cr_expect_eq(got.n, 1, "%u records of thread %d", got.n, i);
		tp_ring_reap(true);
	}
	cr_expect_eq(get_total("refused"), 0);
}

Test(pystack, a_python_that_says_impossible_things_of_itself_is_refused)
{
	struct tp_pyframe_layout out;

	use_version(14);
	cr_expect_null(tp_pyframe_said(said, 14, &out));
	cr_expect_not_null(tp_pyframe_said(NULL, 14, &out));
	cr_expect_not_null(tp_pyframe_said(said, 13, &out), "another version");
	said[1] = 0x030d00f0;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "of another one");
	said[1] = 0x030e00f0;
	said[2] = 1;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "no lock");
	said[2] = 0;
	said[33] = 4096;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "an offset behind all");
	said[33] = 0;
	said[80] = 48;
	cr_expect_not_null(tp_pyframe_said(said, 14, &out), "strings of another kind");
	said[80] = 40;
	memcpy(said, "xdebugpz", 8);
	cr_expect_not_null(tp_pyframe_said(said, 14, &out));
}
