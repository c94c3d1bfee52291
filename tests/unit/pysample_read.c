/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_read.c - a look at a stack whose code is thrown away, or that goes on, while it is read
 *
 * An interpreter's memory of our own: a state, frames, code objects and two strings. Reads go through
 * process_vm_readv, which is ours here: at the wanted one memory is what it was for that moment only, and
 * at the wanted look the stack has become another.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/sample/pysample_read.h"
#include "tests/unit/ring_rig.h"

enum { STRING_BYTES = 48, ASCII = 1 << 2 | 1 << 5 | 1 << 6, NEVER = 1 << 20, FEW = 8, MANY = 1000 };

static const struct tp_pyframe_layout layout = {
	.minor = 11, .state_frame = 8, .c_frame = TP_PYFRAME_NONE,
	.code = 0, .previous = 8, .at = 16, .owner = TP_PYFRAME_NONE,
	.first_line = 16, .name = 24, .qualified_name = 24, .file = 32, .lines = 40, .instructions = 64,
	.ascii_bytes = STRING_BYTES, .line_kind = TP_PYLINES_LOCATIONS,
};

static struct {
	uint64_t state[32], frame[64], code[64], lines[32], name[32], file[32], empty[32], type[2];
	uint64_t frames[4][16];		/* innermost first */
	uint64_t codes[FEW][20];
	uint64_t c_frames[2][32];	/* on the C stack */
} python __attribute__((aligned(64)));

/* Of reads that touch the name: which of them, from 1 on, finds another one's. */
static uint32_t n_reads, wrong_from = NEVER, wrong_to = NEVER;

static uint32_t n_calls;	/* of the kernel */

/* Looks at the stack; at which of them, from 1 on, it has become another. */
static uint32_t n_looks, goes_on_at = NEVER;
static void (*go_on)(void);

static bool touches(const void *place, const struct iovec *other, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		if (other[i].iov_base == place)
			return true;
	return false;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *own, unsigned long n_own, const struct iovec *other,
			 unsigned long n_other, unsigned long flags)
{
	char *text = (char *)python.name + STRING_BYTES;
	const char first = text[0];
	bool is_wrong = false;
	ssize_t got;

	n_calls++;
	if (touches((char *)python.state + layout.state_frame, other, n_other) && ++n_looks == goes_on_at)
		go_on();
	if (touches(python.name, other, n_other)) {
		n_reads++;
		is_wrong = n_reads >= wrong_from && n_reads <= wrong_to;
	}
	if (is_wrong)
		text[0] = 'X';
	got = syscall(SYS_process_vm_readv, pid, own, n_own, other, n_other, flags);
	text[0] = first;
	return got;
}

static void put(uint64_t *object, uint32_t at, uint64_t value)
{
	object[at / 8] = value;
}

static void make_string(uint64_t *string, const char *text)
{
	put(string, TP_PYOBJECT_TYPE, (uintptr_t)&python.type[0]);
	put(string, 16, strlen(text));
	put(string, 32, ASCII);
	memcpy((char *)string + STRING_BYTES, text, strlen(text));
}

static void *empty_string(const char *text, ptrdiff_t n)
{
	return python.empty;
}

static void drop(void *object)
{
}

static void make_code(uint64_t *code)
{
	put(code, TP_PYOBJECT_TYPE, (uintptr_t)&python.type[1]);
	put(code, layout.name, (uintptr_t)python.name);
	put(code, layout.file, (uintptr_t)python.file);
	put(code, layout.lines, (uintptr_t)python.lines);
}

static void run_frame(const uint64_t *frame)
{
	put(python.state, layout.state_frame, (uintptr_t)frame);
}

/* The frame of `code`, which `caller` called. */
static void make_frame(uint64_t *frame, const uint64_t *code, const uint64_t *caller)
{
	put(frame, layout.code, (uintptr_t)code);
	put(frame, layout.previous, (uintptr_t)caller);
	put(frame, layout.at, (uintptr_t)code + layout.instructions);
}

