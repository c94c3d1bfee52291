/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c - tests of stacks: equal ones are one, Python's frames stand where they belong
 *
 * Native frames with names are those of this very program: its functions are the code that is
 * called, one of them with the name of the interpreter's evaluation function.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <link.h>
#include <limits.h>
#include <unistd.h>

#include "merge/facts/origin/stacks.h"
#include "tests/unit/fake_run.h"

__attribute__((noinline)) int code_inner(int x);
__attribute__((noinline)) int code_outer(int x);
__attribute__((noinline)) int _PyEval_EvalFrameDefault(int x);

int code_inner(int x)
{
	return x * 3 + 1;
}

int code_outer(int x)
{
	return code_inner(x) * 5;
}

int _PyEval_EvalFrameDefault(int x)
{
	return code_outer(x) * 7;
}

static struct fake fake;
static struct tp_proc *proc;
static struct tp_facts *facts;
static struct tp_stacks *stacks;
static uint64_t seed;
static int64_t now;

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	now = 1000;
	seed = 1;
	facts = NULL;
}

static void tear_down(void)
{
	tp_facts_free(facts);
}

TestSuite(stacks, .init = set_up, .fini = tear_down);

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

static void add_module(struct tp_proc *to, const char *path, uint64_t begin, uint64_t bias,
		       int64_t from, int64_t until)
{
	struct tp_module_at *more = fake_alloc((to->n_modules + 1) * sizeof(*more));
	uint32_t at = to->n_modules;

	if (at)
		memcpy(more, to->module, at * sizeof(*more));
	while (at && more[at - 1].begin > begin) {
		more[at] = more[at - 1];
		at--;
	}
	more[at] = (struct tp_module_at){
		.path = path, .bias = bias, .begin = begin, .end = begin + 0x1000,
		.from_ns = from, .to_ns = until,
	};
	to->module = more;
	to->n_modules++;
}

static void begin(void)
{
	facts = tp_facts_new(&fake.run);
	stacks = tp_facts_want(facts, &tp_fact_stacks, NULL);
}

static void frame(struct tp_proc *of, uint32_t window, uint32_t number, uint32_t outer,
		  uint8_t flags, const struct tp_string *name, uint64_t arg)
{
	struct tp_event event = fake_span(&fake, of, 0, TP_REC_FRAME, name, now, now);

	event.window = window;
	event.link = number;
	event.len = outer;
	event.flags = flags;
	event.arg = arg;
	tp_facts_event(facts, &event);
}

static uint32_t stack_of(struct tp_proc *of, uint32_t window, uint32_t number)
{
	struct tp_event event = fake_span(&fake, of, 0, TP_REC_HEAPALLOC, NULL, now, now);

	event.window = window;
	event.link = number;
	return tp_stacks_of(stacks, &event);
}

static const struct tp_string *python(const char *function, const char *file)
{
	return fake_pyframe(&fake, function, file);
}

/* ---- one number for equal stacks ---- */

Test(stacks, equal_ones_of_processes_windows_and_addresses_are_one)
{
	struct tp_proc *other = fake_proc(&fake, 1);

	add_module(proc, "/x/liba.so", 0x10000, 0x10000, 0, INT64_MAX);
	add_module(other, "/x/liba.so", 0x50000, 0x50000, 0, INT64_MAX);
	begin();
	frame(proc, 0, 1, 0, 0, NULL, 0x10100);
	frame(proc, 0, 2, 1, 0, NULL, 0x10200);
	frame(proc, 1, 9, 0, 0, NULL, 0x10100);
	frame(other, 0, 5, 0, 0, NULL, 0x50100);
	frame(other, 0, 1, 5, 0, NULL, 0x50200);
	frame(other, 0, 6, 5, TP_FRAME_EXACT, NULL, 0x50200);
	cr_expect_neq(stack_of(proc, 0, 1), 0);
	cr_expect_eq(stack_of(proc, 1, 9), stack_of(proc, 0, 1));
	cr_expect_eq(stack_of(other, 0, 5), stack_of(proc, 0, 1));
	cr_expect_eq(stack_of(other, 0, 1), stack_of(proc, 0, 2));
	cr_expect_neq(stack_of(other, 0, 6), stack_of(proc, 0, 2));
	cr_expect_lt(stack_of(proc, 0, 2), tp_stacks_count(stacks));
	cr_expect_eq(tp_stacks_unknown(stacks), 0);
	cr_expect_eq(stack_of(proc, 1, 2), 0, "numbers are those of one file");
	cr_expect_eq(stack_of(proc, 0, 77), 0);
	cr_expect_eq(stack_of(proc, 2, 1), 0, "also of one two windows later");
	cr_expect_eq(tp_stacks_unknown(stacks), 3);
}

