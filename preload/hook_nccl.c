/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_nccl.c - the six tables of functions that NCCL looks for in its profiler plugin
 *
 * NCCL opens the library that NCCL_PROFILER_PLUGIN names when the first communicator is made, and
 * takes the newest table that it knows. So the variable is set to our own path, in processes in
 * which a training may come to be, and only where it is not set: its owner has reasons ("none", or
 * a plugin of his own). Such a plugin is not chained: its handles would have to be carried in ours,
 * for events that we do not ask for, through calls that its makers test with NCCL alone.
 *
 * A process that inherits the variable without the preload gets this library from NCCL: then
 * nothing is wanted.
 */
#include "preload/hook_nccl.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "preload/export.h"
#include "runtime/engine/config/config.h"
#include "runtime/probe/nccl/nccl.h"
#include "runtime/probe/nccl/nccl_events.h"

#define VARIABLE "NCCL_PROFILER_PLUGIN"

enum { SUCCESS = 0 };	/* ncclSuccess: whatever happens, NCCL goes on */

/* The functions by which NCCL logs: not called. */
typedef void (*logger)(int level, unsigned long flags, const char *file, int line,
		       const char *format, ...);

/* Of all versions; only init differs. */
struct plugin {
	const char *name;
	int (*init)(void);
	int (*start_event)(void *context, void **handle, void *description);
	int (*stop_event)(void *handle);
	int (*record_state)(void *handle, int state, void *args);
	int (*finalize)(void *context);
};

static int open_comm(void **context, int *mask, const struct tp_nccl_who *who)
{
	int kept_errno = errno;

	*context = (void *)(uintptr_t)tp_nccl_open(who, mask);
	errno = kept_errno;
	return SUCCESS;
}

static int init_unnamed(void **context, int *mask, uint32_t version)
{
	struct tp_nccl_who who = {
		.is = {.rank = -1, .n_ranks = -1, .n_nodes = -1, .interface = version},
	};

	return open_comm(context, mask, &who);
}

static int init_named(void **context, int *mask, const char *name, struct tp_communicator is)
{
	struct tp_nccl_who who = {.is = is, .name = name};

	return open_comm(context, mask, &who);
}

static int init_v1(void **context, int *mask)
{
	return init_unnamed(context, mask, 1);
}

static int init_v2(void **context, int *mask)
{
	return init_unnamed(context, mask, 2);
}

static int init_v3(void **context, int *mask)
{
	return init_unnamed(context, mask, 3);
}

static int init_v4(void **context, int *mask, const char *name, uint64_t hash, int n_nodes,
		   int n_ranks, int rank, logger log)
{
	return init_named(context, mask, name, (struct tp_communicator){hash, rank, n_ranks,
									n_nodes, 4});
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *name, int n_nodes,
		   int n_ranks, int rank, logger log)
{
	return init_named(context, mask, name, (struct tp_communicator){hash, rank, n_ranks,
									n_nodes, 5});
}

static int init_v6(void **context, uint64_t hash, int *mask, const char *name, int n_nodes,
		   int n_ranks, int rank, logger log)
{
	return init_named(context, mask, name, (struct tp_communicator){hash, rank, n_ranks,
									n_nodes, 6});
}

#define START(version)                                                                     \
	static int start_v##version(void *context, void **handle, void *description)       \
	{                                                                                  \
		int kept_errno = errno;                                                    \
                                                                                           \
		*handle = (void *)tp_nccl_start(version, (uint32_t)(uintptr_t)context,     \
						description);                              \
		errno = kept_errno;                                                        \
		return SUCCESS;                                                            \
	}
START(1) START(2) START(3) START(4) START(5) START(6)

static int stop_event(void *handle)
{
	int kept_errno = errno;

	tp_nccl_stop((uintptr_t)handle);
	errno = kept_errno;
	return SUCCESS;
}

static int record_state(void *handle, int state, void *args)
{
	int kept_errno = errno;

	tp_nccl_state((uintptr_t)handle, (uint32_t)state, args);
	errno = kept_errno;
	return SUCCESS;
}

static int finalize(void *context)
{
	int kept_errno = errno;

	tp_nccl_close((uint32_t)(uintptr_t)context);
	errno = kept_errno;
	return SUCCESS;
}

#define PLUGIN(version)                                                                    \
	extern const struct plugin ncclProfiler_v##version;                                \
	TP_EXPORT const struct plugin ncclProfiler_v##version = {                          \
		.name = "trainprof", .init = (int (*)(void))(void *)init_v##version,       \
		.start_event = start_v##version, .stop_event = stop_event,                 \
		.record_state = record_state, .finalize = finalize,                        \
	};
PLUGIN(1) PLUGIN(2) PLUGIN(3) PLUGIN(4) PLUGIN(5) PLUGIN(6)

void tp_hook_nccl_init(const struct tp_config *config)
{
	const char *set = getenv(VARIABLE);
	int kept_errno = errno;
	char path[PATH_MAX];
	Dl_info info;

	if (!(config->record & TP_RECORD_COMM))
		return;
	tp_nccl_allow();
	/* The guest may change its folder before NCCL reads it. */
	if (dladdr((void *)&ncclProfiler_v6, &info) && info.dli_fname &&
	    realpath(info.dli_fname, path)) {
		if (!set)
			setenv(VARIABLE, path, 0);
		else if (*set && strcmp(set, path))
			tp_nccl_taken(set);
	}
	errno = kept_errno;
}
