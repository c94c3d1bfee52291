/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - who this process is in the job: one table of launchers, first match wins
 *
 * A row matches when its rank variable holds a number. What is no number, negative or beyond
 * the world's size is passed over and said, never used: a wrong rank would let two processes
 * write the same file. Pure, but for what process groups offer; no allocation.
 */
#include <stdbool.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/engine/config/rank.h"

enum { NAMES_MAX = 4, SHOWN_MAX = 40, RANKS_MOST = 100000000 };

struct launcher {
	const char *name;
	const char *marker;	/* must be set too; NULL: the rank variable says enough */
	const char *rank, *local_rank;
	const char *world_size[NAMES_MAX], *local_world_size[NAMES_MAX]; /* first set wins */
	const char *node_rank[NAMES_MAX];
};

/*
 * Order of trust. What sets RANK was made for PyTorch, and is newer than what started the
 * launcher itself: under `srun torchrun` SLURM_PROCID counts the launchers. Slurm stands
 * after MPI for the same reason: in an allocation mpirun starts its daemons with srun, and the
 * ranks inherit the daemons' SLURM_PROCID; where srun starts the ranks, both say the same.
 *
 * OMPI_COMM_WORLD_NODE_RANK is not used: despite its name it counts the processes on a node.
 */
#define TORCH_WORLD {"WORLD_SIZE"}
#define TORCH_NODE {"GROUP_RANK", "NODE_RANK", "CROSS_RANK", "SLURM_NODEID"}
static const struct launcher launcher[] = {
	{"torchrun", "TORCHELASTIC_RUN_ID", "RANK", "LOCAL_RANK", TORCH_WORLD,
	 {"LOCAL_WORLD_SIZE"}, TORCH_NODE},
	{"deepspeed", "CROSS_RANK", "RANK", "LOCAL_RANK", TORCH_WORLD,
	 {"LOCAL_SIZE", "LOCAL_WORLD_SIZE"}, {"CROSS_RANK"}},
	{"deepspeed", "LOCAL_SIZE", "RANK", "LOCAL_RANK", TORCH_WORLD,
	 {"LOCAL_SIZE", "LOCAL_WORLD_SIZE"}, TORCH_NODE},
	{"ray", "RAY_JOB_ID", "RANK", "LOCAL_RANK", TORCH_WORLD, {"LOCAL_WORLD_SIZE"},
	 {"NODE_RANK", "GROUP_RANK"}},
	{"composer", "NODE_RANK", "RANK", "LOCAL_RANK", TORCH_WORLD, {"LOCAL_WORLD_SIZE"},
	 {"NODE_RANK"}},
	{"env", NULL, "RANK", "LOCAL_RANK", TORCH_WORLD, {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"},
	 TORCH_NODE},
	{"openmpi", NULL, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
	 {"OMPI_COMM_WORLD_SIZE"}, {"OMPI_COMM_WORLD_LOCAL_SIZE"}, {"SLURM_NODEID"}},
	{"mvapich2", NULL, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
	 {"MV2_COMM_WORLD_SIZE"}, {"MV2_COMM_WORLD_LOCAL_SIZE"}, {"SLURM_NODEID"}},
	{"pals", NULL, "PALS_RANKID", "PALS_LOCAL_RANKID", {"PMI_SIZE"}, {"PMI_LOCAL_SIZE"},
	 {"PALS_NODEID"}},
	{"jsrun", NULL, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK",
	 {"JSM_NAMESPACE_SIZE"}, {"JSM_NAMESPACE_LOCAL_SIZE"}, {NULL}},
	{"horovod", NULL, "HOROVOD_RANK", "HOROVOD_LOCAL_RANK", {"HOROVOD_SIZE"},
	 {"HOROVOD_LOCAL_SIZE"}, {"HOROVOD_CROSS_RANK"}},
	{"pmi", NULL, "PMI_RANK", "MPI_LOCALRANKID", {"PMI_SIZE"}, {"MPI_LOCALNRANKS"},
	 {"SLURM_NODEID"}},
	{"slurm", NULL, "SLURM_PROCID", "SLURM_LOCALID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
	 {"SLURM_NTASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"},
	 {"SLURM_NODEID"}},
	{"pmix", NULL, "PMIX_RANK", "PMIX_LOCAL_RANK", {NULL}, {NULL}, {NULL}},
	{"jax", NULL, "JAX_PROCESS_ID", NULL, {"JAX_NUM_PROCESSES"}, {NULL}, {NULL}},
};

static const char *const any_node[NAMES_MAX] = {"GROUP_RANK", "NODE_RANK", "SLURM_NODEID",
						"PALS_NODEID"};
struct source {
	tp_config_getenv_fn lookup;
	void *ctx;
	struct tp_text *complaint;
};

static const char *look_up(const struct source *from, const char *name)
{
	const char *value = name ? from->lookup(from->ctx, name) : NULL;

	return value && *value ? value : NULL;
}

/* Only the first fault is kept: one is enough to go and look. */
static void complain(const struct source *from, const char *name, const char *value,
		     const char *why)
{
	if (from->complaint->len)
		return;
	tp_text_fmt(from->complaint, "%s='", name);
	for (size_t i = 0; i < SHOWN_MAX && value[i]; i++)
		tp_text_char(from->complaint, (unsigned char)value[i] < ' ' ? '?' : value[i]);
	tp_text_fmt(from->complaint, "' %s; it is not used", why);
}

/* Slurm writes tasks per node as "4" or "4(x2)", and "4(x2),3" of unequal nodes. */
static bool is_task_list(const char *name, const char *after_number)
{
	return !strncmp(name, "SLURM_", 6) && (*after_number == '(' || *after_number == ',');
}

/* -1: not set, or no number. */
static int32_t read_number(const struct source *from, const char *name)
{
	const char *value = look_up(from, name);
	const char *at = value;
	int32_t sum = 0;

	if (!value)
		return -1;
	for (; *at >= '0' && *at <= '9' && sum <= RANKS_MOST; at++)
		sum = sum * 10 + (*at - '0');
	if (is_task_list(name, at) && at != value)
		return strchr(at, ',') ? -1 : sum;
	if (at == value || sum > RANKS_MOST || *at) {
		complain(from, name, value, "is not a number of this kind");
		return -1;
	}
	return sum;
}

static int32_t read_first(const struct source *from, const char *const names[NAMES_MAX])
{
	for (int i = 0; i < NAMES_MAX && names[i]; i++) {
		int32_t value = read_number(from, names[i]);

		if (value >= 0)
			return value;
	}
	return -1;
}

/* A size that cannot hold its rank is the wrong one of the two: the rank stays, because
 * it keeps the files of processes apart. */
static int32_t check_size(const struct source *from, int32_t rank, int32_t size,
			  const char *const names[NAMES_MAX])
{
	for (int i = 0; size == 0 || (size > 0 && rank >= size); i++) {
		const char *value = i < NAMES_MAX ? look_up(from, names[i]) : NULL;

		if (i >= NAMES_MAX || !names[i])
			return -1;
		if (value) {
			complain(from, names[i], value, "is too small for the rank");
			return -1;
		}
	}
	return size;
}

static int32_t find_node(const struct source *from, const struct tp_rank *rank,
			 const char *const names[NAMES_MAX])
{
	int32_t node = read_first(from, names);

	if (node >= 0)
		return node;
	if (rank->rank >= 0 && rank->local_world_size > 0)
		return rank->rank / rank->local_world_size;
	/* One process alone, started by no launcher, is on its job's first node. */
	if (rank->rank < 0 || rank->world_size == 1)
		return 0;
	return -1;
}

/* A requeued job counts its elastic restarts from 0 again: both make the number. */
static uint32_t read_restart(const struct source *from)
{
	enum { PER_REQUEUE = 100 };
	int32_t elastic = read_number(from, "TORCHELASTIC_RESTART_COUNT");
	int32_t requeue = read_number(from, "SLURM_RESTART_COUNT");

	return (uint32_t)(elastic > 0 ? elastic : 0) +
	       PER_REQUEUE * (uint32_t)(requeue > 0 ? requeue : 0);
}

/* A batch script or a shell in a Slurm allocation is one task, and what it starts has
 * ranks of its own. */
static bool is_shadowed(const struct source *from, const struct launcher *row)
{
	return !strcmp(row->name, "slurm") && read_first(from, row->world_size) == 1 &&
	       (look_up(from, "JAX_PROCESS_ID") || look_up(from, "RANK"));
}

void tp_rank_read(struct tp_rank *rank, tp_config_getenv_fn lookup, void *ctx)
{
	const char *const *node_names = any_node;
	struct tp_text complaint;
	struct source from = {lookup, ctx, &complaint};

	memset(rank, 0, sizeof(*rank));
	tp_text_init(&complaint, rank->complaint, sizeof(rank->complaint));
	rank->rank = rank->local_rank = rank->world_size = rank->local_world_size = -1;
	rank->launcher = "none";
	for (size_t i = 0; i < sizeof(launcher) / sizeof(launcher[0]); i++) {
		const struct launcher *row = &launcher[i];

		if ((row->marker && !look_up(&from, row->marker)) || is_shadowed(&from, row))
			continue;
		rank->rank = read_number(&from, row->rank);
		if (rank->rank < 0)
			continue;
		rank->launcher = row->name;
		rank->local_rank = read_number(&from, row->local_rank);
		rank->world_size = check_size(&from, rank->rank,
					      read_first(&from, row->world_size),
					      row->world_size);
		rank->local_world_size = check_size(&from, rank->local_rank,
						    read_first(&from, row->local_world_size),
						    row->local_world_size);
		node_names = row->node_rank;
		break;
	}
	rank->node_rank = find_node(&from, rank, node_names);
	rank->restart = read_restart(&from);
}

/* ---- what process groups say ---- */

static uint64_t offered;	/* atomic: size << 32 | rank; 0: nothing */

void tp_rank_offer(int32_t rank, int32_t size)
{
	uint64_t now = (uint64_t)(uint32_t)size << 32 | (uint32_t)rank;
	uint64_t before = __atomic_load_n(&offered, __ATOMIC_RELAXED);

	if (rank < 0 || rank >= size || size > RANKS_MOST)
		return;
	while (before >> 32 < (uint32_t)size &&
	       !__atomic_compare_exchange_n(&offered, &before, now, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

bool tp_rank_take(struct tp_rank *rank)
{
	uint64_t of_group = __atomic_load_n(&offered, __ATOMIC_ACQUIRE);

	if (rank->rank >= 0 || !of_group)
		return false;
	rank->rank = (int32_t)(of_group & UINT32_MAX);
	rank->world_size = (int32_t)(of_group >> 32);
	rank->launcher = "process group";
	/* Where it runs the group does not say. */
	if (rank->world_size > 1)
		rank->node_rank = -1;
	return true;
}

void tp_rank_forked(void)
{
	__atomic_store_n(&offered, 0, __ATOMIC_RELAXED);
}
