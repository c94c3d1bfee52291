/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_names.c - CUPTI's own copies of kernel names, which it gives away and then overwrites
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/cupti_state.h"

enum { N_CHAINS = 1024 };

struct copy {
	struct copy *next;
	const char *name;	/* libcuda's; NULL: stale */
	uint32_t module;
	uint32_t n_records;	/* in buffers that have not come back; kept when names go stale by flushes */
	uint32_t flush;		/* in which the last of them came back */
	char text[];
};

static struct {
	pthread_mutex_t lock;
	struct copy *chain[N_CHAINS];
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *fake_cupti_name(const char *name, uint32_t module)
{
	struct copy **chain = &names.chain[((uintptr_t)name >> 4) % N_CHAINS], *copy;
	size_t n;

	if (!name)
		return NULL;
	pthread_mutex_lock(&names.lock);
	for (copy = *chain; copy; copy = copy->next)
		if (copy->name == name && copy->module == module)
			break;
	if (!copy) {
		n = strlen(name) + 1;
		copy = calloc(1, sizeof(*copy) + n);
		copy->name = name;
		copy->module = module;
		memcpy(copy->text, name, n);
		copy->next = *chain;
		*chain = copy;
	}
	copy->n_records++;
	pthread_mutex_unlock(&names.lock);
	return copy->text;
}

void fake_cupti_name_delivered(const char *text)
{
	struct copy *copy = (struct copy *)(text - offsetof(struct copy, text));

	pthread_mutex_lock(&names.lock);
	copy->n_records--;
	copy->flush = __atomic_load_n(&fake_cupti.flushes, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&names.lock);
}

/* Who still reads it sees what was in its place later. */
static void overwrite(struct copy *copy)
{
	copy->name = NULL;
	for (char *at = copy->text; *at; at++)
		__atomic_store_n(at, '~', __ATOMIC_RELAXED);
}

void fake_cupti_names_flush(uint32_t flush)
{
	pthread_mutex_lock(&names.lock);
	for (uint32_t i = 0; i < N_CHAINS; i++)
		for (struct copy *copy = names.chain[i]; copy; copy = copy->next)
			if (copy->name && !copy->n_records &&
			    flush - copy->flush > fake_cupti.stale_flushes)
				overwrite(copy);
	pthread_mutex_unlock(&names.lock);
}

void fake_cupti_unload(uint32_t module)
{
	pthread_mutex_lock(&names.lock);
	for (uint32_t i = 0; i < N_CHAINS; i++)
		for (struct copy *copy = names.chain[i]; copy; copy = copy->next)
			if (copy->name && (module == ~0u || copy->module == module))
				overwrite(copy);
	pthread_mutex_unlock(&names.lock);
}
