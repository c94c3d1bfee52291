/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.h - the file in which a process says that an allocation failed, and what was held then
 *
 * Specified in trainprof-trace(5), "Out-of-memory report"; text as report.h has it. Pure functions,
 * no allocation; threads: any. What is read is not trusted.
 */
#ifndef TP_TRACE_OOM_H
#define TP_TRACE_OOM_H

#include "runtime/trace/report.h"

#define TP_OOM_FIRST_LINE "trainprof out-of-memory report 1"
#define TP_OOM_SUFFIX ".oom"

struct tp_oom {
	uint64_t run_id;
	int32_t rank;
	uint32_t restart, pid;
	uint64_t real_ns;		/* CLOCK_REALTIME when it failed */
	char device[24];		/* "host", "cuda:0" */
	uint64_t asked;			/* bytes */
	uint64_t allocated, reserved;	/* of a device's caching allocator; 0: not told */
	uint64_t tensors, tensors_peak;	/* bytes of tensors on the host, and the most in this step */
	uint64_t heap, resident, virtual; /* of the process: malloc's blocks alive; memory; addresses */
	uint64_t virtual_limit;		/* RLIMIT_AS; 0: none */
	uint64_t group, group_limit;	/* memory of the container; 0: no limit is known */
	uint64_t steps;			/* that had ended */
	uint64_t grown, grown_steps;	/* bytes by which tensors grew over so many steps */
	char where[320];		/* as tp_hang.where, of the thread that asked */
	char within[256];
	char held[640];			/* the largest holders of its tensors, or why none is known */
};

/* Appends the lines and the empty one. */
void tp_oom_put(const struct tp_oom *oom, struct tp_text *out);
bool tp_oom_parse(const char *text, size_t n, struct tp_oom *oom);

/* Two sentences with '\n': what failed and where; what was held. */
void tp_oom_say(const struct tp_oom *oom, struct tp_text *out);
/* One: who held the memory; nothing where that is not known. */
void tp_oom_say_held(const struct tp_oom *oom, struct tp_text *out);
/* One, of a container whose memory is nearly used up: by steps, group, resident and tensors. */
void tp_oom_say_near(const struct tp_oom *oom, struct tp_text *out);

#endif
