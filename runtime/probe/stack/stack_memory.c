/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_memory.c - the bounds of stacks
 */
#include "runtime/probe/stack/stack_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/readable.h"

enum { PAGE = 4096 };
/* Further away from the top it is another stack. */
#define MOST_STACK (1ull << 30)

static struct {
	uint64_t first_top;	/* of the first thread's stack */
	bool is_forked;
} memory;

static bool is_readable(uint64_t at)
{
	return tp_is_readable((const void *)(at & ~7ull));
}

void tp_stack_memory_open(void)
{
	void *const *end = dlsym(RTLD_DEFAULT, "__libc_stack_end");

	if (end)
		memory.first_top = ((uint64_t)*end + PAGE) & ~(uint64_t)(PAGE - 1);
	else
		dlerror();
}

void tp_stack_memory_forked(void)
{
	memory.is_forked = true;
}

void tp_stack_memory_begin(struct tp_stack_walk *walk)
{
	uint64_t self = (uint64_t)pthread_self(), here = (uint64_t)__builtin_frame_address(0);
	bool is_first = syscall(SYS_gettid) == getpid();

	/* The descriptor of the first thread is no part of its stack. */
	if (is_first && memory.is_forked && here < self && self < memory.first_top)
		is_first = here >= memory.first_top - MOST_STACK && self < here;
	walk->top = is_first ? memory.first_top : self;
	walk->low = (walk->top + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	walk->gap = 0;
	walk->page_low = walk->page_end = 0;
}

bool tp_stack_memory_is_own_slow(struct tp_stack_walk *walk, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(PAGE - 1);

	walk->page_low = page;		/* the caller stands on it */
	walk->page_end = page + PAGE;
	if (sp >= walk->top || walk->top - sp > MOST_STACK)
		return false;
	if (sp >= walk->low)
		return true;
	/* The page that told them apart the last time. */
	if (walk->gap >= page && walk->gap < walk->low && !is_readable(walk->gap))
		return false;
	for (uint64_t at = page; at < walk->low; at += PAGE) {
		if (!is_readable(at)) {
			walk->gap = at;
			return false;
		}
	}
	walk->low = page;
	return true;
}

/* This is a handler's stack: *room is what is left of it. */
static bool is_on_signal_stack(uint64_t sp, uint64_t *room)
{
	int kept_errno = errno;
	stack_t stack;
	bool is;

	*room = 0;
	is = !syscall(SYS_sigaltstack, NULL, &stack) && stack.ss_flags & SS_ONSTACK &&
	     sp - (uint64_t)stack.ss_sp < stack.ss_size;
	if (is)
		*room = sp - (uint64_t)stack.ss_sp;
	errno = kept_errno;
	return is;
}

bool tp_stack_memory_has_room_slow(struct tp_stack_walk *walk, uint64_t sp)
{
	uint64_t page = (sp - TP_STACK_ROOM) & ~(uint64_t)(PAGE - 1), room;

	if (tp_stack_memory_is_own(walk, sp)) {
		/* The first thread's grows by being asked for. */
		if (page < walk->low && !is_readable(page))
			return false;
		walk->low = page < walk->low ? page : walk->low;
		return true;
	}
	if (is_on_signal_stack(sp, &room))
		return room >= TP_STACK_ROOM;
	return page == (sp & ~(uint64_t)(PAGE - 1)) || is_readable(page);
}

bool tp_stack_can_read_slow(struct tp_stack_walk *walk, uint64_t at)
{
	uint64_t page = at & ~(uint64_t)(PAGE - 1), end = (at + 7) & ~(uint64_t)(PAGE - 1);

	if (at >= walk->page_low && at + 8 <= walk->page_end)
		return true;
	if (!is_readable(page) || (end != page && !is_readable(end)))
		return false;
	end += PAGE;
	/* Pages are met from the inside out; a page further on begins anew. */
	if (page > walk->page_end || end < walk->page_low) {
		walk->page_low = page;
		walk->page_end = end;
	} else {
		walk->page_low = page < walk->page_low ? page : walk->page_low;
		walk->page_end = end > walk->page_end ? end : walk->page_end;
	}
	return true;
}
