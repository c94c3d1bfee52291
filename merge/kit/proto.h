/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h - protobuf, the few parts that a trace needs, written at a pointer
 *
 * The caller has made room. A nested message's length is put in front when its end is known;
 * it takes TP_PROTO_LENGTH bytes whatever it is (a varint may be padded), so nothing moves.
 */
#ifndef TP_MERGE_PROTO_H
#define TP_MERGE_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/varint.h"

enum {
	TP_PROTO_LENGTH = 3,
	TP_PROTO_MESSAGE_MAX = (1 << 7 * TP_PROTO_LENGTH) - 1,
};

static inline char *tp_proto_varint(char *p, uint64_t v)
{
	return (char *)tp_varint_put((uint8_t *)p, v);
}

static inline char *tp_proto_uint(char *p, uint32_t field, uint64_t v)
{
	return tp_proto_varint(tp_proto_varint(p, field << 3), v);
}

static inline char *tp_proto_int(char *p, uint32_t field, int64_t v)
{
	return tp_proto_uint(p, field, (uint64_t)v);
}

static inline char *tp_proto_fixed64(char *p, uint32_t field, uint64_t v)
{
	p = tp_proto_varint(p, field << 3 | 1);
	memcpy(p, &v, 8);
	return p + 8;
}

static inline char *tp_proto_bytes(char *p, uint32_t field, const void *bytes, size_t n)
{
	p = tp_proto_varint(tp_proto_varint(p, field << 3 | 2), n);
	memcpy(p, bytes, n);
	return p + n;
}

/* *at remembers the place of the length for tp_proto_end. */
static inline char *tp_proto_begin(char *p, uint32_t field, char **at)
{
	p = tp_proto_varint(p, field << 3 | 2);
	*at = p;
	return p + TP_PROTO_LENGTH;
}

static inline void tp_proto_end(char *p, char *at)
{
	uint32_t n = (uint32_t)(p - at) - TP_PROTO_LENGTH;

	at[0] = (char)(n | 0x80);
	at[1] = (char)(n >> 7 | 0x80);
	at[2] = (char)(n >> 14 & 0x7f);
}

/* A string field: bad UTF-8 becomes U+FFFD (at most 3 * n bytes). */
char *tp_proto_text(char *p, uint32_t field, const char *bytes, size_t n);

#endif
