/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle.h - the files of a run and what is asked of them, as one input of the whole-merge fuzzer
 *
 *	OPTION bytes	the command line: see whole.c
 *	members		kind (1 byte), length (3 bytes, little-endian), that many bytes
 *
 * A ring is megabytes of zeros: its member is the file's length (8 bytes), then pieces:
 * where (4 bytes), length (2 bytes), bytes.
 */
#ifndef TP_TESTS_FUZZ_BUNDLE_H
#define TP_TESTS_FUZZ_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum bundle_kind {
	BUNDLE_TRACE,
	BUNDLE_PART,
	BUNDLE_LEDGER,
	BUNDLE_RING,
	BUNDLE_NODE,
	BUNDLE_KINETO,
	BUNDLE_KINETO_GZ,
	BUNDLE_HANG,
	BUNDLE_OOM,
	BUNDLE_KINDS
};

enum {
	BUNDLE_OPTIONS = 4,
	BUNDLE_MEMBERS = 8,
	BUNDLE_RING_MAX = 2 << 20,	/* bytes of a ring that are written */
};

struct bundle_member {
	uint8_t kind;
	uint8_t *bytes;
	size_t n;
};

struct bundle {
	uint8_t option[BUNDLE_OPTIONS];
	struct bundle_member member[BUNDLE_MEMBERS];
	uint32_t n;
};

/* Members are copies of their exact size: a sanitizer sees a read behind one. */
static inline void bundle_read(struct bundle *bundle, const uint8_t *data, size_t size)
{
	size_t at = size < BUNDLE_OPTIONS ? size : BUNDLE_OPTIONS;

	memset(bundle, 0, sizeof(*bundle));
	memcpy(bundle->option, data, at);
	while (bundle->n < BUNDLE_MEMBERS && size - at > 4) {
		struct bundle_member *member = &bundle->member[bundle->n++];
		size_t n = data[at + 1] | (size_t)data[at + 2] << 8 | (size_t)data[at + 3] << 16;

		member->kind = data[at] % BUNDLE_KINDS;
		at += 4;
		member->n = n < size - at ? n : size - at;
		member->bytes = malloc(member->n + 1);
		memcpy(member->bytes, data + at, member->n);
		at += member->n;
	}
}

/* Bytes written; members that find no room are left out. */
static inline size_t bundle_write(const struct bundle *bundle, uint8_t *data, size_t max)
{
	size_t at = BUNDLE_OPTIONS;

	if (max < at)
		return 0;
	memcpy(data, bundle->option, at);
	for (uint32_t i = 0; i < bundle->n; i++) {
		const struct bundle_member *member = &bundle->member[i];

		if (member->n + 4 > max - at || member->n >> 24)
			continue;
		data[at] = member->kind;
		for (int k = 0; k < 3; k++)
			data[at + 1 + k] = (uint8_t)(member->n >> 8 * k);
		memcpy(data + at + 4, member->bytes, member->n);
		at += 4 + member->n;
	}
	return at;
}

static inline void bundle_free(struct bundle *bundle)
{
	for (uint32_t i = 0; i < bundle->n; i++)
		free(bundle->member[i].bytes);
}

#endif
