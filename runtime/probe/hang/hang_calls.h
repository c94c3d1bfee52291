/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_calls.h - what a thread waits for in the kernel, in words
 */
#ifndef TP_PROBE_HANG_CALLS_H
#define TP_PROBE_HANG_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

/* The text of /proc/PID/task/TID/syscall, taken apart. */
struct tp_hang_call {
	int32_t number;		/* of the system call; -1: it runs, or is in none */
	uint64_t argument[6];
	uint64_t sp, pc;	/* of a thread that waits; 0: not known */
	bool is_running, is_known;
};

/* n bytes, not terminated; n 0: not permitted. Pure. */
void tp_hang_call_parse(const char *text, size_t n, struct tp_hang_call *call);

/* "runs", "waits in futex", "waits in read of /data/shard-7", "waits in recvfrom of 10.0.0.1:29500": of
 * the calling process's own thread. Opens no descriptor. */
void tp_hang_call_say(const struct tp_hang_call *call, struct tp_text *out);

/* It waits for whoever uses the program: the terminal, a client. */
bool tp_hang_call_is_for_user(const struct tp_hang_call *call);

#endif
