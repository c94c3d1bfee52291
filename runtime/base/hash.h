/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - the 64-bit hashes of in-memory tables (in no file that is read again)
 */
#ifndef TP_BASE_HASH_H
#define TP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tp_hash_mix(uint64_t h)
{
	/* The finaliser of MurmurHash3 (Austin Appleby, public domain). */
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ull;
	h ^= h >> 33;
	return h;
}

/* Never 0, so that 0 can mean an empty table slot. */
static inline uint64_t tp_hash_bytes(const void *bytes, size_t n, uint64_t seed)
{
	const char *p = bytes;
	uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull);
	uint64_t word;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, p, n);
	h = (h ^ word) * 0xff51afd7ed558ccdull;
	h ^= h >> 29;
	return h | 1;
}

#endif
