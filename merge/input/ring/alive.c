/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive.c - is the process that wrote a ring still there?
 */
#include "merge/input/ring/alive.h"

#include <errno.h>

#include "runtime/base/hold.h"
#include "runtime/base/process.h"

bool tp_alive(const struct tp_ring_head *ring, int fd)
{
	uint64_t here[2];

	tp_process_boot_id(here);
	/* Rings of older builds do not say in which namespace. */
	if (here[0] == ring->boot_id[0] && here[1] == ring->boot_id[1] &&
	    (!ring->pid_ns || ring->pid_ns == tp_process_pid_ns()))
		return ring->process_start &&
		       tp_process_is_there(ring->pid, ring->process_start);
	return tp_hold_briefly(fd) == -EWOULDBLOCK;
}
