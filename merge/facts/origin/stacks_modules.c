/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_modules.c - which file of code an address of a process was in, at which time
 */
#include "merge/facts/origin/stacks_modules.h"

#include <string.h>

static bool is_same_place(const struct tp_module_at *a, const struct tp_module_at *b)
{
	return a->bias == b->bias && a->build_id_bytes == b->build_id_bytes &&
	       (!a->build_id_bytes || !memcmp(a->build_id, b->build_id, a->build_id_bytes)) &&
	       !strcmp(a->path, b->path);
}

uint32_t tp_stacks_module(const struct tp_proc *proc, uint64_t address, int64_t at_ns)
{
	uint32_t low = 0, high = proc->n_modules, near = UINT32_MAX;
	bool is_alone = true;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (proc->module[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Those that begin before it, the nearest first; segments of two modules may interlock, but
	 * not far. */
	for (uint32_t i = low, n = 0; i-- > 0 && n < 64; n++) {
		const struct tp_module_at *m = &proc->module[i];

		if (address >= m->end)
			continue;
		if (at_ns >= m->from_ns && at_ns <= m->to_ns)
			return i;
		if (near != UINT32_MAX)
			is_alone &= is_same_place(m, &proc->module[near]);
		near = i;
	}
	return is_alone ? near : UINT32_MAX;
}
