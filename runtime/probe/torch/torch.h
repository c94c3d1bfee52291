/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.h - operators, autograd nodes, user ranges and training steps, from PyTorch's own
 * RecordFunction callbacks
 *
 * Callbacks are registered from C through torch's exported symbols; object layouts are
 * measured on objects of our own (torch_layout.c), and what is not found without doubt is
 * switched off alone. User ranges are seen all the time (torch_ranges.h), operators only while a
 * window is open.
 */
#ifndef TP_PROBE_TORCH_H
#define TP_PROBE_TORCH_H

#include <stdbool.h>

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_torch_probe __attribute__((visibility("hidden")));

/* In the constructor: what ending threads leave of the probe's memory goes to the others. */
void tp_torch_spans_init(void);
/*
 * Looks for PyTorch in the process. 0: not there (yet); 1: there, and user ranges are being
 * watched from now on; -1: there, but it cannot be watched (the reason is kept for
 * tp_torch_probe.open). want_shapes: also measure what recording input shapes needs; only
 * where an operator may be called, not inside a static initialiser.
 */
int tp_torch_watch(bool want_shapes);
/* The session was opened before torch was there; now it is, and is watched. */
void tp_torch_found(void);
/* The session did not open: nothing will ever be recorded. */
void tp_torch_unwatch(void);

#endif
