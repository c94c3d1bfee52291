/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - names of C++ and Rust functions as people write them, by libiberty
 *
 * Names come from files: a short one can stand for a text without end, so the way out is
 * taken from inside the printing (which holds no memory but its stack).
 */
#include "merge/kit/demangle.h"

#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include <libiberty/demangle.h>

struct printed {
	jmp_buf enough;
	uint32_t n;
	char *text;
};

static void take(const char *piece, size_t n, void *opaque)
{
	struct printed *printed = opaque;

	if (n >= TP_DEMANGLE_TO - printed->n)
		longjmp(printed->enough, 1);
	if (n)
		memcpy(printed->text + printed->n, piece, n);
	printed->n += (uint32_t)n;
	printed->text[printed->n] = 0;
}

const char *tp_demangle(const char *bytes, uint32_t n, char text[TP_DEMANGLE_TO],
			uint32_t *n_readable)
{
	struct printed printed = {.text = text};
	char name[TP_DEMANGLE_FROM];

	if (n < 3 || n >= sizeof(name) || bytes[0] != '_' || (bytes[1] != 'Z' && bytes[1] != 'R'))
		return NULL;
	memcpy(name, bytes, n);
	name[n] = 0;
	/* libiberty's own limit refuses names of over 1024 bytes, which CUTLASS's kernels have;
	 * ours bounds its stack as well. */
	if (setjmp(printed.enough))
		return NULL;
	/* Older Rust looks like C++ with a hash at the end. A name that is not Rust's after all
	 * may have been printed in part. */
	if (!rust_demangle_callback(name, DMGL_PARAMS, take, &printed)) {
		printed.n = 0;
		if (!cplus_demangle_v3_callback(
			    name, DMGL_PARAMS | DMGL_TYPES | DMGL_NO_RECURSE_LIMIT, take, &printed))
			return NULL;
	}
	if (!printed.n)
		return NULL;
	*n_readable = printed.n;
	return text;
}

/* Where the list of parameters at the end begins; n: none. */
static uint32_t find_parameters(const char *name, uint32_t n)
{
	uint32_t depth = 0;

	if (!n || name[n - 1] != ')')
		return n;
	for (uint32_t i = n; i-- > 0;) {
		depth += name[i] == ')';
		depth -= name[i] == '(';
		if (!depth)
			return i;
	}
	return n;
}

const char *tp_short_function(const char *bytes, uint32_t *n)
{
	uint32_t end;

	if (*n > 5 && !memcmp(bytes, "void ", 5)) {
		bytes += 5;
		*n -= 5;
	}
	end = find_parameters(bytes, *n);
	if (end)
		*n = end;
	return bytes;
}
