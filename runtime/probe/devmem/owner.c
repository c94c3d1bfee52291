/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.c - which library asked CUDA for memory: an estimate, from the words on the stack
 *
 * The snapshot has two copies: one is read while the other is written. A reader that was
 * asleep while both were written sees that by the number of the snapshot, and looks again.
 * Judgements on return addresses are kept, with the number of the snapshot that they hold for:
 * an allocation from a place that allocated before reads no code. What came after the snapshot
 * (the loader's list goes on behind the last object of it) is looked up with _dl_find_object, which
 * waits for nothing, where the C library has that (glibc 2.35).
 */
#include "runtime/probe/devmem/owner.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/readable.h"
#include "runtime/base/sync.h"
#include "runtime/probe/devmem/owner_call.h"

enum {
	MOST_RANGES = 2048,	/* executable segments */
	MOST_OWNERS = 1024,
	PATH_BYTES = 96 << 10,	/* of all owners' paths */
	JUDGED = 512,
	FUNCTION_BYTES = 512,	/* less than a page: PyTorch's takes 228 */
	PAGE = 4096,		/* the smallest there is: larger ones are asked about more often */
	TRIES = 4,		/* of a reader that a newer snapshot overtakes */
};

enum role {
	MAY_ASK,
	PASSED_OVER,	/* CUDA's, and ours */
	NEVER_ASKS,	/* runtimes of languages: words of them are old ones */
};

struct range {
	uintptr_t begin, end;			/* executable */
	uintptr_t object_begin, object_end;	/* all of its object */
	uint32_t owner;
	uint32_t role;				/* enum role */
	const char *path;			/* of an object that is not in the snapshot */
};

struct snapshot {
	uint32_t n;
	struct range range[MOST_RANGES];	/* by address */
};

static struct {
	uint32_t number;		/* atomic: snapshots taken */
	uint32_t is_busy;		/* atomic: a snapshot is being taken */
	struct tp_spin lock;		/* around the paths */
	unsigned long long adds, subs;	/* of the loader, at the last one */
	const struct link_map *last;	/* atomic: of the loader's list then; NULL: not known */
	struct snapshot snapshot[2];
	uint32_t n_owners;		/* atomic; the first is "" */
	uint32_t path_at[MOST_OWNERS];
	char path[PATH_BYTES];
	uint32_t n_path;
	/* return address << 16 | snapshot's low 14 bits << 2 | enum judgement; atomic */
	uint64_t judged[JUDGED];
} owner = { .n_owners = 1, .n_path = 1, .lock = { .rank = TP_LOCK_OWNER } };

enum judgement { NO, PERHAPS, YES };

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

static enum role role_of(const char *path)
{
	static const char *const runtimes[] = {
		"libc.so", "libc-", "libm.so", "libm-", "libdl", "libpthread", "librt.so", "ld-linux",
		"libstdc++.so", "libgcc_s.so", "libpython", "python",
	};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (begins(name, "libcuda.so") || begins(name, "libcudart.so") ||
	    begins(name, "libcupti.so") || begins(name, "libtrainprof.so"))
		return PASSED_OVER;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (begins(name, runtimes[i]))
			return NEVER_ASKS;
	return MAY_ASK;
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

static void copy_range(struct range *to, const struct range *from)
{
	for (size_t i = 0; i < sizeof(*to) / sizeof(word); i++)
		__atomic_store_n((word *)to + i, __atomic_load_n((const word *)from + i, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

static void add_range(struct snapshot *snapshot, const struct range *range)
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
	struct range range = { .object_begin = UINTPTR_MAX };

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

	while (at && at->l_next)
		at = at->l_next;
	__atomic_store_n(&owner.last, at, __ATOMIC_RELEASE);
	return 1;
}

void tp_owner_refresh(void)
{
	unsigned long long changes[2] = { 0, 0 };
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
		dl_iterate_phdr(find_last, NULL);
		dl_iterate_phdr(add_object, next);
		__atomic_store_n(&owner.number, number + 1, __ATOMIC_RELEASE);
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

static bool is_readable(uintptr_t address);

/* Libraries came since the snapshot, or the last one of then went: its memory may be anything. */
static __attribute__((no_sanitize("thread"), no_sanitize("address")))
bool is_out_of_date(void)
{
	const struct link_map *last = __atomic_load_n(&owner.last, __ATOMIC_ACQUIRE);

	return last && find_object &&
	       (!is_readable((uintptr_t)&last->l_next) ||
		*(struct link_map *const volatile *)&last->l_next != NULL);
}

/* An object that came after the snapshot. Which of it is code is not known here. */
static bool find_new(uintptr_t address, struct range *found)
{
	struct found_object object;
	const char *path;

	if (find_object((void *)address, &object) || !object.link_map || !object.link_map->l_name)
		return false;
	path = object.link_map->l_name;
	*found = (struct range){
		.begin = (uintptr_t)object.map_begin, .end = (uintptr_t)object.map_end,
		.object_begin = (uintptr_t)object.map_begin,
		.object_end = (uintptr_t)object.map_end,
		.role = role_of(path), .path = path,
	};
	return true;
}

static bool find_old(uint32_t number, uintptr_t address, struct range *found)
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

/* `is_old`: the snapshot has not all there is. */
static bool find_range(uint32_t number, bool is_old, uintptr_t address, struct range *found)
{
	return find_old(number, address, found) || (is_old && find_new(address, found));
}

static uint32_t snapshot_number(void)
{
	return __atomic_load_n(&owner.number, __ATOMIC_ACQUIRE);
}

/* What was looked up in the snapshot `*number` holds, for no newer one was finished meanwhile; otherwise
 * *number is the newer one. */
static bool is_still(uint32_t *number)
{
	uint32_t now = snapshot_number();
	bool is_same = now == *number;

	*number = now;
	return is_same;
}

uint16_t tp_owner_of(const void *address)
{
	uint32_t number = snapshot_number(), n_tries = 0;
	struct range range;

	if (!address)
		return 0;
	while (!find_range(number, is_out_of_date(), (uintptr_t)address, &range))
		if (is_still(&number) || ++n_tries == TRIES)
			return 0;
	return (uint16_t)(range.path ? number_of(range.path) : range.owner);
}

const char *tp_owner_path(uint16_t number)
{
	if (!number || number >= __atomic_load_n(&owner.n_owners, __ATOMIC_ACQUIRE))
		return "";
	return owner.path + owner.path_at[number];
}

/* ---- the stack ---- */

/* A library may be gone since the snapshot, and a stack may end: the kernel knows. */
static bool is_readable(uintptr_t address)
{
	return tp_is_readable((const void *)(address & ~(uintptr_t)7));
}

static bool are_readable(uintptr_t address, uint32_t n)
{
	return is_readable(address) && is_readable(address + n - 1);
}

/* Leads the slot, which lies in the caller's object, into a library that is passed over? */
static enum judgement judge_slot(uint32_t number, bool is_old, const struct range *caller,
				 uintptr_t slot)
{
	struct range to;

	if (slot < caller->object_begin || slot + sizeof(uintptr_t) > caller->object_end ||
	    slot % sizeof(uintptr_t) || !is_readable(slot) ||
	    !find_range(number, is_old, *(const uintptr_t *)slot, &to))
		return PERHAPS;
	return to.role == PASSED_OVER ? YES : NO;
}

/* The function that was called may have left its place on the stack to what it calls last, as PyTorch's
 * allocator does with cudaMalloc: is there such a jump into CUDA? */
static enum judgement judge_function(uint32_t number, bool is_old, const struct range *of, uintptr_t code)
{
	uintptr_t end = of->end - code < FUNCTION_BYTES ? of->end : code + FUNCTION_BYTES;

	if (!are_readable(code, (uint32_t)(end - code)))
		return NO;
	for (; code + 8 <= end; code += TP_CALL_STEP) {
		uintptr_t slot = 0, to;
		enum tp_call_form form = tp_call_jump((const uint8_t *)code, &to);

		if (form == TP_CALL_SLOT)
			slot = to;
		else if (form == TP_CALL_DIRECT && to >= of->begin && to < of->end - 16 &&
			 are_readable(to, 16))
			slot = tp_call_stub_slot((const uint8_t *)to);
		if (slot && judge_slot(number, is_old, of, slot) == YES)
			return YES;
	}
	return NO;
}

static enum judgement judge_code(uint32_t number, bool is_old, const struct range *caller,
				 uintptr_t back)
{
	struct range to;
	uintptr_t target, slot;

	if (back < caller->begin + 8 || !are_readable(back - 8, 8))
		return NO;
	switch (tp_call_before((const uint8_t *)back, &target)) {
	case TP_CALL_POINTER:
		return PERHAPS;
	case TP_CALL_SLOT:
		return judge_slot(number, is_old, caller, target);
	case TP_CALL_DIRECT:
		if (!find_range(number, is_old, target, &to))
			return NO;
		if (to.role == PASSED_OVER)
			return YES;
		if (to.object_begin != caller->object_begin || target + 16 > to.end ||
		    !are_readable(target, 16))
			return NO;
		slot = tp_call_stub_slot((const uint8_t *)target);
		return slot ? judge_slot(number, is_old, caller, slot) :
			      judge_function(number, is_old, &to, target);
	default:
		return NO;
	}
}

static enum judgement judge(uint32_t number, bool is_old, uintptr_t back)
{
	uint64_t *place = &owner.judged[(back >> 1 ^ back >> 12) % JUDGED];
	uint64_t tag = (uint64_t)back << 16 | (number & 0x3fff) << 2;
	uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
	enum judgement judgement = NO;
	struct range range;

	if ((known & ~3ull) == tag)
		return (enum judgement)(known & 3);
	if (find_range(number, is_old, back, &range) && range.role == MAY_ASK)
		judgement = judge_code(number, is_old, &range, back);
	/* What is nothing now may be code of what comes later. */
	if (!is_old)
		__atomic_store_n(place, tag | judgement, __ATOMIC_RELAXED);
	return judgement;
}

static __attribute__((no_sanitize("address"), no_sanitize("thread")))
const void *caller_in(uint32_t number, const void *stack, uint32_t n_bytes)
{
	const struct snapshot *snapshot = &owner.snapshot[number % 2];
	uintptr_t at = ((uintptr_t)stack + 7) & ~(uintptr_t)7, end = (uintptr_t)stack + n_bytes;
	uint32_t n = __atomic_load_n(&snapshot->n, __ATOMIC_ACQUIRE);
	uintptr_t least = PAGE, most = UINTPTR_MAX >> 16, perhaps = 0;
	bool is_old;

	if (!number || !n)
		return NULL;
	is_old = is_out_of_date();
	if (!is_old) {
		least = __atomic_load_n(&snapshot->range[0].begin, __ATOMIC_RELAXED);
		most = __atomic_load_n(&snapshot->range[n - 1].end, __ATOMIC_RELAXED);
	}
	for (; at + sizeof(uintptr_t) <= end; at += sizeof(uintptr_t)) {
		uintptr_t value;

		if (at % PAGE == 0 && !is_readable(at))
			break;
		value = *(const uintptr_t *)at;
#ifdef __aarch64__
		value &= 0xffffffffffffull;	/* signed return addresses */
#endif
		if (value < least || value >= most)
			continue;
		switch (judge(number, is_old, value)) {
		case YES:
			return (const void *)value;
		case PERHAPS:
			perhaps = perhaps ? perhaps : value;
			break;
		default:
			break;
		}
	}
	return (const void *)perhaps;
}

const void *tp_owner_caller_in(const void *stack, uint32_t n_bytes)
{
	uint32_t number = snapshot_number(), n_tries = 0;
	const void *caller;

	do
		caller = caller_in(number, stack, n_bytes);
	while (!is_still(&number) && ++n_tries < TRIES);
	return caller;
}

const void *tp_owner_caller(void)
{
	return tp_owner_caller_in(__builtin_frame_address(0), TP_OWNER_SCAN_BYTES);
}
