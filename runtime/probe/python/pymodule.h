/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pymodule.h - calls of nn.Modules: which frames they are, which module, what it is called
 *
 * Nothing is put into the program for it. Every call of a module goes through two functions of
 * torch, Module._wrapped_call_impl and Module._call_impl, and the second asks first whether a
 * trace is being made: torch::jit::tracer::getTracingState(), which preload/hook_torch.c stands
 * before. So each call is heard of once, exactly, on its thread and with the interpreter's lock
 * held by the program; whose call it is says the frame of the first function, whose first variable
 * is the module. From then on that frame tells whether the call still goes on (pystack.c).
 *
 * A module is its address, numbered (nnmodule.h); names are read through the public API while the
 * lock is held, the first time a module is called in a window: those of all modules inside the
 * outermost one. Nothing is kept.
 *
 * Where the program is compiled (Dynamo), _call_impl does not run for what is inside the
 * compiled region: its outermost module only is seen.
 */
#ifndef TP_PROBE_PYMODULE_H
#define TP_PROBE_PYMODULE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_pyframe_layout;
struct tp_text;

extern uint32_t tp_pymodule_is_armed __attribute__((visibility("hidden")));	/* atomic */

/* Once: frames are read by `layout`, whose `locals` was compared with the public API. `called` hears
 * of each call on its thread; `window`: the one that is open, by its start. */
void tp_pymodule_open(const struct tp_pyframe_layout *layout,
		      void (*called)(const char *frame));
void tp_pymodule_arm(bool is_armed);

/* getTracingState is being called. Keeps errno. */
void tp_pymodule_tracing_asked(void);
static inline void tp_pymodule_maybe_called(void)
{
	if (__builtin_expect(__atomic_load_n(&tp_pymodule_is_armed, __ATOMIC_RELAXED) != 0, 0))
		tp_pymodule_tracing_asked();
}

void tp_pymodule_report(struct tp_text *totals);
void tp_pymodule_forked(void);

#endif
