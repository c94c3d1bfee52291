/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive.c - is the process that wrote a ring still there?
 */
#include "merge/input/alive.h"

#include "runtime/base/process.h"

bool tp_alive(const uint64_t boot_id[2], uint32_t pid, uint64_t start)
{
	uint64_t here[2];

	tp_process_boot_id(here);
	return here[0] == boot_id[0] && here[1] == boot_id[1] && start &&
	       tp_process_start(pid) == start;
}
