/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_memory.h - which memory a walk may read
 *
 * A thread's own stack lies below an address that is known: of a thread that pthread_create made,
 * the thread's own descriptor; of the first one, where the C library noted the program to begin.
 * What lies between there and the stack pointer stays mapped as long as the thread lives, once
 * it is seen to be one piece. On any other stack the kernel is asked about each page.
 */
#ifndef TP_PROBE_STACK_MEMORY_H
#define TP_PROBE_STACK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/probe/stack/stack_walk.h"

/* Once, when the session opens. */
void tp_stack_memory_open(void);
/* This is a child of fork: its only thread may be one that pthread_create made. */
void tp_stack_memory_forked(void);

/* Finds the top of this thread's own stack. */
void tp_stack_memory_begin(struct tp_stack_walk *walk);

bool tp_stack_memory_is_own_slow(struct tp_stack_walk *walk, uint64_t sp);
/* A walk begins here: is it on the thread's own stack? */
static inline bool tp_stack_memory_is_own(struct tp_stack_walk *walk, uint64_t sp)
{
	if (tp_likely(sp >= walk->low && sp < walk->top))
		return true;
	return tp_stack_memory_is_own_slow(walk, sp);
}

enum { TP_STACK_ROOM = 2048 };	/* bytes: three times what a stack takes where it is asked for */

bool tp_stack_memory_has_room_slow(struct tp_stack_walk *walk, uint64_t sp);
/* May as many bytes below be used? Where nobody can tell, it is asked whether they can be read. */
static inline bool tp_stack_memory_has_room(struct tp_stack_walk *walk, uint64_t sp)
{
	if (tp_likely(sp - TP_STACK_ROOM >= walk->low && sp < walk->top))
		return true;
	return tp_stack_memory_has_room_slow(walk, sp);
}

bool tp_stack_can_read_slow(struct tp_stack_walk *walk, uint64_t at);
/* May the word at `at` be read? */
static inline bool tp_stack_can_read(struct tp_stack_walk *walk, uint64_t at)
{
	if (tp_likely(at >= walk->low && at < walk->top - 7))
		return true;
	return tp_stack_can_read_slow(walk, at);
}

static inline uint64_t tp_stack_word(uint64_t at)
{
	uint64_t word;

	memcpy(&word, (const void *)at, sizeof(word));
	return word;
}

#endif
