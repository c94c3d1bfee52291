/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_live.c - how much device memory is alive, by device, kind and who asked for it
 */
#include "runtime/probe/devmem/devmem_live.h"

#include <string.h>

#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/devmem/owner_objects.h"

enum { PLACES = TP_DEVMEM_CELLS * 2 };

struct tp_devmem_cell tp_devmem_cell[TP_DEVMEM_CELLS];

static struct {
	uint32_t n;			/* atomic */
	uint16_t place[PLACES];		/* hash of what and owner: cell, 0: empty */
	struct {
		uint64_t live, peak;	/* atomic */
		bool is_seen;		/* atomic */
	} device[TP_DEVMEM_DEVICES];
} live;

/* The cell of those for which there is no room. */
static const struct tp_devmem_what other = { .device = UINT32_MAX, .kind = TP_DEVMEM_DEVICE };

uint32_t tp_devmem_n_cells(void)
{
	return __atomic_load_n(&live.n, __ATOMIC_ACQUIRE);
}

static uint32_t hash_cell(const struct tp_devmem_what *what, uint16_t owner)
{
	uint64_t h = (uint64_t)what->device << 32 | (uint64_t)what->kind << 24 |
		     (uint64_t)what->is_async << 16 | owner;

	h = (h ^ what->pool * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 32);
}

static uint16_t find_line(const struct tp_devmem_what *what, uint16_t owner, uint16_t otherwise)
{
	for (uint16_t i = 1; i < live.n; i++)
		if (tp_devmem_cell[i].what.device == what->device &&
		    tp_devmem_cell[i].what.kind == what->kind && tp_devmem_cell[i].owner == owner)
			return i;
	return otherwise;
}

uint16_t tp_devmem_cell_of(const struct tp_devmem_what *what, uint16_t owner)
{
	uint32_t at;
	uint16_t i;

	if (!live.n) {
		tp_devmem_cell[0].what = other;
		__atomic_store_n(&live.n, 1, __ATOMIC_RELEASE);
	}
	for (at = hash_cell(what, owner);; at++) {
		i = live.place[at % PLACES];
		if (!i)
			break;
		if (!memcmp(&tp_devmem_cell[i].what, what, sizeof(*what)) &&
		    tp_devmem_cell[i].owner == owner)
			return i;
	}
	if (live.n == TP_DEVMEM_CELLS)
		return 0;
	i = (uint16_t)live.n;
	tp_devmem_cell[i].what = *what;
	tp_devmem_cell[i].owner = owner;
	tp_devmem_cell[i].line = find_line(what, owner, i);
	live.place[at % PLACES] = i;
	/* Release: who reads the number may read all of the cell. */
	__atomic_store_n(&live.n, live.n + 1u, __ATOMIC_RELEASE);
	return i;
}

bool tp_devmem_is_on_device(uint8_t kind)
{
	return kind == TP_DEVMEM_DEVICE || kind == TP_DEVMEM_POOL || kind == TP_DEVMEM_MANAGED ||
	       kind == TP_DEVMEM_PHYSICAL || kind == TP_DEVMEM_ARRAY || kind == TP_DEVMEM_GRAPH;
}

/* Release, and acquire where they are read: see tp_devmem_read_begin. */
static void add(uint64_t *now, uint64_t *peak, int64_t bytes)
{
	uint64_t sum = *now + (uint64_t)bytes;

	__atomic_store_n(now, sum, __ATOMIC_RELEASE);
	if (bytes > 0 && sum > *peak)
		__atomic_store_n(peak, sum, __ATOMIC_RELEASE);
}

void tp_devmem_add(uint16_t at, int64_t bytes)
{
	struct tp_devmem_cell *cell = &tp_devmem_cell[at];
	uint32_t device = cell->what.device;

	add(&cell->live, &cell->peak, bytes);
	if (device >= TP_DEVMEM_DEVICES || !tp_devmem_is_on_device(cell->what.kind))
		return;
	add(&live.device[device].live, &live.device[device].peak, bytes);
	__atomic_store_n(&live.device[device].is_seen, true, __ATOMIC_RELAXED);
}

uint32_t tp_devmem_cell_name(uint16_t at)
{
	struct tp_devmem_cell *cell = &tp_devmem_cell[at];
	uint64_t name = __atomic_load_n(&cell->name, __ATOMIC_RELAXED);
	char bytes[sizeof(cell->what) + 512];
	const char *path;
	size_t n;

	if ((uint32_t)name && name >> 32 == tp_ring.generation)
		return (uint32_t)name;
	path = tp_owner_path(cell->owner);
	n = strnlen(path, 512);
	memcpy(bytes, &cell->what, sizeof(cell->what));
	memcpy(bytes + sizeof(cell->what), path, n);
	name = tp_intern(TP_STRING_DEVMEM, bytes, (uint32_t)(sizeof(cell->what) + n));
	__atomic_store_n(&cell->name, (uint64_t)tp_ring.generation << 32 | name, __ATOMIC_RELAXED);
	return (uint32_t)name;
}

bool tp_devmem_sum(uint32_t device, uint64_t *now, uint64_t *peak)
{
	if (device >= TP_DEVMEM_DEVICES ||
	    !__atomic_load_n(&live.device[device].is_seen, __ATOMIC_RELAXED))
		return false;
	*now = __atomic_load_n(&live.device[device].live, __ATOMIC_ACQUIRE);
	*peak = __atomic_load_n(&live.device[device].peak, __ATOMIC_ACQUIRE);
	return true;
}

void tp_devmem_live_forked(void)
{
	memset(tp_devmem_cell, 0, sizeof(tp_devmem_cell));
	memset(&live, 0, sizeof(live));
}
