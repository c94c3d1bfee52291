/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - names of C++ and Rust functions as people write them: "_Z3foov" -> "foo()"
 *
 * As torch.profiler writes the names of kernels, which its readers match. Threads: any.
 */
#ifndef TP_MERGE_DEMANGLE_H
#define TP_MERGE_DEMANGLE_H

#include <stdint.h>

enum {
	TP_DEMANGLE_FROM = 8192, /* longer ones stay as they are */
	TP_DEMANGLE_TO = 65536,
};

/* The readable name of n bytes into `text`, returned, and its length. NULL: it is not mangled, or
 * not rightly, or too long. */
const char *tp_demangle(const char *bytes, uint32_t n, char text[TP_DEMANGLE_TO],
			uint32_t *n_readable);
/* Of a readable one of *n bytes what tells functions apart, without "void " and its parameters, and in *n
 * how many bytes that is. */
const char *tp_short_function(const char *bytes, uint32_t *n);

#endif
