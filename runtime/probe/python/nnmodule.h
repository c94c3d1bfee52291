/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nnmodule.h - nn.Modules as stacks have them: which frames are their calls, and their numbers
 *
 * A module's number is its place in a table by address, which only fills up; where another class
 * comes to stand at the address, the place counts on. So a module that died and one of another
 * class at its address have two numbers; two of one class in one window are taken for one.
 * Numbers are made without a lock, on any thread.
 */
#ifndef TP_PROBE_NNMODULE_H
#define TP_PROBE_NNMODULE_H

#include <stdint.h>

struct tp_nnmodule {
	const char *module;		/* atomic; NULL: free */
	uint64_t window;		/* its start, in which the name was told */
	const char *type;
	uint32_t turn;			/* atomic */
};

/* Atomic: the code of _wrapped_call_impl, which a frame that is a call runs; NULL: not seen yet. */
extern const char *tp_nnmodule_code __attribute__((visibility("hidden")));

/* The place of the module at this address; NULL: too many, counted. */
struct tp_nnmodule *tp_nnmodule_find(const char *module);
uint32_t tp_nnmodule_number_of(const struct tp_nnmodule *place);
/* The number of the module at this address, which need not be alive. 0: too many. */
uint32_t tp_nnmodule_number(const char *module);
/* One of another class stands there now. */
void tp_nnmodule_turn(struct tp_nnmodule *place);

/* Modules that found no place. */
uint64_t tp_nnmodule_lost(void);
/* In the child of fork: no name was told. */
void tp_nnmodule_forked(void);

#endif
