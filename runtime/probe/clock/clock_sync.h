/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_sync.h - what the merge needs to compare this host's clock with others'
 *
 * Always, in META and END: what NTP says of CLOCK_REALTIME, and by how much a time namespace
 * shifts CLOCK_MONOTONIC. With TRAINPROF_CLOCK_SYNC: datagrams to and from the first rank while
 * windows are open, as EXCHANGE records. All on the drain thread; nothing waits for an answer,
 * a datagram that is lost is nothing.
 */
#ifndef TP_PROBE_CLOCK_SYNC_H
#define TP_PROBE_CLOCK_SYNC_H

#include "runtime/engine/probe.h"

extern const struct tp_probe tp_clock_sync_probe __attribute__((visibility("hidden")));

#endif