Test(stacks, the_module_is_the_one_of_that_time)
{
	struct tp_frame got[2];

	add_module(proc, "/x/early.so", 0x10000, 0x10000, 0, 5000);
	add_module(proc, "/x/late.so", 0x10000, 0xf000, 8000, INT64_MAX);
	add_module(proc, "/x/alone.so", 0x20000, 0x20000, 9000, 9500);
	begin();
	frame(proc, 0, 1, 0, 0, NULL, 0x10100);
	frame(proc, 0, 3, 0, 0, NULL, 0x20100);
	frame(proc, 0, 4, 0, 0, NULL, 0x99999);
	now = 6000;
	frame(proc, 0, 5, 0, 0, NULL, 0x10100);
	now = 8000;
	frame(proc, 0, 2, 0, 0, NULL, 0x10100);
	cr_assert_eq(tp_stacks_frames(stacks, stack_of(proc, 0, 1), got, 2), 1);
	cr_expect_str_eq(got[0].module, "/x/early.so");
	cr_expect_eq(got[0].offset, 0x100);
	tp_stacks_frames(stacks, stack_of(proc, 0, 2), got, 2);
	cr_expect_str_eq(got[0].module, "/x/late.so");
	cr_expect_eq(got[0].offset, 0x1100);
	/* Nobody else was ever there: it may have come between two looks. */
	tp_stacks_frames(stacks, stack_of(proc, 0, 3), got, 2);
	cr_expect_str_eq(got[0].module, "/x/alone.so");
	/* Either of two, or none. */
	tp_stacks_frames(stacks, stack_of(proc, 0, 5), got, 2);
	cr_expect_str_eq(got[0].module, "");
	cr_expect_eq(got[0].offset, 0x10100);
	tp_stacks_frames(stacks, stack_of(proc, 0, 4), got, 2);
	cr_expect_str_eq(got[0].module, "");
}

/* A text for each stack, of the whole path: equal texts, equal numbers, and the other way round. */
Test(stacks, equals_a_dictionary_of_whole_paths)
{
	enum { N = 4000 };
	static char *text[2][N];
	static uint32_t number[2][N];
	const struct tp_string *name[5];
	struct tp_proc *procs[2] = {proc, fake_proc(&fake, 1)};

	for (uint32_t i = 0; i < 5; i++) {
		char function[16];

		snprintf(function, sizeof(function), "f%u", i);
		name[i] = python(function, "a.py");
	}
	for (uint32_t p = 0; p < 2; p++)
		add_module(procs[p], "/x/liba.so", 0x10000 << p, 0x10000 << p, 0, INT64_MAX);
	begin();
	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t i = 0; i < N; i++) {
			uint32_t outer = random_below(i ? i : 1), inner = random_below(i ? i : 1);
			uint32_t sort = random_below(8), value = random_below(6);
			char own[64];
			const char *before = outer ? text[p][outer - 1] : "";

			if (sort == 0 && outer && inner) {
				snprintf(own, sizeof(own), "{%u}",
					 stack_of(procs[p], 0, inner));
				frame(procs[p], 0, i + 1, outer, TP_FRAME_JOINED, NULL, inner);
			} else if (sort < 4) {
				uint8_t entry = sort == 1 ? TP_FRAME_ENTRY : 0;

				snprintf(own, sizeof(own), "p%u:%u%s", value % 5, value,
					 entry ? "!" : "");
				frame(procs[p], 0, i + 1, outer, TP_FRAME_PYTHON | entry,
				      name[value % 5], value);
			} else {
				snprintf(own, sizeof(own), "n%u", value);
				frame(procs[p], 0, i + 1, outer, 0, NULL,
				      (0x10000 << p) + value * 16);
			}
			text[p][i] = fake_alloc(strlen(before) + strlen(own) + 2);
			sprintf(text[p][i], "%s/%s", before, own);
			number[p][i] = stack_of(procs[p], 0, i + 1);
			cr_assert_neq(number[p][i], 0);
		}
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = 0; k < 2 * N; k++) {
			bool is_same_text = !strcmp(text[0][i], text[k / N][k % N]);

			cr_assert_eq(is_same_text, number[0][i] == number[k / N][k % N],
				     "%s and %s", text[0][i], text[k / N][k % N]);
		}
}

