/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_names.c - names by where CUPTI keeps them or by number, structures by their bytes
 *
 * A training step repeats: the same kernels, launched in the same ways. Each cache has a few places
 * for a key, where the newest pushes the oldest out; the table of names (engine/intern.c) knows all.
 * An address says nothing by itself, since CUPTI uses it again when a module is unloaded: what is
 * there now is compared with the name that was there.
 */
#include "runtime/probe/gpu/cupti_names.h"

#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/gpu/cupti_lib.h"

enum {
	N_CALLS = 1024,		/* CUDA 13.0 has 522 of the runtime and 812 of the driver */
	N_NAMES = 4096,
	N_SHAPES = 8192,
	N_WAYS = 4,		/* places for a shape */
};

struct name {
	const char *at;
	uint32_t id;
};

/* Known by 128 bits of hash alone: the bytes would fill the processor's cache. */
struct print {
	uint64_t low, high;
};

struct shape {
	struct print print;
	uint32_t id;		/* 0: empty */
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
	struct name *first, *second;
	uint32_t at;

	if (!name)
		return 0;
	at = (uint32_t)tp_hash_mix((uintptr_t)name) % N_NAMES;
	first = &cache.name[at];
	second = &cache.name[at ^ 1];
	if (tp_likely(first->at == name && is_still(first->id, name)))
		return first->id;
	if (second->at == name && is_still(second->id, name))
		return second->id;
	if (first->at != name)
		*second = *first;
	*first = (struct name){name, tp_intern_text(name)};
	return first->id;
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

/* Of whatever structure it is the half of a word of. */
typedef uint32_t __attribute__((may_alias)) half_word;

/*
 * Sums of products of neighbours: half as many steps as words, and none waits for another. Loads
 * are of halves, as the stores were that made the structure a moment ago: a load across two
 * stores would wait for them.
 */
static inline struct print print_of(uint32_t kind, const half_word *half, uint32_t n_halves)
{
	struct print print = {kind, n_halves};

	for (uint32_t i = 0; i < n_halves; i += 4) {
		uint64_t a = half[i] | (uint64_t)half[i + 1] << 32;
		uint64_t b = i + 2 < n_halves ? half[i + 2] | (uint64_t)half[i + 3] << 32 : 0;
		unsigned __int128 product = (unsigned __int128)(a ^ (0x9e3779b97f4a7c15ull + i)) *
					    (b ^ (0xff51afd7ed558ccdull - i));

		print.low += (uint64_t)product;
		print.high += (uint64_t)(product >> 64);
	}
	return print;
}

/* n_bytes and kind are constants where this is called. */
static inline uint32_t find_shape(enum tp_string_kind kind, const void *bytes, uint32_t n_bytes)
{
	struct print print = print_of(kind, bytes, n_bytes / 4);
	uint32_t at = (uint32_t)tp_hash_mix(print.low ^ print.high) % N_SHAPES / N_WAYS * N_WAYS;
	struct shape *way = &cache.shape[at];

	for (uint32_t i = 0; i < N_WAYS; i++)
		if (tp_likely(way[i].print.low == print.low && way[i].print.high == print.high &&
			      way[i].id))
			return way[i].id;
	memmove(way + 1, way, (N_WAYS - 1) * sizeof(*way));
	*way = (struct shape){print, tp_intern(kind, bytes, n_bytes)};
	return way->id;
}

uint32_t tp_cupti_launch(const struct tp_launch *launch)
{
	return find_shape(TP_STRING_LAUNCH, launch, sizeof(*launch));
}

uint32_t tp_cupti_transfer(const struct tp_transfer *transfer)
{
	return find_shape(TP_STRING_TRANSFER, transfer, sizeof(*transfer));
}

uint32_t tp_cupti_sync(const struct tp_sync_what *sync)
{
	return find_shape(TP_STRING_SYNC, sync, sizeof(*sync));
}
