/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_frames.c - which frame of a stack tells a reader most, and how frames are shown
 */
#include "merge/hostmem_frames.h"

#include <string.h>

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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Neither the standard library's nor installed: what its user wrote. */
static bool is_own_python(const struct tp_frame *frame)
{
	return frame->is_python && frame->file[0] && frame->file[0] != '<' &&
	       !has(frame->file, "/site-packages/") && !has(frame->file, "/dist-packages/") &&
	       !has(frame->file, "/lib/python3");
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
		if (begins(base_name(frame->module), modules[i]))
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

/* Index of the first of n frames that is the best of its sort; n: none. */
static uint32_t find_native(const struct tp_frame *frame, uint32_t n, bool is_asking)
{
	uint32_t named = n, any = n;

	for (uint32_t i = 0; i < n; i++) {
		if (frame[i].is_python) {
			/* What is outside of it did not ask. */
			if (is_asking && any < n)
				break;
			continue;
		}
		if (any == n)
			any = i;
		if (is_allocator(&frame[i]))
			continue;
		if (named == n && (frame[i].function[0] || frame[i].module[0]))
			named = i;
		if (named < n && (!is_asking || !is_plumbing(&frame[i])))
			return is_asking && frame[i].function[0] ? i : named;
	}
	return named < n ? named : any;
}

uint32_t tp_hostmem_native_frame(const struct tp_frame *frame, uint32_t n)
{
	return find_native(frame, n, false);
}

uint32_t tp_hostmem_asking_frame(const struct tp_frame *frame, uint32_t n)
{
	return find_native(frame, n, true);
}

static uint32_t find_python(const struct tp_frame *frame, uint32_t n, bool is_own)
{
	for (uint32_t i = 0; i < n; i++)
		if (frame[i].is_python && (!is_own || is_own_python(&frame[i])))
			return i;
	return n;
}

uint32_t tp_hostmem_python_frame(const struct tp_frame *frame, uint32_t n)
{
	return find_python(frame, n, false);
}

uint32_t tp_hostmem_telling_frame(const struct tp_frame *frame, uint32_t n)
{
	uint32_t at = find_python(frame, n, true);

	if (at == n)
		at = find_python(frame, n, false);
	return at == n ? tp_hostmem_native_frame(frame, n) : at;
}

bool tp_hostmem_is_glue(const struct tp_frame *frame)
{
	const char *name = base_name(frame->module);

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
	const char *name = base_name(path), *end = strstr(name, ".so");

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
			    how == TP_HOSTMEM_WHOLE ? frame->file : base_name(frame->file),
			    frame->line);
	if (how == TP_HOSTMEM_LONG && frame->is_inlined) {
		tp_text_str(out, " (inlined)");
	} else if (how == TP_HOSTMEM_SHORT) {
		tp_text_str(out, " (");
		put_module(out, frame->module);
		tp_text_char(out, ')');
	} else {
		tp_text_fmt(out, " (%s)",
			    how == TP_HOSTMEM_WHOLE ? frame->module : base_name(frame->module));
	}
}

/* Behind the folder that installed packages are in. */
static const char *in_package(const char *file)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *at = strstr(file, folders[i]);

		if (at)
			return at + strlen(folders[i]);
	}
	return file;
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
			  : how == TP_HOSTMEM_SHORT	? base_name(frame->file)
			  : how == TP_HOSTMEM_LONG	? in_package(frame->file)
							: frame->file);
	if (frame->line)
		tp_text_fmt(&out, ":%u", frame->line);
	tp_text_fmt(&out, " %s", frame->function[0] ? frame->function : "?");
	return buf;
}
