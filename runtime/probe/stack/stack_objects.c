/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_objects.c - libraries by address: the C library's own index, or a copied list
 *
 * The list is read while it is written: a reader takes a copy of one entry and then looks
 * whether the writer was at work (a sequence lock with one writer, the drain thread). Its memory
 * is never given back, only replaced by a bigger one.
 */
#include "runtime/probe/stack/stack_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/probe/stack/stack_thread.h"

/* Of <dlfcn.h> since glibc 2.35; the library must also compile with an older one. */
struct found_object {
	unsigned long long flags;
	void *begin, *end;
	struct link_map *map;
	void *eh_frame;
	unsigned long long reserved[7];
};

struct entry {	/* all atomic */
	uint64_t begin, end, base, headers, n_headers;
};

static struct {
	int (*find)(void *pc, struct found_object *found);	/* NULL: by the list */
	struct entry *entry;	/* atomic */
	uint32_t n, room;	/* n: atomic */
	uint32_t sequence;	/* atomic; odd: being written */
	uint64_t n_changes;	/* when the list was made: libraries mapped and unmapped so far */
	uint64_t n_unmapped;	/* atomic: dlpi_subs */
} objects;

static uint64_t get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* The program headers follow the ELF header, which every usual linker maps first. */
static bool read_headers(const struct found_object *found, struct tp_stack_object *object)
{
	const ElfW(Ehdr) *head = found->begin;

	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phentsize != sizeof(ElfW(Phdr)) || head->e_phoff % 8 ||
	    head->e_phoff + head->e_phnum * sizeof(ElfW(Phdr)) >
		    (size_t)((char *)found->end - (char *)found->begin))
		return false;
	object->base = found->map->l_addr;
	object->headers = (const void *)((const char *)found->begin + head->e_phoff);
	object->n_headers = head->e_phnum;
	return true;
}

static bool find_in_list(uint64_t pc, struct tp_stack_object *object)
{
	uint32_t before;
	bool is_found;

	do {
		const struct entry *entry;
		uint32_t n;

		before = __atomic_load_n(&objects.sequence, __ATOMIC_ACQUIRE);
		if (before & 1)
			return false;	/* for now */
		/* Acquire: as many as that are in this memory, or in a bigger one. */
		n = __atomic_load_n(&objects.n, __ATOMIC_ACQUIRE);
		entry = __atomic_load_n(&objects.entry, __ATOMIC_RELAXED);
		is_found = false;
		for (uint32_t i = 0; i < n && !is_found; i++) {
			if (pc < get(&entry[i].begin) || pc >= get(&entry[i].end))
				continue;
			object->base = get(&entry[i].base);
			object->headers = (const void *)get(&entry[i].headers);
			object->n_headers = (uint16_t)get(&entry[i].n_headers);
			is_found = true;
		}
		/* Acquire, as a fence: what was read is from before this. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&objects.sequence, __ATOMIC_RELAXED) != before);
	return is_found;
}

bool tp_stack_object_find(uint64_t pc, struct tp_stack_object *object)
{
	struct found_object found;

	if (!objects.find)
		return find_in_list(pc, object);
	return !objects.find((void *)pc, &found) && read_headers(&found, object);
}

/* ---- the list ---- */

struct count {
	uint32_t n;
	uint64_t n_changes;
};

static int count_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct count *count = ctx;

	count->n++;
	count->n_changes = info->dlpi_adds + info->dlpi_subs;
	return 0;
}

static int copy_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	uint64_t begin = UINT64_MAX, end = 0;
	struct entry *entry;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		begin = at < begin ? at : begin;
		end = at + part->p_memsz > end ? at + part->p_memsz : end;
	}
	if (objects.n == objects.room)
		return 1;
	entry = &objects.entry[objects.n];
	set(&entry->begin, begin);
	set(&entry->end, end);
	set(&entry->base, info->dlpi_addr);
	set(&entry->headers, (uint64_t)info->dlpi_phdr);
	set(&entry->n_headers, info->dlpi_phnum);
	__atomic_store_n(&objects.n, objects.n + 1, __ATOMIC_RELEASE);
	return 0;
}

void tp_stack_objects_look(void)
{
	struct count count = { 0 };
	uint32_t n;

	if (objects.find)
		return;
	dl_iterate_phdr(count_object, &count);
	n = count.n;
	if (count.n_changes == objects.n_changes)
		return;
	objects.n_changes = count.n_changes;
	__atomic_fetch_add(&objects.sequence, 1, __ATOMIC_SEQ_CST);
	if (n > objects.room) {
		struct entry *more = tp_stack_map((n + 64) * sizeof(*more));

		if (more) {
			__atomic_store_n(&objects.entry, more, __ATOMIC_RELAXED);
			objects.room = n + 64;
		}
	}
	__atomic_store_n(&objects.n, 0, __ATOMIC_RELAXED);
	dl_iterate_phdr(copy_object, NULL);
	__atomic_fetch_add(&objects.sequence, 1, __ATOMIC_SEQ_CST);
}

void tp_stack_objects_open(bool own_list)
{
	*(void **)&objects.find = own_list ? NULL : dlsym(RTLD_DEFAULT, "_dl_find_object");
	if (!objects.find) {
		dlerror();
		tp_stack_objects_look();
	}
	tp_stack_objects_shrank();
}

static int read_subs(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	*(uint64_t *)ctx = info->dlpi_subs;
	return 1;
}

bool tp_stack_objects_shrank(void)
{
	uint64_t n = 0;

	dl_iterate_phdr(read_subs, &n);
	return __atomic_exchange_n(&objects.n_unmapped, n, __ATOMIC_RELAXED) != n;
}
