/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varint.h - numbers in as many bytes as they need: seven bits a byte, the lowest first, the
 * highest bit of all but the last one set (LEB128)
 */
#ifndef TP_BASE_VARINT_H
#define TP_BASE_VARINT_H

#include <stdint.h>

/* Returns the place behind it. */
static inline uint8_t *tp_varint_put(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

/* Returns how many bytes. */
static inline uint32_t tp_varint_bytes(uint8_t *p, uint64_t v)
{
	return (uint32_t)(tp_varint_put(p, v) - p);
}

#endif
