/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_names.c - the table of registered names: chains by hash, added to at their heads only
 *
 * An entry is whole before its chain points to it, and is never changed or freed after, so
 * that nobody who looks needs a lock.
 */
#include "runtime/probe/mark/mark_names.h"

#include <sched.h>
#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/hash.h"
#include "runtime/base/sync.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"

enum {
	ARENA_BYTES = 8 << 20,
	N_CHAINS = 1024,
	PREFIX_MAX = 256,	/* bytes of domain and category that a name begins with */
	NAME_MAX = 1024,	/* of a name that has such a beginning */
	LOCK_TRIES = 10000,
};

enum kind {
	KIND_DOMAIN = 0x646f6d61,	/* also shows that a handle is one */
	KIND_STRING = 0x73747269,
	KIND_CATEGORY = 0x63617465,
};

struct tp_mark_entry {
	struct tp_mark_entry *next;	/* of its chain */
	uint64_t hash;
	const void *domain;		/* of a category */
	uint64_t interned;		/* atomic: generation of the ring << 32 | id, or 0 */
	uint32_t kind;
	uint32_t number;		/* of a category */
	uint32_t n_bytes;
	char bytes[];
};

static struct {
	struct tp_spin lock;		/* adding */
	struct tp_arena arena;
	struct tp_mark_entry *chain[N_CHAINS];	/* atomic */
} names = {.lock = {.rank = TP_LOCK_MARK}};

/* Handles of what found no room. */
static struct tp_mark_entry no_domain = {.kind = KIND_DOMAIN};
static struct tp_mark_entry no_string = {.kind = KIND_STRING};

static struct tp_mark_entry **chain_of(uint64_t hash)
{
	return &names.chain[tp_hash_mix(hash) % N_CHAINS];
}

static uint64_t hash_of(uint32_t kind, const void *domain, uint32_t number, const char *text,
			uint32_t n_bytes)
{
	if (kind == KIND_CATEGORY)
		return tp_hash_mix((uint64_t)(uintptr_t)domain ^ number) | 1;
	return tp_hash_bytes(text, n_bytes, kind);
}

/* Text, of domains and strings; of categories domain and number. */
static struct tp_mark_entry *find(uint64_t hash, uint32_t kind, const void *domain,
				  uint32_t number, const char *text, uint32_t n_bytes)
{
	struct tp_mark_entry *entry = __atomic_load_n(chain_of(hash), __ATOMIC_ACQUIRE);

	for (; entry; entry = entry->next) {
		if (entry->hash != hash || entry->kind != kind)
			continue;
		if (kind == KIND_CATEGORY
			    ? entry->domain == domain && entry->number == number
			    : entry->n_bytes == n_bytes && !memcmp(entry->bytes, text, n_bytes))
			return entry;
	}
	return NULL;
}

/* False: somebody keeps it for long. Its holder may have been another thread of the process
 * that forked this one, and then it never comes back. */
static bool lock_soon(void)
{
	for (uint32_t i = 0; i < LOCK_TRIES; i++) {
		if (tp_spin_trylock(&names.lock))
			return true;
		sched_yield();
	}
	return false;
}

/* Under the lock. NULL: no room. */
static struct tp_mark_entry *append(uint64_t hash, uint32_t kind, const void *domain,
				    uint32_t number, const char *text, uint32_t n_bytes)
{
	struct tp_mark_entry **chain = chain_of(hash);
	struct tp_mark_entry *entry;

	if (!names.arena.base && tp_arena_init(&names.arena, ARENA_BYTES))
		return NULL;
	entry = tp_arena_alloc(&names.arena, sizeof(*entry) + n_bytes);
	if (!entry)
		return NULL;
	entry->next = *chain;
	entry->hash = hash;
	entry->domain = domain;
	entry->kind = kind;
	entry->number = number;
	entry->n_bytes = n_bytes;
	memcpy(entry->bytes, text, n_bytes);
	/* Release: who sees it sees all of it. */
	__atomic_store_n(chain, entry, __ATOMIC_RELEASE);
	return entry;
}

static struct tp_mark_entry *add(uint32_t kind, const void *domain, uint32_t number,
				 const char *text, uint32_t n_bytes)
{
	bool is_category = kind == KIND_CATEGORY;
	struct tp_mark_entry *entry;
	uint64_t hash;

	if (n_bytes > TP_INTERN_MAX)
		n_bytes = TP_INTERN_MAX;
	hash = hash_of(kind, domain, number, text, n_bytes);
	entry = find(hash, kind, domain, number, text, n_bytes);
	if (entry && (!is_category || (entry->n_bytes == n_bytes &&
				       !memcmp(entry->bytes, text, n_bytes))))
		return entry;
	if (!lock_soon())
		return NULL;
	entry = is_category ? NULL : find(hash, kind, domain, number, text, n_bytes);
	if (!entry)
		entry = append(hash, kind, domain, number, text, n_bytes);
	tp_spin_unlock(&names.lock);
	return entry;
}

