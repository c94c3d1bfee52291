/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_memory.c - ranges at whose start and end memory is looked at
 */
#include "runtime/engine/range_memory.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/trace/range_names.h"

enum { N_SEEN = 64 };

/* What was found out of a name: the ring's generation << 32 | id << 1 | whether it is meant. */
static uint64_t seen[N_SEEN];	/* atomic */
static const char *names = "";
static uint32_t is_due;		/* atomic; futex word */
bool tp_range_memory_is_on;

void tp_range_memory_open(const char *of)
{
	names = of;
	tp_range_memory_is_on = of[0] != '\0';
}

static bool is_meant(uint32_t name)
{
	const uint64_t key = (uint64_t)tp_ring.generation << 32 | (uint64_t)name << 1;
	const uint64_t found = __atomic_load_n(&seen[name % N_SEEN], __ATOMIC_RELAXED);
	const char *bytes;
	uint32_t kind, n;
	bool is;

	if ((found & ~1ull) == key)
		return found & 1;
	if (!tp_intern_get(NULL, name, &kind, &bytes, &n))
		return false;
	is = tp_range_names_have(names, bytes, n);
	__atomic_store_n(&seen[name % N_SEEN], key | is, __ATOMIC_RELAXED);
	return is;
}

void tp_range_memory_tell_named(uint32_t name)
{
	const struct timespec most = {.tv_nsec = 2000000};
	const int saved_errno = errno;

	if (!is_meant(name))
		return;
	/* Not 0 before the bell: the drain thread may be done when it returns. */
	__atomic_store_n(&is_due, 1, __ATOMIC_RELEASE);
	tp_ring_ring_bell();
	syscall(SYS_futex, &is_due, FUTEX_WAIT_PRIVATE, 1, &most, NULL, 0);
	errno = saved_errno;
}

bool tp_range_memory_is_due(void)
{
	return __atomic_load_n(&is_due, __ATOMIC_ACQUIRE);
}

void tp_range_memory_done(void)
{
	__atomic_store_n(&is_due, 0, __ATOMIC_RELEASE);
	syscall(SYS_futex, &is_due, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