Test(stacks, an_outer_one_that_is_missing_is_shown_as_cut)
{
	struct tp_frame got[2];

	add_module(proc, "/x/liba.so", 0x10000, 0x10000, 0, INT64_MAX);
	begin();
	frame(proc, 0, 2, 1, 0, NULL, 0x10100);
	frame(proc, 0, 3, 0, TP_FRAME_CUT, NULL, 0x10100);
	frame(proc, 0, 4, 0, 0, NULL, 0x10100);
	cr_assert_eq(tp_stacks_frames(stacks, stack_of(proc, 0, 2), got, 2), 1);
	cr_expect_eq(tp_stacks_orphans(stacks), 1);
	cr_expect(got[0].is_cut);
	cr_expect_eq(stack_of(proc, 0, 2), stack_of(proc, 0, 3));
	cr_assert_eq(tp_stacks_frames(stacks, stack_of(proc, 0, 4), got, 2), 1);
	cr_expect_not(got[0].is_cut);
}

/* ---- names ---- */

static int find_self(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct tp_module_at *self = ctx;

	(void)size;
	/* The program itself comes first. */
	self->bias = info->dlpi_addr;
	self->begin = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (uint64_t)at < self->begin)
			self->begin = (uint64_t)at;
		if (ph->p_type == PT_LOAD && (uint64_t)at + ph->p_memsz > self->end)
			self->end = (uint64_t)at + ph->p_memsz;
		for (const char *end = at + ph->p_memsz; ph->p_type == PT_NOTE && at < end;) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			const char *name = at + sizeof(*note);
			const char *bytes = name + (note->n_namesz + 3) / 4 * 4;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4)) {
				self->build_id = (const uint8_t *)bytes;
				self->build_id_bytes = note->n_descsz;
			}
			at = bytes + (note->n_descsz + 3) / 4 * 4;
		}
	}
	return 1;
}

static char own_path[PATH_MAX];

/* This program is the only module; a path that begins with "python" makes it the interpreter. */
static void begin_with_self(void)
{
	struct tp_module_at *self = fake_alloc(sizeof(*self));

	dl_iterate_phdr(find_self, self);
	cr_assert_gt(readlink("/proc/self/exe", own_path, sizeof(own_path) - 1), 0);
	self->path = own_path;
	self->to_ns = INT64_MAX;
	proc->module = self;
	proc->n_modules = 1;
	begin();
}

/* Within the function: a return address. */
static uint64_t inside(int (*function)(int))
{
	return (uint64_t)function + 2;
}

static uint32_t n_numbers;

/* A stack of native frames, outermost first: 'i' inner, 'o' outer, 'e' the evaluation, 'u' unknown,
 * '~' before them all: cut; then Python's, outermost first: a capital letter is called from native
 * code. */