struct tp_mark_entry *tp_mark_domain(const char *text, uint32_t n_bytes)
{
	struct tp_mark_entry *entry = add(KIND_DOMAIN, NULL, 0, text, n_bytes);

	return entry ? entry : &no_domain;
}

struct tp_mark_entry *tp_mark_string(const char *text, uint32_t n_bytes)
{
	struct tp_mark_entry *entry = add(KIND_STRING, NULL, 0, text, n_bytes);

	return entry ? entry : &no_string;
}

void tp_mark_category(const void *domain, uint32_t number, const char *text, uint32_t n_bytes)
{
	add(KIND_CATEGORY, domain, number, text, n_bytes);
}

/* Programs may give us any pointer: only what lies in our memory is looked at. */
static struct tp_mark_entry *check(const void *handle, uint32_t kind)
{
	uintptr_t at = (uintptr_t)handle, base = (uintptr_t)names.arena.base;
	struct tp_mark_entry *entry = (struct tp_mark_entry *)at;
	uint64_t used = __atomic_load_n(&names.arena.used, __ATOMIC_RELAXED);

	if (!base || at < base || at % 16 || at - base + sizeof(*entry) > used)
		return NULL;
	return entry->kind == kind ? entry : NULL;
}

const struct tp_mark_entry *tp_mark_find_domain(const void *handle)
{
	return check(handle, KIND_DOMAIN);
}

void tp_mark_find_string(struct tp_mark_name *name, void *handle)
{
	struct tp_mark_entry *entry = check(handle, KIND_STRING);

	if (!entry)
		return;
	name->registered = entry;
	name->text = entry->bytes;
	name->n_text = entry->n_bytes;
}

void tp_mark_find_category(struct tp_mark_name *name, uint32_t number)
{
	const void *domain = name->domain;
	const struct tp_mark_entry *entry =
		number ? find(hash_of(KIND_CATEGORY, domain, number, NULL, 0), KIND_CATEGORY, domain,
			      number, NULL, 0) : NULL;

	if (!entry)
		return;
	name->category = entry->bytes;
	name->n_category = entry->n_bytes;
}

/* ---- the name of a record ---- */

static uint32_t put(char *buf, uint32_t at, uint32_t cap, const char *bytes, uint32_t n)
{
	if (n > cap - at)
		n = cap - at;
	memcpy(buf + at, bytes, n);
	return at + n;
}

static uint32_t intern_joined(const struct tp_mark_name *name)
{
	const struct tp_mark_entry *domain = name->domain;
	char buf[NAME_MAX];
	uint32_t at = 0;

	if (domain)
		at = put(buf, at, PREFIX_MAX / 2, domain->bytes, domain->n_bytes);
	if (at && name->n_category)
		buf[at++] = '/';
	if (name->n_category)
		at = put(buf, at, PREFIX_MAX, name->category, name->n_category);
	if (at) {
		buf[at++] = ':';
		buf[at++] = ' ';
	}
	at = put(buf, at, NAME_MAX, name->text, name->n_text);
	return tp_intern(TP_STRING_TEXT, buf, at);
}

uint32_t tp_mark_intern(const struct tp_mark_name *name)
{
	bool is_alone = !name->domain && !name->n_category;
	uint64_t generation = (uint64_t)tp_ring.generation << 32, interned;
	uint32_t id;

	if (!name->n_text)
		return 0;
	if (!is_alone)
		return intern_joined(name);
	if (!name->registered)
		return tp_intern(TP_STRING_TEXT, name->text, name->n_text);
	interned = __atomic_load_n(&name->registered->interned, __ATOMIC_RELAXED);
	if (tp_likely((uint32_t)interned && interned >> 32 == tp_ring.generation))
		return (uint32_t)interned;
	id = tp_intern(TP_STRING_TEXT, name->text, name->n_text);
	__atomic_store_n(&name->registered->interned, generation | id, __ATOMIC_RELAXED);
	return id;
}

void tp_mark_names_forked(void)
{
	/* Another thread of the parent may have had it. */
	atomic_store(&names.lock.held, 0);
}
