/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_libunwind.h - libunwind in an address space of ours
 *
 * Found at run time and never linked: linked, it would catch the program's C++ exceptions. Its own
 * way to read this process asks the kernel, by a pipe among the guest's descriptors, whether an
 * address can be read, and the loader, whose lock another thread may have while it waits for memory,
 * where unwind tables are. So it steps as if in another process, whose registers, memory and
 * tables it gets from here: without a descriptor, a lock or a cancellation point.
 */
#ifndef TP_PROBE_STACK_LIBUNWIND_H
#define TP_PROBE_STACK_LIBUNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* This thread is about to make it ready, which opens a pipe: none is to be had (hook_dl.c). */
extern __thread bool tp_stack_no_pipe
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__x86_64__)
#include <libunwind.h>

/* What a cursor reads, its accessors' argument. */
struct tp_stack_source {
	uint64_t reg[UNW_X86_64_RIP + 1];	/* by libunwind's numbers */
	/* Memory that is no library's. False: it may not be read. */
	bool (*read)(void *ctx, uint64_t at, uint64_t *word);
	void *ctx;
	uint64_t low, end;	/* of a library: readable, met last */
	int found;		/* < 0: why there is no description of the code that was looked up last */
};

struct tp_stack_libunwind {
	__typeof__(&unw_create_addr_space) create_addr_space;
	__typeof__(&unw_init_remote) init_remote;
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	__typeof__(&unw_get_save_loc) get_save_loc;
	__typeof__(&unw_set_caching_policy) set_caching_policy;
	__typeof__(&unw_flush_cache) flush_cache;
	int (*search)(unw_addr_space_t space, unw_word_t pc, unw_dyn_info_t *table,
		      unw_proc_info_t *info, int is_whole, void *source);
	unw_addr_space_t fresh;		/* remembers nothing */
	unw_addr_space_t quick;		/* remembers by return address; wrong where a signal came */
};
extern struct tp_stack_libunwind tp_stack_libunwind __attribute__((visibility("hidden")));

/* NULL, or why there is no libunwind. */
const char *tp_stack_libunwind_open(void);
#endif

#endif
