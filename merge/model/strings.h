/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strings.h - all strings of a run, equal ones kept once, and each process's ids of them
 *
 * Memory is bounded by the distinct strings of the run. A string never moves or goes away
 * before tp_strings_free. One thread.
 */
#ifndef TP_MERGE_STRINGS_H
#define TP_MERGE_STRINGS_H

#include "merge/model/model.h"

struct tp_strings {
	struct tp_string **slot;	/* open addressing by hash; power of two */
	uint32_t n_slots, n_strings;	/* n_strings counts `none` too */
	struct tp_string none;		/* kind 0, same 0: what an unknown id means */
	char *room;			/* bump allocation, chunk after chunk */
	size_t room_left;
	void **chunk;
	uint32_t n_chunks;
	uint64_t n_bytes;		/* that they take, all in all */
};

int tp_strings_init(struct tp_strings *strings);
void tp_strings_free(struct tp_strings *strings);
/* The one string of that kind and bytes. NULL: out of memory. */
const struct tp_string *tp_strings_add(struct tp_strings *strings, uint32_t kind,
				       const char *bytes, uint32_t n_bytes);

/* What an event of a TRANSFER, SYNC or LAUNCH string is called, a TEXT, or the readable form of
 * a TEXT that is a C++ function's name; else kind 0. Of a string of such a kind that
 * tp_strings_add returned. */
const struct tp_string *tp_strings_title(const struct tp_string *string);

/* All of them (n_strings), by `same`; the caller frees the list. NULL: out of memory. */
const struct tp_string **tp_strings_list(const struct tp_strings *strings);

/* Ids as one process (all its files and its ring) uses them: a table in two levels. */
enum {
	TP_IDS_PAGE_BITS = 10,
	TP_IDS_PAGE = 1 << TP_IDS_PAGE_BITS,
	TP_IDS_MAX = 1 << 29,		/* 8 bytes each in the writer's table: 4 GiB of names */
};

struct tp_ids {
	const struct tp_string ***page;
	uint32_t n_pages;
	uint64_t n_bytes;		/* of pages */
};

/* 0, -ENOMEM, -ERANGE (an id no writer gives out), -EEXIST (it already means another string). */
int tp_ids_set(struct tp_ids *ids, uint32_t id, const struct tp_string *string);
void tp_ids_free(struct tp_ids *ids);

/* NULL: unknown id. */
static inline const struct tp_string *tp_ids_get(const struct tp_ids *ids, uint32_t id)
{
	uint32_t page = id >> TP_IDS_PAGE_BITS;

	if (__builtin_expect(page >= ids->n_pages || !ids->page[page], 0))
		return NULL;
	return ids->page[page][id & (TP_IDS_PAGE - 1)];
}

#endif
