/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_deaths.c - has a code object died that a stack has named?
 *
 * Of codes in use their type's destructor is told by nobody but the type itself: the word in the type
 * is replaced by a function of ours that counts and calls the one that was there. It runs with the
 * interpreter's lock, before the memory is free; a thread that has a frame of another code at the
 * same address got the lock later, so it sees the count.
 */
#include "runtime/probe/python/pystack_deaths.h"

#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/readable.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pystack_walk.h"

enum {
	TYPE_NAME = 24,		/* PyTypeObject.tp_name, the same since there is Python 3 */
	TYPE_DEALLOC = 48,	/* .tp_dealloc */
	MET_BITS = 16,		/* 8 KiB: of 2,000 codes, a program's, one in thirty others looks met */
};

static struct {
	void (*real)(void *code);
	uint64_t met[(1 << MET_BITS) / 64];	/* atomic: bits, by address */
} deaths;

static uint64_t *find_bit(const char *code, uint64_t *bit)
{
	uint64_t at = tp_hash_mix((uintptr_t)code) >> (64 - MET_BITS);

	*bit = 1ull << at % 64;
	return &deaths.met[at / 64];
}

void tp_pystack_code_met(const char *code)
{
	uint64_t bit, *word = find_bit(code, &bit);

	__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

void tp_pystack_code_died(const char *code)
{
	uint64_t bit, *word = find_bit(code, &bit);

	if (tp_unlikely(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_add(&tp_pystack_how.changes, 1, __ATOMIC_RELAXED);
}

static void end_code(void *code)
{
	tp_pystack_code_died(code);
	deaths.real(code);
}

/* Of a code made for it: does its death reach us? */
static bool is_told(void)
{
	void *code = tp_py.new_code("<trainprof>", "<trainprof>", 1);
	uint64_t before = __atomic_load_n(&tp_pystack_how.changes, __ATOMIC_RELAXED);

	if (!code) {
		tp_py.clear();
		return false;
	}
	tp_pystack_code_met(code);
	tp_py.drop(code);
	return __atomic_load_n(&tp_pystack_how.changes, __ATOMIC_RELAXED) != before;
}

const char *tp_pystack_watch_codes(void)
{
	char *type = tp_py.code_type, *at = type + TYPE_DEALLOC;
	void (*ours)(void *) = end_code;
	const char *name;

	if (deaths.real)
		return NULL;
	name = tp_pyframe_ptr(type, TYPE_NAME);
	if (!tp_is_readable(name) || strcmp(name, "code") != 0)
		return "the type of code objects is not as expected";
	memcpy(&deaths.real, at, sizeof(deaths.real));
	__atomic_store_n((uintptr_t *)(void *)at, (uintptr_t)ours, __ATOMIC_RELEASE);
	if (is_told())
		return NULL;
	__atomic_store_n((uintptr_t *)(void *)at, (uintptr_t)deaths.real, __ATOMIC_RELEASE);
	deaths.real = NULL;
	return "code objects die without a word";
}
