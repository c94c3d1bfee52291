/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_times.h - what each nn.Module did: calls, time on the host and on devices, forward and
 * backward apart
 *
 * A call begins where it was told (a STACK with TP_STACK_CALL). Its time is up to the end of its
 * last operator; that it is over is seen when its thread next begins an operator or another call
 * outside it. Backward is the time of the autograd nodes whose forward operators were the
 * module's own.
 *
 * Memory: paths of modules, and what is open.
 */
#ifndef TP_MERGE_MODULE_TIMES_H
#define TP_MERGE_MODULE_TIMES_H

#include "merge/facts/origin/module_origin.h"

/* Of a path of modules. Self: without the modules that it calls. */
struct tp_module_time {
	uint64_t n_calls;
	uint64_t n_ops, n_backward_ops;		/* self, while events come; then with inner ones */
	int64_t self_ns, total_ns;
	int64_t backward_self_ns, backward_ns;	/* of autograd nodes */
	int64_t device_self_ns, device_ns;
	int64_t device_backward_self_ns, device_backward_ns;
};

struct tp_module_times;

/* A call that was told and is over. */
struct tp_module_call {
	const struct tp_proc *proc;
	const struct tp_thread *thread;
	uint32_t path;
	uint64_t id, outer_id;	/* from 1 on; 0: none outside it */
	int64_t begin_ns, end_ns;	/* end of its last operator or range */
};
typedef void (*tp_module_call_fn)(void *ctx, const struct tp_module_call *call);

/* Of events as they were recorded, and of those cut to their windows. */
extern const struct tp_fact tp_fact_module_times, tp_fact_module_times_cut;

/* One more who is told of every call, inner ones first, some time after its end. */
void tp_module_times_read(struct tp_module_times *times, tp_module_call_fn each, void *ctx);

/* Of all events given so far. */
struct tp_origins *tp_module_times_origins(const struct tp_module_times *times);
struct tp_module_paths *tp_module_times_paths(const struct tp_module_times *times);
/* By path, below tp_module_paths_count; 0: outside all modules. */
const struct tp_module_time *tp_module_times_at(const struct tp_module_times *times, uint32_t path);
bool tp_module_times_has_any(const struct tp_module_times *times);	/* a STACK was seen */
bool tp_module_times_has_device(const struct tp_module_times *times);
bool tp_module_times_is_incomplete(const struct tp_module_times *times);

#endif
