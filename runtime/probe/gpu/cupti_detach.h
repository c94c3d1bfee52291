/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_detach.h - after a window, TRAINPROF_CUPTI_DETACH=1: CUPTI leaves the process
 *
 * What CUPTI has put into each launch for its records stays there when all kinds are disabled: 0.8 to
 * 1.0 us of 4.0 on an H200 (tests/gpu/manners cost.after), until cuptiFinalize. NVIDIA has that called at
 * the end of a call of CUDA, so it is done there, on a thread of the program; then CUPTI is taken anew
 * for the calls that are heard all the time, which cost nothing in a launch. Drain thread.
 */
#ifndef TP_PROBE_CUPTI_DETACH_H
#define TP_PROBE_CUPTI_DETACH_H

#include <stdbool.h>
#include <stdint.h>

/* Towards that, for the window that ended then; false: not yet, look again. `is_late`: give it up. */
bool tp_cupti_detach(uint64_t window_end, bool is_late);

#endif
