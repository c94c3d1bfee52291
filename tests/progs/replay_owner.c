/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_owner.c - gives each call of a replay file its work and its memory
 */
#include "tests/progs/replay_owner.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* The first call of each correlation id, by it: an open table of items' indices. */
struct calls {
	uint32_t *slot;		/* NONE: free */
	uint32_t mask;
};

/* The slot of the call that has this id, or of none. */
static uint32_t *slot_of(const struct replay_file *file, const struct calls *calls, uint32_t id)
{
	uint32_t i = (uint32_t)(id * 0x9e3779b97f4a7c15u >> 32) & calls->mask;

	while (calls->slot[i] != NONE && file->items[calls->slot[i]].correlation != id)
		i = (i + 1) & calls->mask;
	return &calls->slot[i];
}

static struct calls find_calls(const struct replay_file *file)
{
	struct calls calls = {.mask = 1023};

	while (calls.mask / 2 < file->n_items)
		calls.mask = calls.mask * 2 + 1;
	calls.slot = malloc(((size_t)calls.mask + 1) * sizeof(*calls.slot));
	memset(calls.slot, 0xff, ((size_t)calls.mask + 1) * sizeof(*calls.slot));
	for (uint32_t i = 0; i < file->n_items; i++) {
		const struct replay_item *item = &file->items[i];
		uint32_t *slot;

		if (item->kind != REPLAY_API || !item->correlation)
			continue;
		slot = slot_of(file, &calls, item->correlation);
		if (*slot == NONE)
			*slot = i;
	}
	return calls;
}

/* Where the call that `item` belongs to is, or NONE. */
static uint32_t owner(const struct replay_file *file, const struct replay_item *item,
		      const struct calls *calls)
{
	return item->correlation ? *slot_of(file, calls, item->correlation) : NONE;
}

static void give_work(struct replay_file *file, const struct calls *calls)
{
	uint32_t n_works = 0, n_loose = 0, at;

	for (uint32_t i = 0; i < file->n_items; i++) {
		struct replay_item *item = &file->items[i];

		if (item->kind != REPLAY_WORK)
			n_loose += item->kind == REPLAY_OVERHEAD && item->thread == NONE;
		else if ((at = owner(file, item, calls)) == NONE)
			n_loose++;
		else
			file->items[at].api.n_work++;
	}
	for (uint32_t i = 0; i < file->n_items; i++)
		if (file->items[i].kind == REPLAY_API) {
			file->items[i].api.first_work = n_works;
			n_works += file->items[i].api.n_work;
			file->items[i].api.n_work = 0;
		}
	file->works = calloc(n_works + 1, sizeof(*file->works));
	file->loose = calloc(n_loose + 1, sizeof(*file->loose));
	for (uint32_t i = 0; i < file->n_items; i++) {
		struct replay_item *item = &file->items[i], *of;

		if (item->kind == REPLAY_OVERHEAD && item->thread == NONE)
			file->loose[file->n_loose++] = i;
		if (item->kind != REPLAY_WORK)
			continue;
		at = owner(file, item, calls);
		if (at == NONE) {
			file->loose[file->n_loose++] = i;
			continue;
		}
		of = &file->items[at];
		file->works[of->api.first_work + of->api.n_work++] = item->work;
	}
}

/* An allocation whose call is in the file is what that call does. */
static void give_memory(struct replay_file *file, const struct calls *calls)
{
	for (uint32_t i = 0; i < file->n_items; i++) {
		struct replay_item *item = &file->items[i];
		uint32_t at;

		if (item->kind != REPLAY_MEM || !item->mem.is_driver)
			continue;
		at = owner(file, item, calls);
		if (at == NONE || file->items[at].api.memory != NONE ||
		    file->items[at].thread != item->thread)
			continue;
		file->items[at].api.memory = i;
		item->mem.is_inside = true;
	}
}

void replay_give(struct replay_file *file)
{
	struct calls calls = find_calls(file);

	give_work(file, &calls);
	give_memory(file, &calls);
	free(calls.slot);
}
