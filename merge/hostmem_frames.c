/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_frames.c - which frame of a stack tells a reader most, and how frames are shown
 */
#include "merge/hostmem_frames.h"

#include <string.h>

#include "runtime/base/text.h"

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

/* Index of the first of n frames that is the best of its sort; n: none. */
uint32_t tp_hostmem_native_frame(const struct tp_frame *frame, uint32_t n)
{
	uint32_t named = n, any = n;

	for (uint32_t i = 0; i < n; i++) {
		if (frame[i].is_python)
			continue;
		if (!is_allocator(&frame[i]) && (frame[i].function[0] || frame[i].module[0]))
			return i;
		if (named == n && frame[i].function[0])
			named = i;
		if (any == n)
			any = i;
	}
	return named < n ? named : any;
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

/* A C++ function without what it returns, its parameters and what its templates are made of. */
static void put_function(struct tp_text *out, const char *name)
{
	static const char nameless[] = "(anonymous namespace)", op[] = "operator";
	const char *first = begins(name, "void ") ? name + 5 : name;

	for (const char *at = first, *next; *at; at = next) {
		next = at + 1;
		if (begins(at, op)) {
			next = at + sizeof(op) - 1;
			next += strspn(next, "<>-+=!*/%&|^~[]");
			next += begins(next, "()") ? 2 : 0;
			tp_text_bytes(out, at, (size_t)(next - at));
		} else if (begins(at, nameless)) {
			next = at + sizeof(nameless) - 1;
			tp_text_bytes(out, at, (size_t)(next - at));
		} else if (*at == '(' && at != first) {
			next = skip_brackets(at, '(', ')');
			next += begins(next, " const") ? 6 : 0;
			if (*next)
				tp_text_str(out, "()");
		} else if (*at == '<' && at != first) {
			next = skip_brackets(at, '<', '>');
			tp_text_str(out, "<>");
		} else {
			tp_text_char(out, *at);
		}
	}
}

/* "libtorch_cpu": without folder, ending and version. */
static void put_module(struct tp_text *out, const char *path)
{
	const char *name = base_name(path), *end = strstr(name, ".so");

	tp_text_bytes(out, name, end && end != name ? (size_t)(end - name) : strlen(name));
}

static void put_native(struct tp_text *out, const struct tp_frame *frame, bool is_long)
{
	if (!frame->function[0] && !frame->module[0]) {
		tp_text_fmt(out, "0x%lx, in no file of code", (unsigned long)frame->offset);
		return;
	}
	if (frame->function[0])
		put_function(out, frame->function);
	else
		tp_text_fmt(out, "+0x%lx", (unsigned long)frame->offset);
	if (is_long && frame->file[0] && frame->line)
		tp_text_fmt(out, " %s:%u", base_name(frame->file), frame->line);
	if (is_long && frame->is_inlined)
		tp_text_str(out, " (inlined)");
	else if (frame->module[0] && is_long)
		tp_text_fmt(out, " (%s)", base_name(frame->module));
	else if (frame->module[0]) {
		tp_text_str(out, " (");
		put_module(out, frame->module);
		tp_text_char(out, ')');
	}
}

const char *tp_hostmem_show_frame(char *buf, uint32_t cap, const struct tp_frame *frame,
				  bool is_long)
{
	struct tp_text out;

	tp_text_init(&out, buf, cap);
	if (!frame->is_python) {
		put_native(&out, frame, is_long);
		return buf;
	}
	tp_text_str(&out, !frame->file[0] ? "?" : is_long ? frame->file : base_name(frame->file));
	if (frame->line)
		tp_text_fmt(&out, ":%u", frame->line);
	tp_text_fmt(&out, " %s", frame->function[0] ? frame->function : "?");
	return buf;
}
