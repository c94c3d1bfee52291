/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_maps.h - what a process has mapped, by address and kind
 *
 * Ranges in order of address; a part of one can go, and what is mapped over another replaces it.
 * Zeroed is empty. Linux gives a process 65,530 mappings: as many ranges are kept.
 */
#ifndef TP_MERGE_HOSTMEM_MAPS_H
#define TP_MERGE_HOSTMEM_MAPS_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_HOSTMEM_RANGES_MAX = 1 << 16 };

struct tp_hostmem_range {
	uint64_t begin, end;
	uint8_t kind;		/* enum tp_mapping_kind */
};

struct tp_hostmem_maps {
	struct tp_hostmem_range *range;
	uint32_t n, cap;
};

/* Takes [begin, end) out; adds the bytes that were there to removed[kind], TP_MAPPING_N of them.
 * False: out of memory, or too many ranges. */
bool tp_hostmem_unmap(struct tp_hostmem_maps *maps, uint64_t begin, uint64_t end,
		      uint64_t *removed);
/* The same, and puts it there as `kind`. */
bool tp_hostmem_map(struct tp_hostmem_maps *maps, uint64_t begin, uint64_t end, uint8_t kind,
		    uint64_t *removed);
void tp_hostmem_maps_free(struct tp_hostmem_maps *maps);

#endif
