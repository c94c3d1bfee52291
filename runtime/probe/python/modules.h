/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - which code was mapped where and when, as strings MODULE of the trace
 */
#ifndef TP_PROBE_MODULES_H
#define TP_PROBE_MODULES_H

#include "runtime/engine/probe.h"

/* A probe of its own: looks when a window begins, on each tick when something was loaded or
 * unloaded, and before a window's file is finished. Off unless stacks are recorded. */
extern const struct tp_probe tp_modules_probe;

#endif
