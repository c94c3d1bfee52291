/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_names.c - names by where CUPTI keeps them or by number, structures by their bytes
 *
 * A training step repeats: the same kernels, launched in the same ways. Each cache is direct-mapped,
 * an entry that is not the one is replaced, and the table of names (engine/intern.c) knows all.
 * An address says nothing by itself, since CUPTI uses it again when a module is unloaded: what is
 * there now is compared with the name that was there.
 */
#include "runtime/probe/cupti_names.h"

#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/cupti_lib.h"

enum {
	N_CALLS = 1024,		/* CUDA 13.0 has 522 of the runtime and 812 of the driver */
	N_NAMES = 4096,
	N_SHAPES = 4096,
	WORDS_MOST = sizeof(struct tp_launch) / 8,
};

struct name {
	const char *at;
	uint32_t id;
};

struct shape {
	uint64_t word[WORDS_MOST];
	uint32_t kind, id;	/* id 0: empty */
};

static struct {
	uint32_t call[2][N_CALLS];	/* 0: not asked for yet */
	struct name name[N_NAMES];
	struct shape shape[N_SHAPES];
} cache;

void tp_cupti_names_reset(void)
{
	memset(&cache, 0, sizeof(cache));
}

uint32_t tp_cupti_call_length(const char *name)
{
	uint32_t n = (uint32_t)strlen(name), digits = n;

	/* "_v3020": the version of CUDA in which the parameters came; "_v2" belongs to the name. */
	while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (n - digits >= 4 && digits >= 2 && !memcmp(name + digits - 2, "_v", 2))
		n = digits - 2;
	/* How the program was compiled: a default stream for each thread. */
	if (n >= 5 && (!memcmp(name + n - 5, "_ptsz", 5) || !memcmp(name + n - 5, "_ptds", 5)))
		n -= 5;
	return n;
}

static uint32_t find_call(bool is_driver, uint32_t cbid)
{
	CUpti_CallbackDomain domain = is_driver ? CUPTI_CB_DOMAIN_DRIVER_API :
						  CUPTI_CB_DOMAIN_RUNTIME_API;
	const char *name = NULL;
	struct tp_text text;
	char made[40];

	if (tp_cupti.cuptiGetCallbackName &&
	    tp_cupti.cuptiGetCallbackName(domain, cbid, &name) == CUPTI_SUCCESS && name)
		return tp_intern(TP_STRING_TEXT, name, tp_cupti_call_length(name));
	tp_text_init(&text, made, sizeof(made));
	tp_text_fmt(&text, "%s call %u", is_driver ? "driver" : "runtime", cbid);
	return tp_intern(TP_STRING_TEXT, made, (uint32_t)text.len);
}

uint32_t tp_cupti_call_name(bool is_driver, uint32_t cbid)
{
	uint32_t *id;

	if (cbid >= N_CALLS)
		return find_call(is_driver, cbid);
	id = &cache.call[is_driver][cbid];
	if (tp_unlikely(!*id))
		*id = find_call(is_driver, cbid);
	return *id;
}

/* Whether the string with that id is what lies at `name` now. */
static bool is_still(uint32_t id, const char *name)
{
	const char *bytes;
	uint32_t kind, n;

	return tp_intern_get(NULL, id, &kind, &bytes, &n) && !strncmp(name, bytes, n) &&
	       (n == TP_INTERN_MAX || !name[n]);
}

uint32_t tp_cupti_kernel_name(const char *name)
{
	struct name *entry;

	if (!name)
		return 0;
	entry = &cache.name[tp_hash_mix((uintptr_t)name) % N_NAMES];
	if (tp_likely(entry->at == name && entry->id && is_still(entry->id, name)))
		return entry->id;
	entry->at = name;
	entry->id = tp_intern_text(name);
	return entry->id;
}

uint32_t tp_cupti_overhead_name(uint32_t overhead_kind)
{
	static const char *const words[] = {
		"Unknown", "Buffer Flush", "Instrumentation", "Resource",
		"Runtime Triggered Module Loading", "Lazy Function Loading", "Command Buffer Full",
		"Activity Buffer Request", "UVM Activity Init",
	};
	uint32_t at = overhead_kind >> 16;

	if (overhead_kind == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER)
		return tp_intern_text("Driver Compiler");
	if ((overhead_kind & 0xffff) || at >= sizeof(words) / sizeof(words[0]))
		return tp_intern_text("Unrecognized");
	return tp_intern_text(words[at]);
}

/* n_words and kind are constants where this is called. */
static inline uint32_t find_shape(enum tp_string_kind kind, const void *bytes, uint32_t n_words)
{
	uint64_t word[WORDS_MOST], hash = kind;
	uint32_t is_other = 0;
	struct shape *shape;

	memcpy(word, bytes, 8ul * n_words);
	/* Sums of products, which do not wait for one another. */
	for (uint32_t i = 0; i < n_words; i++)
		hash += (word[i] + 0x9e3779b97f4a7c15ull * i) * (0xff51afd7ed558ccdull + 2 * i);
	shape = &cache.shape[tp_hash_mix(hash) % N_SHAPES];
	for (uint32_t i = 0; i < n_words; i++)
		is_other |= word[i] != shape->word[i];
	if (tp_likely(!is_other && shape->kind == (uint32_t)kind && shape->id))
		return shape->id;
	shape->kind = kind;
	memcpy(shape->word, word, 8ul * n_words);
	shape->id = tp_intern(kind, bytes, 8 * n_words);
	return shape->id;
}

uint32_t tp_cupti_launch(const struct tp_launch *launch)
{
	return find_shape(TP_STRING_LAUNCH, launch, sizeof(*launch) / 8);
}

uint32_t tp_cupti_transfer(const struct tp_transfer *transfer)
{
	return find_shape(TP_STRING_TRANSFER, transfer, sizeof(*transfer) / 8);
}

uint32_t tp_cupti_sync(const struct tp_sync_what *sync)
{
	return find_shape(TP_STRING_SYNC, sync, sizeof(*sync) / 8);
}