static void make_python(void)
{
	static struct tp_arena arena;

	rig_make_dir();
	tp_clock_init(TP_CLOCK_AUTO);
	tp_log_set_level(TP_LOG_QUIET);
	cr_assert_eq(rig_open_ring(1 << 20), 0);
	cr_assert_eq(tp_arena_init(&arena, 16 << 20), 0);
	cr_assert_eq(tp_intern_init(&arena), 0);
	make_string(python.empty, "");
	make_string(python.name, "function");
	make_string(python.file, "/x/train.py");
	make_code(python.code);
	make_frame(python.frame, python.code, NULL);
	run_frame(python.frame);
	for (uint32_t i = 0; i < FEW; i++)
		make_code(python.codes[i]);
	tp_py.from_utf8 = empty_string;
	tp_py.drop = drop;
	tp_py.code_type = &python.type[1];
	cr_assert_null(tp_pysample_read_init(&layout));
	n_reads = n_looks = 0;
}

static void tear_down(void)
{
	tp_ring_close();
	rig_remove_dir();
}
TestSuite(pysample_read, .init = make_python, .fini = tear_down);

/* Of a thread that runs all the time. */
static enum tp_pysample_found look(struct tp_pysample_look *out)
{
	static struct tp_pysample_hint hint;
	const struct tp_pysample_state runs = {.cpu_ns = 0};

	out->digest = 0;
	return tp_pysample_look((const char *)python.state, &runs, &hint, out);
}

static uint32_t id_of(const char *name)
{
	char text[64];
	size_t n = strlen(name);

	memcpy(text, name, n + 1);
	memcpy(text + n + 1, "/x/train.py", 11);
	return tp_intern(TP_STRING_PYFRAME, text, (uint32_t)n + 12);
}

Test(pysample_read, a_function_has_its_name)
{
	struct tp_pysample_look out;

	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_assert_eq(out.n, 1);
	cr_expect_eq(out.frame[0].string, id_of("function"));
	n_reads = 0;
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_expect_eq(n_reads, 0, "it is known");
}

Test(pysample_read, what_lay_there_while_it_was_read_is_no_name)
{
	struct tp_pysample_look out;

	/* A string is read twice: its head, all of it. */
	wrong_from = 1;
	wrong_to = 2;
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_assert_eq(out.n, 1);
	cr_expect_eq(out.frame[0].string, id_of("function"));
	cr_expect_gt(n_reads, 4);
	n_reads = 0;
	wrong_from = NEVER;
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_expect_eq(out.frame[0].string, id_of("function"));
}

