/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - the fake libnccl: its plugin, communicators, groups and calls
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tests/fakes/nccl_state.h"

struct fake_nccl fake_nccl = {.pace_us = 20};

static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;
static void *plugin_lib;
static int n_users;
static bool has_failed;

/* A thread's group. */
static __thread struct {
	int depth, mask;	/* mask: since 5 of the API, at the group's start */
	struct task *first, **last;
	struct fake_comm *comm;	/* the first one's */
	void *group_api, *coll_api, *p2p_api;
} group;

static const struct nccl_profiler *find_table(void *lib)
{
	const char *newest = getenv("FAKE_NCCL_VERSION");
	const struct nccl_profiler *table = NULL;
	char name[32];

	for (int version = newest ? atoi(newest) : 6; version && !table; version--) {
		snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
		table = dlsym(lib, name);
		fake_nccl.version = table ? version : 0;
	}
	return table;
}

static void load(void)
{
	const char *name = getenv("NCCL_PROFILER_PLUGIN"), *books = getenv("FAKE_NCCL_BOOKS");

	pthread_mutex_lock(&plugin_lock);
	if (!fake_nccl.plugin && !has_failed) {
		has_failed = true;
		if (!name || !strcasecmp(name, "none"))
			goto out;
		plugin_lib = dlopen(strcmp(name, "STATIC_PLUGIN") ? name : NULL,
				    RTLD_NOW | RTLD_LOCAL);
		if (!plugin_lib)
			goto out;
		fake_nccl.plugin = find_table(plugin_lib);
		has_failed = !fake_nccl.plugin;
		if (fake_nccl.plugin && books && !fake_nccl.books)
			fake_nccl.books = fopen(books, "w");
	}
	n_users += fake_nccl.plugin != NULL;
out:
	pthread_mutex_unlock(&plugin_lock);
}

static void unload(void)
{
	pthread_mutex_lock(&plugin_lock);
	if (fake_nccl.plugin && !--n_users) {
		dlclose(plugin_lib);
		fake_nccl.plugin = NULL;
		if (fake_nccl.books)
			fflush(fake_nccl.books);
	}
	pthread_mutex_unlock(&plugin_lock);
}

static void init_plugin(struct fake_comm *comm)
{
	const struct nccl_profiler *plugin = fake_nccl.plugin;
	const struct fake_comm_spec *spec = &comm->spec;

	if (fake_nccl.version < 4)
		plugin->init_v1(&comm->context, &fake_nccl.mask);
	else if (fake_nccl.version == 4)
		plugin->init_v4(&comm->context, &fake_nccl.mask, spec->name, spec->hash,
				spec->n_nodes, spec->n_ranks, spec->rank, NULL);
	else
		plugin->init_v5(&comm->context, spec->hash, &fake_nccl.mask, spec->name,
				spec->n_nodes, spec->n_ranks, spec->rank, NULL);
}

struct fake_comm *fake_nccl_comm(const struct fake_comm_spec *spec)
{
	struct fake_comm *comm = calloc(1, sizeof(*comm));

	comm->spec = *spec;
	if (spec->name) {
		snprintf(comm->name, sizeof(comm->name), "%s", spec->name);
		comm->spec.name = comm->name;
	}
	load();
	if (fake_nccl.plugin)
		init_plugin(comm);
	fake_proxy_start(comm);
	return comm;
}

void fake_nccl_destroy(struct fake_comm *comm, bool in_order)
{
	if (in_order)
		fake_proxy_wait(comm);
	fake_proxy_end(comm, in_order);
	if (fake_nccl.plugin && comm->context)
		fake_nccl.plugin->finalize(comm->context);
	if (fake_nccl.plugin)
		unload();
	for (struct task *task; (task = comm->graph); free(task))
		comm->graph = task->next;
	free(comm);
}

static int read_mask(void)
{
	return __atomic_load_n(&fake_nccl.mask, __ATOMIC_RELAXED);
}

/* ---- calls ---- */

void fake_nccl_group_start(void)
{
	if (!group.depth++)
		group.last = &group.first;
}

static void begin_api_group(struct fake_comm *comm)
{
	group.comm = comm;
	group.mask = read_mask();
	if (fake_nccl.version >= 5 && group.mask && !group.group_api)
		group.group_api = fake_tell_group(comm, true);
}

void fake_nccl_call(struct fake_comm *comm, const struct fake_call *call)
{
	struct task *task = calloc(1, sizeof(*task));
	void **api = call->func >= FAKE_SEND ? &group.p2p_api : &group.coll_api;

	task->comm = comm;
	task->call = *call;
	fake_nccl_group_start();
	if (!group.comm)
		begin_api_group(comm);
	task->mask = group.mask;
	if (fake_nccl.plugin && fake_nccl.version >= 5) {
		if (group.mask) {
			fake_tell_api(task, group.group_api);
			*api = task->api;
		}
		/* A collective's handle stays, and is stopped anew by calls that got none. */
		if (*api)
			fake_nccl.plugin->stop(*api);
		if (api == &group.p2p_api)
			*api = NULL;
	}
	*group.last = task;
	group.last = &task->next;
	fake_nccl_group_end();
}

