/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner_objects.c - which library is mapped where
 *
 * The snapshot has two copies: one is read while the other is written. A reader that was
 * asleep while both were written sees that by the number of the snapshot, and looks again. What
 * came after the snapshot (the loader's list goes on behind the last object of it) is looked up
 * with _dl_find_object, which waits for nothing, where the C library has that (glibc 2.35).
 */
#include "runtime/probe/devmem/owner_objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/readable.h"
#include "runtime/base/sync.h"

enum {
	MOST_RANGES = 2048,	/* executable segments */
	MOST_OWNERS = 1024,
	PATH_BYTES = 96 << 10,	/* of all owners' paths */
};

struct snapshot {
	uint32_t n;
	struct tp_owner_range range[MOST_RANGES];	/* by address */
};

/* Of the loader's list, when the snapshot was taken. Written after the number of the snapshot, so that who
 * reads it with an older number sees that the number is old. Atomic, each. */
struct last {
	const struct link_map *object;	/* NULL: not known */
	uintptr_t at, dynamic;		/* its l_addr and l_ld: another one may have come to its place */
};

static struct {
	uint32_t number;		/* atomic: snapshots taken */
	uint32_t is_busy;		/* atomic: a snapshot is being taken */
	struct tp_spin lock;		/* around the paths */
	unsigned long long adds, subs;	/* of the loader, at the last one */
	struct last last;
	struct snapshot snapshot[2];
	uint32_t n_owners;		/* atomic; the first is "" */
	uint32_t path_at[MOST_OWNERS];
	char path[PATH_BYTES];
	uint32_t n_path;
} owner = { .n_owners = 1, .n_path = 1, .lock = { .rank = TP_LOCK_OWNER } };

/* As glibc's <dlfcn.h> has it, which may be older than the library of the machine we run on. */
struct found_object {
	unsigned long long flags;
	void *map_begin, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[16];
};
static int (*find_object)(void *address, struct found_object *result);

/* ---- the snapshot ---- */

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static enum tp_owner_role role_of(const char *path)
{
	static const char *const runtimes[] = {
		"libc.so", "libc-", "libm.so", "libm-", "libdl", "libpthread", "librt.so", "ld-linux",
		"libstdc++.so", "libgcc_s.so", "libpython", "python",
	};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (begins(name, "libcuda.so") || begins(name, "libcudart.so") ||
	    begins(name, "libcupti.so") || begins(name, "libtrainprof.so"))
		return TP_OWNER_PASSED_OVER;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (begins(name, runtimes[i]))
			return TP_OWNER_NEVER_ASKS;
	return TP_OWNER_MAY_ASK;
}

/* Under the lock. 0: no room. */
static uint32_t add_path(const char *path, size_t len)
{
	uint32_t n = owner.n_owners;

	if (n == MOST_OWNERS || owner.n_path + len + 1 > PATH_BYTES)
		return 0;
	memcpy(owner.path + owner.n_path, path, len + 1);
	owner.path_at[n] = owner.n_path;
	owner.n_path += (uint32_t)len + 1;
	__atomic_store_n(&owner.n_owners, n + 1, __ATOMIC_RELEASE);
	return n;
}

/* The number of that path, a new one if need be; 0: it is "", or there is no room. */
static uint32_t number_of(const char *path)
{
	uint32_t number = 0;

	if (!*path)
		return 0;
	tp_spin_lock(&owner.lock);
	for (uint32_t i = 1; i < owner.n_owners && !number; i++)
		if (!strcmp(owner.path + owner.path_at[i], path))
			number = i;
	if (!number)
		number = add_path(path, strlen(path));
	tp_spin_unlock(&owner.lock);
	return number;
}

/*
 * Word by word: a reader may look at the same time, and throws away what it saw. Release: not
 * before the number of the newer snapshot; acquire: the number is looked at after them.
 */
typedef uint64_t word __attribute__((may_alias));

static void copy_range(struct tp_owner_range *to, const struct tp_owner_range *from)
{
	for (size_t i = 0; i < sizeof(*to) / sizeof(word); i++)
		__atomic_store_n((word *)to + i, __atomic_load_n((const word *)from + i, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

static void add_range(struct snapshot *snapshot, const struct tp_owner_range *range)
{
	uint32_t at = snapshot->n;

	if (at == MOST_RANGES)
		return;
	for (; at && snapshot->range[at - 1].begin > range->begin; at--)
		copy_range(&snapshot->range[at], &snapshot->range[at - 1]);
	copy_range(&snapshot->range[at], range);
	__atomic_store_n(&snapshot->n, snapshot->n + 1, __ATOMIC_RELEASE);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct snapshot *snapshot = ctx;
	static char program[512];
	const char *path = info->dlpi_name;
	struct tp_owner_range range = { .object_begin = UINTPTR_MAX };

	if (!path || !*path) {
		/* The program itself has no name here, nor has the kernel's own object. */
		ssize_t n = snapshot->n ? 0 : readlink("/proc/self/exe", program, sizeof(program) - 1);

		path = n > 0 ? program : "";
	}
	range.role = role_of(path);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		if (begin < range.object_begin)
			range.object_begin = begin;
		if (begin + part->p_memsz > range.object_end)
			range.object_end = begin + part->p_memsz;
	}
	range.owner = number_of(path);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		range.begin = info->dlpi_addr + part->p_vaddr;
		range.end = range.begin + part->p_memsz;
		add_range(snapshot, &range);
	}
	return 0;
}

static int read_changes(struct dl_phdr_info *info, size_t size, void *ctx)
{
	unsigned long long *changes = ctx;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		changes[0] = info->dlpi_adds;
		changes[1] = info->dlpi_subs;
	}
	return 1;
}

/* The last object of the loader's list. Under the loader's lock, which the thread sanitizer does
 * not see. */
static __attribute__((no_sanitize("thread")))
int find_last(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct link_map *at = _r_debug.r_map;
	struct last *last = ctx;

	while (at && at->l_next)
		at = at->l_next;
	if (at)
		*last = (struct last){ at, at->l_addr, (uintptr_t)at->l_ld };
	return 1;
}

static void publish(uint32_t number, const struct last *last)
{
	__atomic_store_n(&owner.number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&owner.last.at, last->at, __ATOMIC_RELEASE);
	__atomic_store_n(&owner.last.dynamic, last->dynamic, __ATOMIC_RELEASE);
	__atomic_store_n(&owner.last.object, last->object, __ATOMIC_RELEASE);
}

void tp_owner_refresh(void)
{
	unsigned long long changes[2] = { 0, 0 };
	struct last last = { .object = NULL };
	struct snapshot *next;
	uint32_t number;
	int kept_errno = errno;

	if (__atomic_exchange_n(&owner.is_busy, 1, __ATOMIC_ACQUIRE))
		return;
	number = __atomic_load_n(&owner.number, __ATOMIC_RELAXED);
	dl_iterate_phdr(read_changes, changes);
	if (!number || changes[0] != owner.adds || changes[1] != owner.subs) {
		owner.adds = changes[0];
		owner.subs = changes[1];
		next = &owner.snapshot[(number + 1) % 2];
		__atomic_store_n(&next->n, 0, __ATOMIC_RELEASE);
		if (!find_object)
			*(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
		dl_iterate_phdr(find_last, &last);
		dl_iterate_phdr(add_object, next);
		publish(number + 1, &last);
	}
	__atomic_store_n(&owner.is_busy, 0, __ATOMIC_RELEASE);
	errno = kept_errno;
}

void tp_owner_forked(void)
{
	/* Other threads of the parent may have had them. */
	atomic_store(&owner.lock.held, 0);
	__atomic_store_n(&owner.is_busy, 0, __ATOMIC_RELAXED);
}

/* ---- reading it ---- */

/* Libraries came since the snapshot, or the last one of then went: its memory may be anything. */
__attribute__((no_sanitize("thread"), no_sanitize("address")))
bool tp_owner_is_out_of_date(void)
{
	const volatile struct link_map *last = __atomic_load_n(&owner.last.object, __ATOMIC_ACQUIRE);

	return last && find_object &&
	       (!tp_is_readable((const void *)&last->l_addr) ||
		!tp_is_readable((const void *)&last->l_next) || last->l_next ||
		last->l_addr != __atomic_load_n(&owner.last.at, __ATOMIC_ACQUIRE) ||
		(uintptr_t)last->l_ld != __atomic_load_n(&owner.last.dynamic, __ATOMIC_ACQUIRE));
}

/*
 * By the loader, where the snapshot may be out of date: an object that came after it, perhaps to where
 * another one was. Which of it is code is not known here. `old`: what the snapshot has there, or NULL,
 * which stays where it is the same object, or the program (it has no name here).
 */
static bool find_new(uintptr_t address, const struct tp_owner_range *old, struct tp_owner_range *found)
{
	struct found_object object;
	const char *path;

	if (find_object((void *)address, &object) || !object.link_map || !object.link_map->l_name)
		return false;
	path = object.link_map->l_name;
	if (old && (!*path || !strcmp(path, tp_owner_path((uint16_t)old->owner))))
		return true;
	*found = (struct tp_owner_range){
		.begin = (uintptr_t)object.map_begin, .end = (uintptr_t)object.map_end,
		.object_begin = (uintptr_t)object.map_begin,
		.object_end = (uintptr_t)object.map_end,
		.role = role_of(path), .path = path,
	};
	return true;
}

static bool find_old(uint32_t number, uintptr_t address, struct tp_owner_range *found)
{
	const struct snapshot *snapshot = &owner.snapshot[number % 2];
	uint32_t low = 0, high = number ? __atomic_load_n(&snapshot->n, __ATOMIC_ACQUIRE) : 0;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (__atomic_load_n(&snapshot->range[middle].begin, __ATOMIC_RELAXED) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	copy_range(found, &snapshot->range[low - 1]);
	/* The other copy was finished and this one begun meanwhile: what was read is nothing. */
	return __atomic_load_n(&owner.number, __ATOMIC_RELAXED) == number &&
	       address >= found->begin && address < found->end;
}

bool tp_owner_find(uint32_t number, bool is_old, uintptr_t address, struct tp_owner_range *found)
{
	bool is_known = find_old(number, address, found);

	return is_old ? find_new(address, is_known ? found : NULL, found) : is_known;
}

uint32_t tp_owner_snapshot(void)
{
	return __atomic_load_n(&owner.number, __ATOMIC_ACQUIRE);
}

bool tp_owner_is_still(uint32_t *number)
{
	uint32_t now = tp_owner_snapshot();
	bool is_same = now == *number;

	*number = now;
	return is_same;
}

uint16_t tp_owner_of(const void *address)
{
	uint32_t number = tp_owner_snapshot(), n_tries = 0;
	struct tp_owner_range range;

	if (!address)
		return 0;
	while (!tp_owner_find(number, tp_owner_is_out_of_date(), (uintptr_t)address, &range))
		if (tp_owner_is_still(&number) || ++n_tries == TP_OWNER_TRIES)
			return 0;
	return (uint16_t)(range.path ? number_of(range.path) : range.owner);
}

const char *tp_owner_path(uint16_t number)
{
	if (!number || number >= __atomic_load_n(&owner.n_owners, __ATOMIC_ACQUIRE))
		return "";
	return owner.path + owner.path_at[number];
}

bool tp_owner_bounds(uint32_t number, uintptr_t *least, uintptr_t *most)
{
	const struct snapshot *snapshot = &owner.snapshot[number % 2];
	uint32_t n = number ? __atomic_load_n(&snapshot->n, __ATOMIC_ACQUIRE) : 0;

	if (!n)
		return false;
	*least = __atomic_load_n(&snapshot->range[0].begin, __ATOMIC_RELAXED);
	*most = __atomic_load_n(&snapshot->range[n - 1].end, __ATOMIC_RELAXED);
	return true;
}
