/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_frames.c - which frame of a stack tells a reader most, and how frames are shown
 */
#include "merge/facts/origin/hostmem_frames.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/own_python.h"
#include "merge/kit/show.h"
#include "runtime/base/text.h"

enum { FUNCTION_MAX = 4096 };

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_own_python(const struct tp_frame *frame)
{
	return frame->is_python && tp_own_python(frame->file);
}

/* Code that hands out memory for others: who called it is meant. */
static bool is_allocator(const struct tp_frame *frame)
{
	static const char *const functions[] = {
		"operator new", "std::", "__gnu_cxx::", "c10::alloc_cpu", "c10::DefaultCPU",
		"PyMem_", "_PyMem_", "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc",
		"_PyObject_Malloc", "_PyObject_Calloc", "_PyObject_Realloc", "_PyObject_GC_",
		"_PyObject_New", "PyType_GenericAlloc", "_PyType_AllocNoTrack", "pymalloc_",
		"new_arena", "xmalloc", "xrealloc", "xcalloc", "g_malloc", "malloc", "calloc",
		"realloc", "posix_memalign", "aligned_alloc", "memalign", "__libc_", "_int_",
		"strdup", "__strdup",
	};
	static const char *const modules[] = {
		"libc.so", "libc-2", "libstdc++", "libtrainprof", "ld-linux", "libjemalloc",
		"libtcmalloc",
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (begins(frame->function, functions[i]))
			return true;
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (begins(tp_show_base(frame->module), modules[i]))
			return true;
	return false;
}

/* Through which PyTorch's functions get their tensors: every one of them would be named. */
static bool is_plumbing(const struct tp_frame *frame)
{
	static const char *const functions[] = {
		"c10::", "at::detail::", "at::empty", "at::native::empty", "at::_ops::empty",
		"at::(anonymous namespace)::", "at::TensorIteratorBase::",
		"at::native::resize_", "at::native::(anonymous namespace)::create_out",
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (begins(frame->function, functions[i]))
			return true;
	/* Templates: what they return stands before their names. */
	return has(frame->function, "c10::Dispatcher::");
}

/* ---- places ---- */

enum { INLINED_MAX = 64 };	/* frames of a place that are looked at */

/* Of a place: the first frame of each sort, plus one; 0: it has none. */
struct sorts {
	uint8_t own, python, native, asking;
	bool is_known;
};

static struct sorts sort_frames(const struct tp_frame *frame, uint32_t n)
{
	struct sorts sorts = {.is_known = true};

	for (uint32_t i = n; i-- > 0;) {
		uint8_t at = (uint8_t)(i + 1);

		if (frame[i].is_python) {
			sorts.python = at;
			if (is_own_python(&frame[i]))
				sorts.own = at;
			continue;
		}
		if (is_allocator(&frame[i]) || (!frame[i].function[0] && !frame[i].module[0]))
			continue;
		sorts.native = at;
		if (!is_plumbing(&frame[i]))
			sorts.asking = at;
	}
	return sorts;
}

/* ---- all stacks ---- */

/* The stacks whose innermost place has the frame that is looked for; 0: none. */
struct chosen {
	uint32_t own, python, native, asking;
};

struct tp_hostmem_choice {
	const struct tp_stacks *stacks;
	struct sorts *sorts;		/* by place */
	struct chosen *chosen;		/* by stack */
};

static const struct sorts *sorts_of(struct tp_hostmem_choice *choice, uint32_t stack)
{
	struct sorts *sorts = &choice->sorts[tp_stacks_place(choice->stacks, stack)];
	struct tp_frame frame[INLINED_MAX];
	uint32_t n;

	if (!sorts->is_known) {
		n = tp_stacks_innermost(choice->stacks, stack, frame, INLINED_MAX);
		*sorts = sort_frames(frame, n < INLINED_MAX ? n : INLINED_MAX);
	}
	return sorts;
}

static struct chosen choose(struct tp_hostmem_choice *choice, uint32_t stack)
{
	uint32_t native, python, outer;
	const struct sorts *sorts;
	struct chosen chosen;

	if (tp_stacks_joined(choice->stacks, stack, &native, &python)) {
		chosen = choice->chosen[native];
		chosen.own = choice->chosen[python].own;
		chosen.python = choice->chosen[python].python;
		return chosen;
	}
	outer = tp_stacks_outer(choice->stacks, stack);
	sorts = sorts_of(choice, stack);
	chosen = choice->chosen[outer];
	if (sorts->own)
		chosen.own = stack;
	if (sorts->python)
		chosen.python = stack;
	if (sorts->native)
		chosen.native = stack;
	/* What stands outside Python did not ask. */
	if (outer && tp_stacks_is_eval(choice->stacks, outer))
		chosen.asking = 0;
	if (sorts->asking)
		chosen.asking = stack;
	else if (!chosen.asking && sorts->native)
		chosen.asking = stack;
	return chosen;
}

struct tp_hostmem_choice *tp_hostmem_choice_new(const struct tp_stacks *stacks)
{
	struct tp_hostmem_choice *choice = calloc(1, sizeof(*choice));

	if (!choice)
		return NULL;
	choice->stacks = stacks;
	choice->sorts = calloc(tp_stacks_places(stacks) + 1, sizeof(*choice->sorts));
	choice->chosen = calloc(tp_stacks_count(stacks) + 1, sizeof(*choice->chosen));
	if (!choice->sorts || !choice->chosen) {
		tp_hostmem_choice_free(choice);
		return NULL;
	}
	for (uint32_t stack = 1; stack < tp_stacks_count(stacks); stack++)
		choice->chosen[stack] = choose(choice, stack);
	return choice;
}

void tp_hostmem_choice_free(struct tp_hostmem_choice *choice)
{
	if (!choice)
		return;
	free(choice->sorts);
	free(choice->chosen);
	free(choice);
}

/* The innermost native frame, whatever it is. */
static uint32_t any_native(const struct tp_stacks *stacks, uint32_t stack)
{
	uint32_t native, python;

	return tp_stacks_joined(stacks, stack, &native, &python) ? native : stack;
}

bool tp_hostmem_choose(const struct tp_hostmem_choice *choice, uint32_t stack,
		       enum tp_hostmem_frame which, struct tp_frame *frame)
{
	const struct chosen *chosen = &choice->chosen[stack];
	struct tp_frame all[INLINED_MAX];
	const struct sorts *sorts;
	uint32_t n, at = 0, of;

	if (!stack)
		return false;
	of = which == TP_HOSTMEM_PYTHON	  ? chosen->python
	     : which == TP_HOSTMEM_NATIVE ? chosen->native
	     : which == TP_HOSTMEM_ASKING ? chosen->asking
	     : chosen->own		  ? chosen->own
	     : chosen->python		  ? chosen->python
					  : chosen->native;
	if (!of && which == TP_HOSTMEM_PYTHON)
		return false;
	if (!of)
		of = any_native(choice->stacks, stack);
	n = tp_stacks_innermost(choice->stacks, of, all, INLINED_MAX);
	n = n < INLINED_MAX ? n : INLINED_MAX;
	sorts = &choice->sorts[tp_stacks_place(choice->stacks, of)];
	if (which == TP_HOSTMEM_ASKING && sorts->asking)
		at = sorts->asking - 1u;
	else if (sorts->native)
		at = sorts->native - 1u;
	if (!n || at >= n ||
	    (all[at].is_python && (which == TP_HOSTMEM_NATIVE || which == TP_HOSTMEM_ASKING)))
		return false;
	*frame = all[at];
	return true;
}

uint32_t tp_hostmem_native_frame(const struct tp_frame *frame, uint32_t n)
{
	uint32_t any = n;

	for (uint32_t i = 0; i < n; i++) {
		if (sort_frames(&frame[i], 1).native)
			return i;
		if (any == n && !frame[i].is_python)
			any = i;
	}
	return any;
}

uint32_t tp_hostmem_telling_frame(const struct tp_frame *frame, uint32_t n)
{
	uint32_t python = n;

	for (uint32_t i = 0; i < n; i++) {
		if (is_own_python(&frame[i]))
			return i;
		if (python == n && frame[i].is_python)
			python = i;
	}
	return python < n ? python : tp_hostmem_native_frame(frame, n);
}

bool tp_hostmem_is_glue(const struct tp_frame *frame)
{
	const char *name = tp_show_base(frame->module);

	return !frame->is_python && (begins(name, "libpython") || begins(name, "python"));
}

/* ---- for people ---- */

/* Behind the bracket that closes the one at `at`, or the end. */
static const char *skip_brackets(const char *at, char open, char close)
{
	uint32_t depth = 0;

	for (; *at; at++) {
		depth += *at == open;
		depth -= *at == close && at[-1] != '-';
		if (!depth)
			return at + 1;
	}
	return at;
}

/* Behind what a C++ function returns: its own name has no blank but that of an operator. */
static const char *skip_result(const char *name)
{
	for (const char *at = strchr(name, ' '); at; at = strchr(at + 1, ' '))
		if (at - name < 8 || memcmp(at - 8, "operator", 8) != 0)
			name = at + 1;
	return name;
}

/* A C++ function without what it returns, its parameters and what its templates are made of. */
static void put_function(struct tp_text *out, const char *name)
{
	static const char nameless[] = "(anonymous namespace)", op[] = "operator";
	char buf[FUNCTION_MAX];
	struct tp_text shown;

	tp_text_init(&shown, buf, sizeof(buf));
	for (const char *at = name, *next; *at; at = next) {
		next = at + 1;
		if (begins(at, op)) {
			next = at + sizeof(op) - 1;
			next += strspn(next, "<>-+=!*/%&|^~[]");
			next += begins(next, "()") ? 2 : 0;
			tp_text_bytes(&shown, at, (size_t)(next - at));
			next += begins(next, " <");
		} else if (begins(at, nameless)) {
			next = at + sizeof(nameless) - 1;
			tp_text_str(&shown, "(anon)");
		} else if (*at == '(' && at != name) {
			next = skip_brackets(at, '(', ')');
			next += begins(next, " const") ? 6 : 0;
			if (*next)
				tp_text_str(&shown, "()");
		} else if (*at == '<') {
			next = skip_brackets(at, '<', '>');
			tp_text_str(&shown, "<>");
		} else {
			tp_text_char(&shown, *at);
		}
	}
	tp_text_str(out, skip_result(buf));
}

/* "libtorch_cpu": without folder, ending and version. */
static void put_module(struct tp_text *out, const char *path)
{
	const char *name = tp_show_base(path), *end = strstr(name, ".so");

	tp_text_bytes(out, name, end && end != name ? (size_t)(end - name) : strlen(name));
}

static void put_native(struct tp_text *out, const struct tp_frame *frame, enum tp_hostmem_show how)
{
	if (!frame->function[0] && !frame->module[0]) {
		tp_text_fmt(out, "0x%lx, in no file of code", (unsigned long)frame->offset);
		return;
	}
	if (!frame->function[0])
		tp_text_fmt(out, "+0x%lx", (unsigned long)frame->offset);
	else if (how == TP_HOSTMEM_WHOLE)
		tp_text_str(out, frame->function);
	else
		put_function(out, frame->function);
	if (how != TP_HOSTMEM_SHORT && frame->file[0] && frame->line)
		tp_text_fmt(out, " %s:%u",
			    how == TP_HOSTMEM_WHOLE ? frame->file : tp_show_base(frame->file),
			    frame->line);
	if (how == TP_HOSTMEM_LONG && frame->is_inlined) {
		tp_text_str(out, " (inlined)");
	} else if (how == TP_HOSTMEM_SHORT) {
		tp_text_str(out, " (");
		put_module(out, frame->module);
		tp_text_char(out, ')');
	} else {
		tp_text_fmt(out, " (%s)",
			    how == TP_HOSTMEM_WHOLE ? frame->module : tp_show_base(frame->module));
	}
}

/* Behind the folder that installed packages are in, or Python's own modules. */
static const char *in_package(const char *file)
{
	static const char library[] = "/lib/python3.";
	const char *package = tp_own_python_package(file), *its, *end;

	if (package)
		return package;
	its = strstr(file, library);
	end = its ? strchr(its + strlen(library), '/') : NULL;
	return end && end[1] ? end + 1 : file;
}

const char *tp_hostmem_show_frame(char *buf, uint32_t cap, const struct tp_frame *frame,
				  enum tp_hostmem_show how)
{
	struct tp_text out;

	tp_text_init(&out, buf, cap);
	if (!frame->is_python) {
		put_native(&out, frame, how);
		return buf;
	}
	tp_text_str(&out, !frame->file[0]		? "?"
			  : how == TP_HOSTMEM_SHORT	? tp_show_file(frame->file)
			  : how == TP_HOSTMEM_LONG	? in_package(frame->file)
							: frame->file);
	if (frame->line)
		tp_text_fmt(&out, ":%u", frame->line);
	tp_text_fmt(&out, " %s", frame->function[0] ? frame->function : "?");
	return buf;
}

bool tp_hostmem_find_line(const struct tp_stacks *stacks, uint32_t stack, struct tp_frame *line)
{
	enum { FRAMES_MAX = 256 };
	struct tp_frame frame[FRAMES_MAX];
	uint32_t n = stack ? tp_stacks_frames(stacks, stack, frame, FRAMES_MAX) : 0, at;

	n = n > FRAMES_MAX ? FRAMES_MAX : n;
	at = tp_hostmem_telling_frame(frame, n);
	if (at == n || !frame[at].is_python)
		return false;
	*line = frame[at];
	return true;
}

bool tp_hostmem_show_line(const struct tp_stacks *stacks, uint32_t stack,
			  enum tp_hostmem_show how, char *buf, uint32_t cap)
{
	struct tp_frame line;

	buf[0] = '\0';
	if (!tp_hostmem_find_line(stacks, stack, &line))
		return false;
	tp_hostmem_show_frame(buf, cap, &line, how);
	return true;
}