static uint32_t make(const char *native, const char *python_frames)
{
	uint32_t outer = 0, of_python = 0;
	bool is_cut = *native == '~';

	native += is_cut;
	for (const char *c = native; *c; c++) {
		uint64_t at = *c == 'i'	  ? inside(code_inner)
			      : *c == 'o' ? inside(code_outer)
			      : *c == 'e' ? inside(_PyEval_EvalFrameDefault)
					  : 0x10;

		frame(proc, 0, ++n_numbers, outer, is_cut && !outer ? TP_FRAME_CUT : 0, NULL, at);
		outer = n_numbers;
	}
	for (const char *c = python_frames; *c; c++) {
		char name[2] = {*c, 0};
		uint8_t entry = *c < 'a' ? TP_FRAME_ENTRY : 0;

		frame(proc, 0, ++n_numbers, of_python, TP_FRAME_PYTHON | entry,
		      python(name, "/y/train.py"), (uint64_t)*c);
		of_python = n_numbers;
	}
	if (of_python) {
		frame(proc, 0, ++n_numbers, outer, TP_FRAME_JOINED, NULL, of_python);
		outer = n_numbers;
	}
	return stack_of(proc, 0, outer);
}

/* Innermost first, a character each. */
static const char *show(uint32_t stack)
{
	static char shown[64];
	struct tp_frame got[64];
	uint32_t n, n_shown = 0;

	cr_assert_eq(tp_stacks_resolve(stacks, NULL), 0);
	n = tp_stacks_frames(stacks, stack, got, 64);
	cr_assert_lt(n, 64);
	for (uint32_t i = 0; i < n; i++)
		shown[n_shown++] = got[i].is_python				? got[i].function[0]
				   : !strcmp(got[i].function, "code_inner")	? 'i'
				   : !strcmp(got[i].function, "code_outer")	? 'o'
				   : !strncmp(got[i].function, "_PyEval_E", 9) ? 'e'
									       : 'u';
	shown[n_shown] = 0;
	return shown;
}

Test(stacks, python_stands_where_the_interpreter_does)
{
	static const struct {
		const char *native, *python, *wanted;
	} cases[] = {
		{"oeoei", "AbcDe", "ieDocbAo"},
		{"oei", "Abc", "icbAo"},
		{"oeoe", "AB", "BoAo"},
		/* One evaluation more than Python knows of: it had no frame yet. */
		{"oeoei", "A", "ieoAo"},
		/* Python knows of more than there is: all of them stand inside the last one. */
		{"oei", "ABC", "iCBAo"},
		/* From the inner end when what is outside is not known. */
		{"~oeoei", "A", "iAoeo"},
		{"~oei", "ABC", "iCoBA"},
		/* No evaluation at all: Python behind the native code. */
		{"oi", "AB", "ioBA"},
		{"ui", "A", "iuA"},
		{"oei", "", "ieo"},
		/* Its outermost frame was not called from native code: cut. */
		{"oeoei", "ab", "ibaoeo"},
	};

	begin_with_self();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t stack = make(cases[i].native, cases[i].python);

		cr_expect_str_eq(show(stack), cases[i].wanted, "%s with %s: %s, not %s",
				 cases[i].native, cases[i].python, show(stack), cases[i].wanted);
	}
}

Test(stacks, frames_tell_all_that_is_known)
{
	struct tp_frame got[4];
	uint32_t stack;

	begin_with_self();
	stack = make("oei", "Ab");
	cr_assert_eq(tp_stacks_resolve(stacks, NULL), 0);
	cr_assert_eq(tp_stacks_frames(stacks, stack, NULL, 0), 4);
	cr_assert_eq(tp_stacks_frames(stacks, stack, got, 4), 4);
	cr_expect_str_eq(got[0].function, "code_inner");
	cr_expect_str_eq(got[0].module, own_path);
	cr_expect_eq(got[0].offset, inside(code_inner) - proc->module[0].bias);
	cr_expect(strstr(got[0].file, "stacks.c"), "%s", got[0].file);
	cr_expect_gt(got[0].line, 20);
	cr_expect_str_eq(got[1].function, "b");
	cr_expect_str_eq(got[1].file, "/y/train.py");
	cr_expect_eq(got[1].line, 'b');
	cr_expect(got[1].is_python);
	cr_expect_str_eq(got[3].function, "code_outer");
	cr_expect_neq(got[0].function_id, got[3].function_id);
	cr_expect_neq(got[1].function_id, got[2].function_id);
	cr_expect_str_eq(tp_stacks_trouble(stacks, 0), "");
}

