/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_detach.c - asks for the end of a call, waits for it, and takes CUPTI anew
 */
#include "runtime/probe/gpu/cupti_detach.h"

#include "runtime/base/clock.h"
#include "runtime/probe/gpu/cupti_calls.h"
#include "runtime/probe/gpu/cupti_hold.h"

/* A program that makes none of the calls in that time is not launching much. */
#define WAIT_NS 2000000000u

static struct {
	uint64_t window_end;	/* of the window that it is done for, or was */
	uint64_t since_ns;	/* 0: it is not being waited for */
	uint32_t n_before;
} detach;

bool tp_cupti_detach(uint64_t window_end, bool is_late)
{
	uint64_t now_ns = tp_clock_mono_ns();

	if (detach.window_end != window_end) {
		if (is_late || !tp_cupti_is_subscribed())
			return true;
		detach.window_end = window_end;
		detach.since_ns = now_ns;
		detach.n_before = tp_cupti_detached();
		tp_cupti_calls_leave(true);
	}
	if (!detach.since_ns)
		return true;
	if (tp_cupti_detached() == detach.n_before) {
		if (!is_late && now_ns - detach.since_ns < WAIT_NS)
			return false;
		tp_cupti_calls_leave(false);
	}
	detach.since_ns = 0;
	tp_cupti_follow();
	return true;
}
