/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive.h - is the process that wrote a ring still there?
 */
#ifndef TP_MERGE_ALIVE_H
#define TP_MERGE_ALIVE_H

#include <stdbool.h>

#include "runtime/trace/ring_layout.h"

/*
 * fd: the ring, open. By its number and start, where numbers of processes mean the same as where it
 * ran; else by the lock that it holds on the ring, in another container or on another machine.
 */
bool tp_alive(const struct tp_ring_head *ring, int fd);

#endif
