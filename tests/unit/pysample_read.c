/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_read.c - a look at a stack whose code is thrown away while it is read
 *
 * An interpreter's memory of our own: a state, a frame, a code object and its two strings. Reads go through
 * process_vm_readv, which is ours here: at the wanted one memory is what it was for that moment only.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/sample/pysample_read.h"
#include "tests/unit/ring_rig.h"

enum { STRING_BYTES = 48, ASCII = 1 << 2 | 1 << 5 | 1 << 6, NEVER = 1 << 20 };

static const struct tp_pyframe_layout layout = {
	.minor = 11, .state_frame = 8, .c_frame = TP_PYFRAME_NONE,
	.code = 0, .previous = 8, .at = 16, .owner = TP_PYFRAME_NONE,
	.first_line = 16, .name = 24, .qualified_name = 24, .file = 32, .lines = 40, .instructions = 64,
	.ascii_bytes = STRING_BYTES, .line_kind = TP_PYLINES_LOCATIONS,
};

static struct {
	uint64_t state[32], frame[64], code[64], lines[32], name[32], file[32], empty[32], type[2];
} python __attribute__((aligned(64)));

/* Of reads that touch the name: which of them, from 1 on, finds another one's. */
static uint32_t n_reads, wrong_from = NEVER, wrong_to = NEVER;

static bool touches_name(const struct iovec *other, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		if (other[i].iov_base == python.name)
			return true;
	return false;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *own, unsigned long n_own, const struct iovec *other,
			 unsigned long n_other, unsigned long flags)
{
	char *text = (char *)python.name + STRING_BYTES;
	bool is_wrong = false;
	ssize_t got;

	if (touches_name(other, n_other)) {
		n_reads++;
		is_wrong = n_reads >= wrong_from && n_reads <= wrong_to;
	}
	if (is_wrong)
		text[0] = 'X';
	got = syscall(SYS_process_vm_readv, pid, own, n_own, other, n_other, flags);
	text[0] = 'f';
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
	put(python.code, TP_PYOBJECT_TYPE, (uintptr_t)&python.type[1]);
	put(python.code, layout.name, (uintptr_t)python.name);
	put(python.code, layout.file, (uintptr_t)python.file);
	put(python.code, layout.lines, (uintptr_t)python.lines);
	put(python.frame, layout.code, (uintptr_t)python.code);
	put(python.frame, layout.at, (uintptr_t)python.code + layout.instructions);
	put(python.state, layout.state_frame, (uintptr_t)python.frame);
	tp_py.from_utf8 = empty_string;
	tp_py.drop = drop;
	tp_py.code_type = &python.type[1];
	cr_assert_null(tp_pysample_read_init(&layout));
	n_reads = 0;
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
