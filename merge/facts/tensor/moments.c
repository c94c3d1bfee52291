/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments.c - what was alive at moments that somebody remembers
 *
 * What is alive at an entry is the sum of all differences up to it. So an entry is forgotten by
 * adding its difference to the one behind it; those behind have what they had.
 */
#include "merge/facts/tensor/moments.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

int64_t tp_moment_bytes(const struct tp_moment *moment)
{
	int64_t sum = 0;

	for (uint32_t c = 0; c < TP_TENSOR_N; c++)
		sum = tp_add(sum, moment->bytes[c]);
	return sum;
}

void tp_live_sum_set(struct tp_live_sum *sum, uint32_t device, int64_t bytes)
{
	uint32_t i = 0;

	while (i < sum->n && sum->of[i].device != device)
		i++;
	if (i == TP_LIVE_DEVICES)
		return;
	if (i == sum->n)
		sum->of[sum->n++].device = device;
	sum->bytes = tp_add(sum->bytes, tp_sub(bytes, sum->of[i].bytes));
	sum->of[i].bytes = bytes;
}

void tp_moments_free(struct tp_moments *moments)
{
	free(moments->entry);
	free(moments->at);
	free(moments->n_users);
	free(moments->unused);
	*moments = (struct tp_moments){.n = 0};
}

static void add_moment(struct tp_moment *to, const struct tp_moment *from)
{
	for (uint32_t c = 0; c < TP_MOMENT_N; c++)
		to->bytes[c] = tp_add(to->bytes[c], from->bytes[c]);
}

/* Those that nobody uses go. */
static void compact(struct tp_moments *moments)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < moments->n; i++) {
		const uint32_t handle = moments->entry[i].handle;

		if (moments->n_users[handle]) {
			moments->at[handle] = n;
			moments->entry[n++] = moments->entry[i];
			continue;
		}
		add_moment(&moments->entry[i + 1].difference, &moments->entry[i].difference);
		/* There is room for all handles. */
		moments->unused[moments->n_unused++] = handle;
	}
	moments->entry[n] = moments->entry[moments->n];
	moments->n = n;
	moments->n_forgotten = 0;
}

static uint32_t take_handle(struct tp_moments *moments)
{
	const uint64_t n = (uint64_t)moments->n_handles + 1;

	if (moments->n_unused)
		return moments->unused[--moments->n_unused];
	if (!tp_grow(&moments->at, &moments->cap_at, n, sizeof(*moments->at)) ||
	    !tp_grow(&moments->n_users, &moments->cap_users, n, sizeof(*moments->n_users)) ||
	    !tp_grow(&moments->unused, &moments->cap_unused, n, sizeof(*moments->unused)))
		return TP_NO_MOMENT;
	return moments->n_handles++;
}

uint32_t tp_moments_add(struct tp_moments *moments, int64_t ns)
{
	struct tp_moment_entry *entry;
	uint32_t handle;

	/* The last one is most often a peak that another one has passed. */
	while (moments->n && !moments->n_users[moments->entry[moments->n - 1].handle]) {
		entry = &moments->entry[--moments->n];
		moments->unused[moments->n_unused++] = entry->handle;
		add_moment(&entry->difference, &entry[1].difference);
		moments->n_forgotten--;
	}
	if (moments->n_forgotten > 1024 && moments->n_forgotten > moments->n / 2)
		compact(moments);
	if (!tp_grow(&moments->entry, &moments->cap, (uint64_t)moments->n + 2, sizeof(*entry)))
		return TP_NO_MOMENT;
	handle = take_handle(moments);
	if (handle == TP_NO_MOMENT)
		return handle;
	entry = &moments->entry[moments->n];
	if (moments->n && ns < entry[-1].ns)
		ns = entry[-1].ns;
	entry->ns = ns;
	entry->handle = handle;
	entry[1] = (struct tp_moment_entry){.ns = ns};
	moments->at[handle] = moments->n++;
	moments->n_users[handle] = 1;
	return handle;
}

uint32_t tp_moments_use(struct tp_moments *moments, uint32_t handle)
{
	if (handle != TP_NO_MOMENT)
		moments->n_users[handle]++;
	return handle;
}

uint32_t tp_moments_share(struct tp_moments *moments, uint32_t *shared, int64_t ns)
{
	*shared = *shared == TP_NO_MOMENT ? tp_moments_add(moments, ns) : tp_moments_use(moments, *shared);
	return *shared;
}

void tp_moments_drop(struct tp_moments *moments, uint32_t handle)
{
	if (handle != TP_NO_MOMENT && !--moments->n_users[handle])
		moments->n_forgotten++;
}

/* The first at or after that time; n: none. */
static uint32_t find(const struct tp_moments *moments, int64_t ns)
{
	uint32_t low = 0, high = moments->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (moments->entry[middle].ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_part(struct tp_moments *moments, const struct tp_life *life)
{
	const uint32_t kind[] = {life->category,
				 life->is_internal ? TP_MOMENT_INTERNAL : TP_MOMENT_N};
	const uint32_t from = find(moments, life->begin_ns), to = find(moments, life->end_ns);

	for (uint32_t i = 0; from < to && i < 2 && kind[i] < TP_MOMENT_N; i++) {
		int64_t *begin = &moments->entry[from].difference.bytes[kind[i]];
		int64_t *end = &moments->entry[to].difference.bytes[kind[i]];

		*begin = tp_add(*begin, life->bytes);
		*end = tp_sub(*end, life->bytes);
	}
}

void tp_moments_life(struct tp_moments *moments, const struct tp_life *life)
{
	struct tp_life part[TP_LIFE_PARTS];
	const uint32_t n = tp_life_parts(life, part);

	for (uint32_t i = 0; i < n; i++)
		add_part(moments, &part[i]);
}

void tp_moments_end(struct tp_moments *moments)
{
	for (uint32_t i = 1; i < moments->n; i++)
		add_moment(&moments->entry[i].difference, &moments->entry[i - 1].difference);
}

const struct tp_moment *tp_moments_get(const struct tp_moments *moments, uint32_t handle)
{
	static const struct tp_moment none;

	return handle == TP_NO_MOMENT ? &none : &moments->entry[moments->at[handle]].difference;
}

int64_t tp_moments_ns(const struct tp_moments *moments, uint32_t handle)
{
	return handle == TP_NO_MOMENT ? 0 : moments->entry[moments->at[handle]].ns;
}