static void add_ops(struct task *task, bool is_send, int peer)
{
	struct fake_comm *comm = task->comm;

	for (int channel = 0; channel < comm->spec.channels; channel++) {
		struct op *op = calloc(1, sizeof(*op));

		op->context = comm->context;
		op->parent = task->event;
		op->rank = comm->spec.rank;
		op->pid = getpid();
		op->peer = peer;
		op->steps = 2 + channel % 3 * 5;
		op->chunk = 4096;
		op->mask = task->mask;
		op->channel = (uint8_t)channel;
		op->is_send = is_send;
		op->hash = comm->spec.hash;
		op->func = fake_func_name[task->call.func];
		op->seq = task->seq;
		op->has_seq = task->has_seq;
		op->is_wanted = task->is_wanted;
		/* What is not told is not in the books either. */
		if (task->mask)
			fake_proxy_add(comm, op);
		else
			free(op);
	}
}

static void run_task(struct task *task)
{
	const struct fake_comm_spec *spec = &task->comm->spec;
	bool has_engines = task->call.by_engines && fake_nccl.version >= 6;

	if (spec->n_nodes < 2 || has_engines)
		return;
	if (task->call.func != FAKE_RECV)
		add_ops(task, true, task->call.func == FAKE_SEND ? task->call.peer :
				    (spec->rank + 1) % spec->n_ranks);
	if (task->call.func != FAKE_SEND)
		add_ops(task, false, task->call.func == FAKE_RECV ? task->call.peer :
				     (spec->rank + spec->n_ranks - 1) % spec->n_ranks);
}

/* The plan of a group, or of a graph's replay: in NCCL hostStreamPlanTask. */
static void run_plan(struct task *first, bool is_replay)
{
	int mask = first->mask & (NCCL_GROUP | NCCL_COLL | NCCL_P2P | NCCL_PROXY_OP |
				  NCCL_PROXY_STEP | NCCL_CE_COLL);
	bool has_plugin = fake_nccl.plugin && mask;
	void *handle = has_plugin ? fake_tell_group(first->comm, false) : NULL;
	bool is_told = has_plugin && (handle || fake_nccl.version >= 4);

	for (struct task *task = first; task; task = task->next) {
		uint64_t *seq = &task->comm->seq[task->call.func];
		bool is_p2p = task->call.func >= FAKE_SEND;

		task->event = NULL;
		task->is_wanted = false;
		task->seq = *seq;
		task->has_seq = !is_p2p && !(is_replay && fake_nccl.version >= 5);
		if (is_told)
			fake_tell_task(task, handle);
		if (!is_replay && (is_told || fake_nccl.version > 1))
			++*seq;
		run_task(task);
	}
	for (struct task *task = first; is_told && task; task = task->next)
		if (task->event || fake_nccl.version == 1)
			fake_nccl.plugin->stop(task->event);
	if (handle)
		fake_nccl.plugin->stop(handle);
}

void fake_nccl_group_end(void)
{
	struct task *first = group.first, **at = &first;

	if (--group.depth)
		return;
	/* What is captured runs later. */
	while (*at) {
		struct task *task = *at;

		if (!task->call.is_captured) {
			at = &task->next;
			continue;
		}
		*at = task->next;
		task->next = task->comm->graph;
		task->comm->graph = task;
	}
	if (first)
		run_plan(first, false);
	for (struct task *task; (task = first); free(task))
		first = task->next;
	if (group.group_api)
		fake_nccl.plugin->stop(group.group_api);
	group.group_api = NULL;
	group.first = NULL;
	group.comm = NULL;
}

static void *replay(void *arg)
{
	run_plan(((struct fake_comm *)arg)->graph, true);
	return NULL;
}

void fake_nccl_replay(struct fake_comm *comm)
{
	pthread_t thread;

	if (comm->graph && !pthread_create(&thread, NULL, replay, comm))
		pthread_join(thread, NULL);
}

void fake_nccl_foreign(struct fake_comm *comm, int peer)
{
	struct op *op = calloc(1, sizeof(*op));

	/* Addresses of that process. */
	op->context = (void *)0x7f00dead1000;
	op->parent = (void *)0x7f00dead2003;
	op->rank = comm->spec.rank + 1;
	op->pid = getpid() + 1;
	op->peer = peer;
	op->steps = 3;
	op->chunk = 1000;
	op->mask = read_mask();
	op->is_wanted = op->mask != 0;
	if (op->mask)
		fake_proxy_add(comm, op);
	else
		free(op);
}

void fake_nccl_wait(struct fake_comm *comm)
{
	fake_proxy_wait(comm);
}

void fake_nccl_set_pace(unsigned us)
{
	fake_nccl.pace_us = us;
}

int fake_nccl_version(void)
{
	return fake_nccl.plugin ? fake_nccl.version : 0;
}

int fake_nccl_mask(void)
{
	return read_mask();
}
