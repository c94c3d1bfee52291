/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.c - which threads a trace file knows, and by which name
 *
 * Drain thread only. A thread is told before its first record is written, and once more when
 * it turns out to have another name: a file is complete by itself.
 */
#include "runtime/engine/told.h"

#include <string.h>
#include <sys/types.h>

#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring/ring.h"

static struct {
	uint64_t slots[TP_RING_SLOTS / 64];	/* that the file knows */
	char name[TP_RING_SLOTS][16];
} told;

void tp_told_forget(void)
{
	memset(told.slots, 0, sizeof(told.slots));
}

static void fill_thread(struct tp_thread_entry *entry, uint32_t slot_at)
{
	const struct tp_ring_slot *slot = &tp_ring.slots[slot_at];

	memset(entry, 0, sizeof(*entry));
	entry->slot = slot_at;
	entry->tid = __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE);
	entry->torch_id = __atomic_load_n(&slot->torch_id, __ATOMIC_RELAXED);
	entry->flags = __atomic_load_n(&slot->flags, __ATOMIC_ACQUIRE);
	memcpy(entry->name, slot->name, sizeof(entry->name));
}

bool tp_told_has(uint32_t slot)
{
	return told.slots[slot / 64] >> (slot % 64) & 1;
}

void tp_told_tell(struct tp_writer *writer, uint32_t slot)
{
	struct tp_thread_entry entry;

	fill_thread(&entry, slot);
	told.slots[slot / 64] |= 1ull << (slot % 64);
	memcpy(told.name[slot], entry.name, sizeof(entry.name));
	tp_writer_threads(writer, &entry, 1);
}

void tp_told_again(struct tp_writer *writer)
{
	struct tp_thread_entry entry[64];
	uint32_t n = 0;

	for (uint32_t i = 0; i < TP_RING_SLOTS - 1; i++) {
		struct tp_ring_slot *slot = &tp_ring.slots[i];
		char path[64], name[16] = "";
		struct tp_text text;
		ssize_t n_bytes;

		if (!tp_told_has(i) || __atomic_load_n(&slot->is_dead, __ATOMIC_ACQUIRE))
			continue;
		tp_text_init(&text, path, sizeof(path));
		tp_text_fmt(&text, "/proc/self/task/%u/comm",
			    __atomic_load_n(&slot->tid, __ATOMIC_RELAXED));
		n_bytes = tp_file_read(path, name, sizeof(name));
		if (n_bytes <= 1)
			continue;
		name[n_bytes - 1] = '\0';	/* the newline */
		if (!strncmp(name, told.name[i], sizeof(name)) &&
		    !__atomic_load_n(&slot->torch_id, __ATOMIC_RELAXED))
			continue;
		memcpy(slot->name, name, sizeof(name));
		memcpy(told.name[i], name, sizeof(name));
		fill_thread(&entry[n++], i);
		if (n == sizeof(entry) / sizeof(entry[0])) {
			tp_writer_threads(writer, entry, n);
			n = 0;
		}
	}
	tp_writer_threads(writer, entry, n);
}
