/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_text.c - names of functions and files, each kept once
 */
#include "merge/symbols/symbols_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/demangle.h"
#include "runtime/base/hash.h"

enum {
	BLOCK_BYTES = 64 << 10,
	FIRST_SLOTS = 1 << 10,
};

struct tp_text_block {
	struct tp_text_block *next;
	size_t used, cap;
	char bytes[];
};

int tp_symbols_texts_init(struct tp_symbols_texts *texts)
{
	memset(texts, 0, sizeof(*texts));
	texts->slot = calloc(FIRST_SLOTS, sizeof(*texts->slot));
	if (!texts->slot)
		return -1;
	texts->n_slots = FIRST_SLOTS;
	pthread_mutex_init(&texts->lock, NULL);
	return 0;
}

void tp_symbols_texts_fini(struct tp_symbols_texts *texts)
{
	struct tp_text_block *next;

	for (struct tp_text_block *block = texts->block; block; block = next) {
		next = block->next;
		free(block);
	}
	free(texts->slot);
	if (texts->n_slots)
		pthread_mutex_destroy(&texts->lock);
	memset(texts, 0, sizeof(*texts));
}

static const char **slot_of(const char **slot, uint32_t n_slots, const char *bytes, size_t n)
{
	uint32_t at = (uint32_t)tp_hash_bytes(bytes, n, 0) & (n_slots - 1);

	while (slot[at] && (strncmp(slot[at], bytes, n) || slot[at][n]))
		at = (at + 1) & (n_slots - 1);
	return &slot[at];
}

static bool widen(struct tp_symbols_texts *texts)
{
	uint32_t n_slots = texts->n_slots * 2;
	const char **slot = calloc(n_slots, sizeof(*slot));

	if (!slot)
		return false;
	for (uint32_t i = 0; i < texts->n_slots; i++)
		if (texts->slot[i])
			*slot_of(slot, n_slots, texts->slot[i], strlen(texts->slot[i])) =
				texts->slot[i];
	free(texts->slot);
	texts->slot = slot;
	texts->n_slots = n_slots;
	return true;
}

static const char *keep(struct tp_symbols_texts *texts, const char *bytes, size_t n)
{
	struct tp_text_block *block = texts->block;
	char *to;

	if (!block || block->cap - block->used <= n) {
		size_t cap = n < BLOCK_BYTES ? BLOCK_BYTES : n + 1;

		block = malloc(sizeof(*block) + cap);
		if (!block)
			return NULL;
		block->used = 0;
		block->cap = cap;
		block->next = texts->block;
		texts->block = block;
	}
	to = block->bytes + block->used;
	memcpy(to, bytes, n);
	to[n] = 0;
	block->used += n + 1;
	return to;
}

const char *tp_symbols_text(struct tp_symbols_texts *texts, const char *bytes, size_t n)
{
	const char **slot, *text;

	n = strnlen(bytes, n);
	if (!n)
		return "";
	pthread_mutex_lock(&texts->lock);
	slot = slot_of(texts->slot, texts->n_slots, bytes, n);
	text = *slot;
	if (!text && (text = keep(texts, bytes, n))) {
		*slot = text;
		/* Half of it stays empty, else the next search would not end. */
		if (++texts->n > texts->n_slots / 2 && !widen(texts) &&
		    texts->n > texts->n_slots / 4 * 3) {
			*slot = NULL;
			texts->n--;
		}
	}
	pthread_mutex_unlock(&texts->lock);
	return text ? text : "";
}

/* Without "@@GLIBC_2.14", a version, and ".isra.0" and its like: which copy of the function the
 * compiler made of it. DWARF has none of them, and another build has others. */
static size_t bytes_of_name(const char *name)
{
	static const char *const behind[] = {
		"@", ".cold", ".isra.", ".part.", ".constprop.", ".lto_priv.", ".localalias", ".llvm.",
	};
	size_t n = strlen(name);

	for (size_t i = 0; n > 1 && i < sizeof(behind) / sizeof(behind[0]); i++) {
		const char *at = memmem(name + 1, n - 1, behind[i], strlen(behind[i]));

		if (at)
			n = (size_t)(at - name);
	}
	return n;
}

const char *tp_symbols_function(struct tp_symbols_texts *texts, const char *name)
{
	size_t n = name ? bytes_of_name(name) : 0;
	char text[TP_DEMANGLE_TO];
	const char *readable;
	uint32_t n_readable;

	if (!n)
		return "";
	readable = n < TP_DEMANGLE_FROM ? tp_demangle(name, (uint32_t)n, text, &n_readable) : NULL;
	return readable ? tp_symbols_text(texts, readable, n_readable) :
			  tp_symbols_text(texts, name, n);
}
