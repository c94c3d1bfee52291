/* SPDX-License-Identifier: Apache-2.0 */
/*
 * membase.c - what was alive on a device when a window began
 */
#include "merge/facts/tensor/membase.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

void tp_membases_free(struct tp_membases *bases)
{
	free(bases->base);
}

struct tp_membase *tp_membases_of(struct tp_membases *bases, uint32_t proc, uint32_t device)
{
	for (uint32_t i = 0; i < bases->n; i++)
		if (bases->base[i].proc == proc && bases->base[i].device == device)
			return &bases->base[i];
	if (!tp_grow(&bases->base, &bases->cap, (uint64_t)bases->n + 1, sizeof(*bases->base)))
		return NULL;
	bases->base[bases->n] = (struct tp_membase){.proc = proc, .device = device};
	return &bases->base[bases->n++];
}

void tp_membase_name(struct tp_membase *base, int64_t bytes)
{
	if (base)
		base->named_bytes = tp_add(base->named_bytes, bytes);
}

void tp_membase_change(struct tp_membase *base, int64_t change)
{
	if (base && !base->is_known)
		base->change_bytes = tp_add(base->change_bytes, change);
}

bool tp_membase_know(struct tp_membase *base, int64_t bytes)
{
	if (!base || base->is_known)
		return false;
	base->is_known = true;
	base->bytes = tp_sub(bytes, base->change_bytes);
	return true;
}

int64_t tp_membase_end(struct tp_membase *base)
{
	const int64_t rest = base->is_known ? tp_sub(base->bytes, base->named_bytes) : 0;

	base->is_known = false;
	base->bytes = base->named_bytes = base->change_bytes = 0;
	return rest > 0 ? rest : 0;
}
