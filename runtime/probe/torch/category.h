/* SPDX-License-Identifier: Apache-2.0 */
/*
 * category.h - what tensors are for, as the optimizer and the model beside it show
 *
 * Once a window and optimizer, at the end of its step: its parameters, their gradients, its
 * state; then parameters and buffers of the modules that frames above it and the program's own
 * module name. Everything else is told by the lives of blocks, in the merge.
 *
 * Threads: the one that steps, inside torch's callback, with no lock of ours held. Takes the
 * interpreter's lock, runs no Python of the program's, keeps no reference, leaves no exception.
 */
#ifndef TP_PROBE_CATEGORY_H
#define TP_PROBE_CATEGORY_H

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_category_probe __attribute__((visibility("hidden")));

/* An optimizer's step has ended, and the engine knows. */
void tp_category_step_end(uint64_t who);

#endif