/* Each has its place, though many share one by their address: the same ones in each run. */
Test(pysample_read, many_functions_stay_known)
{
	uint64_t (*codes)[20] = mmap((void *)0x200000000000, MANY * sizeof(*codes), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct tp_pysample_look out;

	cr_assert_neq(codes, MAP_FAILED);
	for (uint32_t i = 0; i < MANY; i++)
		make_code(codes[i]);
	for (uint32_t i = 0; i < 4 * MANY; i++) {
		make_frame(python.frame, codes[i % MANY], NULL);
		cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
		if (i == 3 * MANY - 1)
			n_reads = 0;
	}
	/* Of each that isn't known it is read twice, head and all, in two looks. */
	cr_expect_lt(n_reads, 4 * 2 * MANY / 10, "%u", n_reads);
}

/* A generator runs a function; sum(), or whatever C it is, was called by the third, and that by a module. */
static void make_generator(void)
{
	for (uint32_t i = 0; i < 4; i++)
		make_frame(python.frames[i], python.codes[i], i < 3 ? python.frames[i + 1] : NULL);
	run_frame(python.frames[0]);
}

static void end_generator(void)
{
	make_frame(python.frames[1], python.codes[1], NULL);
	run_frame(python.frames[2]);
}

static void expect_whole(const struct tp_pysample_look *out)
{
	cr_assert_eq(out->n, 4, "%u", out->n);
	for (uint32_t i = 0; i < 4; i++) {
		cr_expect_eq(out->frame[i].frame, (const char *)python.frames[i]);
		cr_expect_eq(out->frame[i].code, (const char *)python.codes[i]);
		cr_expect_eq(out->frame[i].string, id_of("function"));
	}
}

Test(pysample_read, what_is_known_is_looked_at_once)
{
	struct tp_pysample_look out;

	make_generator();
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	n_looks = 0;
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_expect_eq(n_looks, 1, "%u", n_looks);
	expect_whole(&out);
}

/* A look that is whole, though the stack becomes another before the second reading of it. */
static void look_while(void (*becomes)(void), struct tp_pysample_look *out)
{
	n_looks = 0;
	goes_on_at = 2;
	go_on = becomes;
	cr_assert_eq(look(out), TP_PYSAMPLE_NAMED);
	expect_whole(out);
}

/* It has no caller any more when its frame is read, and is gone when it is looked at again. */
Test(pysample_read, a_generator_that_gave_its_value_is_still_the_one_that_ran)
{
	struct tp_pysample_look out;

	make_generator();
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	make_frame(python.frames[1], python.codes[1], NULL);
	look_while(end_generator, &out);
	cr_expect_eq(out.digest, 0, "it is no look of which the next may be the same");
}

/* For one look. */
static void break_off(void)
{
	make_frame(python.frames[1], python.codes[1], NULL);
	goes_on_at = n_looks + 1;
	go_on = make_generator;
}

/* The same at the look that was to say that the first one is whole. */
Test(pysample_read, one_look_that_broke_off_does_not_undo_the_one_before)
{
	struct tp_pysample_look out;

	make_generator();
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	/* What is outermost now is not what is known. */
	make_frame(python.frames[3], python.codes[5], NULL);
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	make_frame(python.frames[3], python.codes[3], NULL);
	look_while(break_off, &out);
	cr_expect_eq(n_looks, 3, "%u", n_looks);
}

/* Of 3.11 and 3.12. Two functions that C calls by turns: both are found in the call that says which it is. */
Test(pysample_read, where_c_called_from_is_remembered_twice)
{
	static struct tp_pyframe_layout in_c;
	struct tp_pysample_look out;

	in_c = layout;
	in_c.c_frame = 8;
	cr_assert_null(tp_pysample_read_init(&in_c));
	make_generator();
	for (uint32_t i = 0; i < 2; i++)
		put(python.c_frames[i], in_c.c_frame, (uintptr_t)python.frames[2 * i]);
	for (uint32_t i = 0; i < 8; i++) {
		put(python.state, layout.state_frame, (uintptr_t)python.c_frames[i % 2]);
		n_calls = 0;
		cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
		cr_expect_eq(out.n, i % 2 ? 2 : 4);
		cr_expect_eq(out.frame[0].frame, (const char *)python.frames[i % 2 * 2]);
	}
	cr_expect_eq(n_calls, 1, "%u", n_calls);
}

/* Another string may lie where one was, and the code object be the same to a byte. */
Test(pysample_read, what_a_module_is_called_is_read_in_each_look)
{
	struct tp_pysample_look out;

	make_string(python.name, "<module>");
	for (uint32_t i = 0; i < 4; i++) {
		n_calls = 0;
		cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	}
	cr_expect_eq(out.frame[0].string, id_of("<module>"));
	cr_expect(out.is_fleeting);
	cr_expect_eq(n_calls, 3, "of frames, of their code, of what it says: %u", n_calls);
	make_string(python.file, "/y/train.py");
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_expect_eq(out.frame[0].string, tp_intern(TP_STRING_PYFRAME, "<module>\0/y/train.py", 20));
	make_string(python.file, "/x/train.py");
	make_string(python.name, "<lambda>");
	cr_assert_eq(look(&out), TP_PYSAMPLE_NAMED);
	cr_expect_eq(out.frame[0].string, id_of("<lambda>"));
}