Test(stacks, names_that_cannot_be_had_are_explained)
{
	struct tp_frame got[2];

	add_module(proc, "/nowhere/liba.so", 0x10000, 0x10000, 0, INT64_MAX);
	begin();
	frame(proc, 0, 1, 0, 0, NULL, 0x10100);
	cr_assert_eq(tp_stacks_resolve(stacks, NULL), 0);
	cr_assert_eq(tp_stacks_frames(stacks, stack_of(proc, 0, 1), got, 2), 1);
	cr_expect_str_eq(got[0].function, "");
	cr_expect(strstr(tp_stacks_trouble(stacks, 0), "'/nowhere/liba.so': "), "%s",
		  tp_stacks_trouble(stacks, 0));
	cr_expect_str_eq(tp_stacks_trouble(stacks, 1), "");
}

/* An interpreter without symbols: Python stands inside it. */
Test(stacks, python_without_names_of_the_interpreter)
{
	struct tp_frame got[4];

	add_module(proc, "/nowhere/libpython3.11.so.1.0", 0x10000, 0x10000, 0, INT64_MAX);
	add_module(proc, "/nowhere/libwork.so", 0x20000, 0x20000, 0, INT64_MAX);
	begin();
	frame(proc, 0, 1, 0, 0, NULL, 0x10100);
	frame(proc, 0, 2, 1, 0, NULL, 0x10200);
	frame(proc, 0, 3, 2, 0, NULL, 0x20300);
	frame(proc, 0, 4, 0, TP_FRAME_PYTHON | TP_FRAME_ENTRY, python("f", "a.py"), 7);
	frame(proc, 0, 5, 3, TP_FRAME_JOINED, NULL, 4);
	cr_assert_eq(tp_stacks_resolve(stacks, NULL), 0);
	cr_assert_eq(tp_stacks_frames(stacks, stack_of(proc, 0, 5), got, 4), 4);
	cr_expect_eq(got[0].offset, 0x300);
	cr_expect_str_eq(got[1].function, "f");
	cr_expect_eq(got[2].offset, 0x200);
	cr_expect_eq(got[3].offset, 0x100);
}

/* Only what is asked for is named, and more may be asked for later. */
Test(stacks, can_be_asked_again)
{
	uint32_t first, second;
	uint8_t *wanted;
	struct tp_frame got[2];

	begin_with_self();
	frame(proc, 0, 1, 0, 0, NULL, inside(code_inner));
	frame(proc, 0, 2, 0, 0, NULL, inside(code_outer));
	first = stack_of(proc, 0, 1);
	second = stack_of(proc, 0, 2);
	wanted = fake_alloc(tp_stacks_count(stacks));
	wanted[first] = 1;
	cr_assert_eq(tp_stacks_resolve(stacks, wanted), 0);
	tp_stacks_frames(stacks, second, got, 2);
	cr_expect_str_eq(got[0].function, "");
	wanted[second] = 1;
	cr_assert_eq(tp_stacks_resolve(stacks, wanted), 0);
	tp_stacks_frames(stacks, first, got, 2);
	cr_expect_str_eq(got[0].function, "code_inner");
	tp_stacks_frames(stacks, second, got, 2);
	cr_expect_str_eq(got[0].function, "code_outer");
}

Test(stacks, numbers_that_cannot_be)
{
	begin();
	frame(proc, 0, 0, 0, 0, NULL, 1);
	frame(proc, 0, UINT32_MAX, UINT32_MAX, 0xff, NULL, UINT64_MAX);
	frame(proc, 7, 1, 1, TP_FRAME_JOINED, NULL, 1);
	frame(proc, 7, 2, 1, TP_FRAME_PYTHON, python("", ""), UINT64_MAX);
	frame(proc, 5, 3, 2, 0, NULL, 5);
	cr_expect_eq(stack_of(proc, 5, 3), 0, "a window that is over");
	cr_assert_eq(tp_stacks_resolve(stacks, NULL), 0);
	for (uint32_t i = 0; i < tp_stacks_count(stacks) + 3; i++) {
		struct tp_frame got[4];

		tp_stacks_frames(stacks, i, got, 4);
	}
}
