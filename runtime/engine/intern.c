/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.c - byte strings -> small ids: a hash table in private memory over the ring's names
 *
 * The table is open-addressed and never shrinks or moves, so a hit is a few loads. An entry
 * is published by storing its hash last. Only misses lock; they look again under the lock,
 * because another thread may have added the same string meanwhile.
 */
#include "runtime/engine/intern.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/sync.h"
#include "runtime/engine/ring/ring.h"

struct entry {
	uint64_t hash;		/* atomic; 0: empty */
	uint32_t id;		/* valid when hash is not 0 */
};

static struct {
	struct entry *entry;	/* NULL: not initialised */
	uint32_t mask;
	uint32_t n_used, n_max;	/* under `lock` */
	struct tp_spin lock;	/* entries and the end of names */
	uint32_t loose[TP_INTERN_LOOSE];	/* of kinds DEVICE and MODULE */
	uint32_t n_loose;	/* atomic */
	uint32_t n_cut;		/* atomic */
} table = {.lock = {.rank = TP_LOCK_INTERN}};

int tp_intern_init(struct tp_arena *arena)
{
	uint64_t n = 1024;

	if (!tp_ring.head)
		return -ENODEV;
	/* A name takes some 40 bytes of the area, so this stays below half full. */
	while (n < tp_ring.head->names_bytes / 16)
		n *= 2;
	table.mask = (uint32_t)n - 1;
	table.n_used = 0;
	table.n_loose = 0;
	table.n_cut = 0;
	table.n_max = (uint32_t)(n / 4 * 3);
	table.entry = tp_arena_alloc(arena, n * sizeof(struct entry));
	return table.entry ? 0 : -ENOMEM;
}

void tp_intern_reset(void)
{
	/* Another thread of the parent may have held it. */
	atomic_store(&table.lock.held, 0);
	table.entry = NULL;
}

static bool is_same(uint32_t id, uint32_t kind, const void *bytes, uint32_t n_bytes)
{
	const struct tp_name_entry *name =
		(const struct tp_name_entry *)(tp_ring.names + 8 * (uint64_t)id);

	return name->n_bytes == n_bytes && name->kind == kind &&
	       !memcmp(name->bytes, bytes, n_bytes);
}

/* The string's id, or 0 and where in the table it belongs. */
static uint32_t find(uint64_t hash, uint32_t kind, const void *bytes, uint32_t n_bytes,
		     uint32_t *place)
{
	uint32_t i = (uint32_t)tp_hash_mix(hash) & table.mask;

	for (;; i = (i + 1) & table.mask) {
		uint64_t seen = __atomic_load_n(&table.entry[i].hash, __ATOMIC_ACQUIRE);

		if (!seen) {
			*place = i;
			return 0;
		}
		if (seen == hash && is_same(table.entry[i].id, kind, bytes, n_bytes))
			return table.entry[i].id;
	}
}

/* Appends to the names; 0: no space. Under the lock. */
static uint32_t append(uint32_t kind, const void *bytes, uint32_t n_bytes)
{
	struct tp_ring_head *head = tp_ring.head;
	uint64_t at = __atomic_load_n(&head->names_used, __ATOMIC_RELAXED);
	uint64_t room = (sizeof(struct tp_name_entry) + n_bytes + 7) & ~7ull;
	struct tp_name_entry *name = (struct tp_name_entry *)(tp_ring.names + at);

	if (at + room > head->names_bytes || table.n_used == table.n_max)
		return 0;
	name->n_bytes = n_bytes;
	name->kind = kind;
	memcpy(name->bytes, bytes, n_bytes);
	/* Release: a reader of the dead that sees the new end sees the string. */
	__atomic_store_n(&head->names_used, at + room, __ATOMIC_RELEASE);
	return (uint32_t)(at / 8);
}

/* Under the lock. */
static void add_loose(uint32_t id)
{
	uint32_t n = table.n_loose;

	if (n == TP_INTERN_LOOSE)
		return;
	table.loose[n] = id;
	__atomic_store_n(&table.n_loose, n + 1, __ATOMIC_RELEASE);
}

uint32_t tp_intern(enum tp_string_kind kind, const void *bytes, uint32_t n_bytes)
{
	uint64_t hash;
	uint32_t id, place;
	bool was_reserved;

	if (tp_unlikely(!tp_ring.head || !table.entry || !tp_own_words.ring))
		return 0;
	if (n_bytes > TP_INTERN_MAX)
		n_bytes = TP_INTERN_MAX;
	hash = tp_hash_bytes(bytes, n_bytes, kind);
	id = find(hash, kind, bytes, n_bytes, &place);
	if (tp_likely(id != 0))
		return id;

	/* As if a record were being made: no hook in a signal handler on top of this comes here. */
	was_reserved = tp_ring_self.is_reserved;
	tp_ring_self.is_reserved = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tp_spin_lock(&table.lock);
	id = find(hash, kind, bytes, n_bytes, &place);
	if (!id) {
		id = append(kind, bytes, n_bytes);
		if (id) {
			table.n_used++;
			if (n_bytes == TP_INTERN_MAX)
				__atomic_fetch_add(&table.n_cut, 1, __ATOMIC_RELAXED);
			if (kind == TP_STRING_DEVICE || kind == TP_STRING_MODULE ||
			    kind == TP_STRING_COMM)
				add_loose(id);
			table.entry[place].id = id;
			/* Release: who sees the hash sees the id and the string. */
			__atomic_store_n(&table.entry[place].hash, hash, __ATOMIC_RELEASE);
		} else {
			__atomic_fetch_add(&tp_ring.head->names_lost, 1, __ATOMIC_RELAXED);
		}
	}
	tp_spin_unlock(&table.lock);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tp_ring_self.is_reserved = was_reserved;
	return id;
}

uint32_t tp_intern_text(const char *text)
{
	return tp_intern(TP_STRING_TEXT, text, (uint32_t)strnlen(text, TP_INTERN_MAX));
}

bool tp_intern_is_half_full(void)
{
	const struct tp_ring_head *head = tp_ring.head;

	return head && __atomic_load_n(&head->names_used, __ATOMIC_RELAXED) * 2 >= head->names_bytes;
}

uint32_t tp_intern_cut(void)
{
	return __atomic_load_n(&table.n_cut, __ATOMIC_RELAXED);
}

uint32_t tp_intern_loose(const uint32_t **id)
{
	*id = table.loose;
	return __atomic_load_n(&table.n_loose, __ATOMIC_ACQUIRE);
}

bool tp_intern_get(void *ctx, uint32_t id, uint32_t *kind, const char **bytes, uint32_t *n_bytes)
{
	const struct tp_name_entry *name;

	/* Acquire pairs with the release of append: the entry is whole. */
	if (!tp_ring.head || id == 0 ||
	    8 * (uint64_t)id >= __atomic_load_n(&tp_ring.head->names_used, __ATOMIC_ACQUIRE))
		return false;
	name = (const struct tp_name_entry *)(tp_ring.names + 8 * (uint64_t)id);
	*kind = name->kind;
	*bytes = name->bytes;
	*n_bytes = name->n_bytes;
	return true;
}
