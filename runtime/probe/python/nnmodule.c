/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nnmodule.c - nn.Modules as stacks have them: which frames are their calls, and their numbers
 */
#include "runtime/probe/python/nnmodule.h"

#include <stddef.h>

#include "runtime/base/sync.h"
#include "runtime/probe/python/pyframe_layout.h"

enum {
	TABLE_SIZE = 1 << 14,
	PROBES_MAX = 64,
	TURNS = 1 << 12,	/* of a place; numbers stay below 2^27 (stack_tree.c) */
};

const char *tp_nnmodule_code;

static struct tp_nnmodule table[TABLE_SIZE];
static uint64_t n_lost;		/* atomic */

struct tp_nnmodule *tp_nnmodule_find(const char *module)
{
	uint32_t at = (uint32_t)(((uintptr_t)module >> 4) * 0x9e3779b97f4a7c15ull >> 50);

	for (uint32_t i = 0; i < PROBES_MAX; i++, at++) {
		struct tp_nnmodule *place = &table[at % TABLE_SIZE];
		const char *found = __atomic_load_n(&place->module, __ATOMIC_RELAXED);

		if (tp_likely(found == module))
			return place;
		if (!found && (__atomic_compare_exchange_n(&place->module, &found, module, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			       found == module))
			return place;
	}
	__atomic_fetch_add(&n_lost, 1, __ATOMIC_RELAXED);
	return NULL;
}

uint32_t tp_nnmodule_number_of(const struct tp_nnmodule *place)
{
	uint32_t turn = __atomic_load_n(&place->turn, __ATOMIC_RELAXED) % TURNS;

	return 1 + (uint32_t)(place - table) + turn * TABLE_SIZE;
}

uint32_t tp_nnmodule_number(const char *module)
{
	const struct tp_nnmodule *place = tp_pyframe_is_ptr(module) ? tp_nnmodule_find(module) : NULL;

	return place ? tp_nnmodule_number_of(place) : 0;
}

void tp_nnmodule_turn(struct tp_nnmodule *place)
{
	__atomic_fetch_add(&place->turn, 1, __ATOMIC_RELAXED);
}

uint64_t tp_nnmodule_lost(void)
{
	return __atomic_load_n(&n_lost, __ATOMIC_RELAXED);
}

void tp_nnmodule_forked(void)
{
	n_lost = 0;
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		table[i].window = 0;
}
