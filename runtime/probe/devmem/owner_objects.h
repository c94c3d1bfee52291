/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner_objects.h - which library is mapped where: a snapshot, for readers that must not wait
 *
 * Taken by tp_owner_refresh; code of libraries that came later is not known, except where the C
 * library tells without a lock (glibc 2.35). No allocation, a short spin lock around names. Threads:
 * any, but for the refresh also inside callbacks of CUDA.
 */
#ifndef TP_PROBE_OWNER_OBJECTS_H
#define TP_PROBE_OWNER_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_OWNER_TRIES = 4 };	/* of a reader that newer snapshots overtake */

enum tp_owner_role {
	TP_OWNER_MAY_ASK,
	TP_OWNER_PASSED_OVER,	/* CUDA's, and ours */
	TP_OWNER_NEVER_ASKS,	/* runtimes of languages: words of them are old ones */
};

struct tp_owner_range {
	uintptr_t begin, end;			/* executable */
	uintptr_t object_begin, object_end;	/* all of its object */
	uint32_t owner;
	uint32_t role;				/* enum tp_owner_role */
	const char *path;			/* of an object that is not in the snapshot */
};

/* Takes the snapshot anew when libraries came or went. Takes the loader's lock: not from a
 * callback. One thread at a time does it, others return at once. */
void tp_owner_refresh(void);

/* Number of the library at that address; 0: not known. */
uint16_t tp_owner_of(const void *address);
/* Its path; "" for 0. The text is for ever. */
const char *tp_owner_path(uint16_t owner);
/* In the child of fork. */
void tp_owner_forked(void);

/* ---- to look up several addresses in one snapshot ---- */

/* Its number; 0: none was taken. */
uint32_t tp_owner_snapshot(void);
/* What was looked up in the snapshot `*number` holds, for no newer one was finished meanwhile;
 * otherwise *number is the newer one. */
bool tp_owner_is_still(uint32_t *number);
/* Libraries came since the snapshot, or the last one of then went: its memory may be anything. */
bool tp_owner_is_out_of_date(void);
/* The range of code that has `address`. is_old: the snapshot has not all there is. */
bool tp_owner_find(uint32_t number, bool is_old, uintptr_t address, struct tp_owner_range *found);
/* The first address of all ranges, and the one behind the last; false: there are none. */
bool tp_owner_bounds(uint32_t number, uintptr_t *least, uintptr_t *most);

#endif
