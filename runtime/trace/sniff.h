/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sniff.h - what a file that is no trace looks like, for messages to people
 */
#ifndef TP_TRACE_SNIFF_H
#define TP_TRACE_SNIFF_H

#include <stddef.h>

/* From the first n bytes of a file (128 are enough). Pure; a constant string: "JSON". */
const char *tp_sniff(const void *bytes, size_t n);

#endif
