/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.c - tests of the launchers' variables: a row for each launcher, the mixtures in which
 * two of them speak at once, and values that are no numbers
 */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/engine/config/rank.h"
#include "tests/unit/variables.h"

struct row {
	const char *what, *variables;
	int32_t rank, local_rank, world_size, local_world_size, node_rank;
	uint32_t restart;
	const char *launcher;
};

static void check_row(const struct row *row, const char *complaint)
{
	struct tp_rank rank;

	tp_rank_read(&rank, variables_look_up, (void *)row->variables);
	cr_expect_eq(rank.rank, row->rank, "%s: rank %d", row->what, rank.rank);
	cr_expect_eq(rank.local_rank, row->local_rank, "%s: local %d", row->what, rank.local_rank);
	cr_expect_eq(rank.world_size, row->world_size, "%s: world %d", row->what, rank.world_size);
	cr_expect_eq(rank.local_world_size, row->local_world_size, "%s: local world %d", row->what,
		     rank.local_world_size);
	cr_expect_eq(rank.node_rank, row->node_rank, "%s: node %d", row->what, rank.node_rank);
	cr_expect_eq(rank.restart, row->restart, "%s: restart %u", row->what, rank.restart);
	cr_expect_str_eq(rank.launcher, row->launcher, "%s: launcher %s", row->what, rank.launcher);
	cr_expect_str_eq(rank.complaint, complaint, "%s: '%s'", row->what, rank.complaint);
}

Test(rank, is_read_from_each_launcher)
{
	static const struct row rows[] = {
		{"nothing", "", -1, -1, -1, -1, 0, 0, "none"},
		{"torchrun",
		 "TORCHELASTIC_RUN_ID=none RANK=11 LOCAL_RANK=3 WORLD_SIZE=16 LOCAL_WORLD_SIZE=8 "
		 "GROUP_RANK=1 GROUP_WORLD_SIZE=2 ROLE_RANK=11 TORCHELASTIC_RESTART_COUNT=0",
		 11, 3, 16, 8, 1, 0, "torchrun"},
		{"torchrun after two restarts",
		 "TORCHELASTIC_RUN_ID=x RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 "
		 "GROUP_RANK=0 TORCHELASTIC_RESTART_COUNT=2", 0, 0, 2, 2, 0, 2, "torchrun"},
		{"Composer", "RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 NODE_RANK=1",
		 9, 1, 16, 8, 1, 0, "composer"},
		{"DeepSpeed", "RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 LOCAL_SIZE=4 CROSS_RANK=1 CROSS_SIZE=2",
		 5, 1, 8, 4, 1, 0, "deepspeed"},
		{"DeepSpeed, without the node", "RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 LOCAL_SIZE=4",
		 5, 1, 8, 4, 1, 0, "deepspeed"},
		{"Ray", "RAY_JOB_ID=01000000 RANK=3 LOCAL_RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 "
		 "NODE_RANK=1", 3, 1, 4, 2, 1, 0, "ray"},
		{"by hand", "RANK=3 WORLD_SIZE=4", 3, -1, 4, -1, -1, 0, "env"},
		{"by hand, one process", "RANK=0 WORLD_SIZE=1", 0, -1, 1, -1, 0, 0, "env"},
		{"Accelerate, torchrun's names", "RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2",
		 1, 1, 2, 2, 0, 0, "env"},
		{"Slurm", "SLURM_PROCID=6 SLURM_LOCALID=2 SLURM_NTASKS=8 SLURM_NTASKS_PER_NODE=4 "
		 "SLURM_NODEID=1 SLURM_NNODES=2 SLURM_JOB_ID=7", 6, 2, 8, 4, 1, 0, "slurm"},
		{"Slurm, tasks as a list", "SLURM_PROCID=6 SLURM_LOCALID=2 SLURM_NTASKS=8 "
		 "SLURM_STEP_TASKS_PER_NODE=4(x2)", 6, 2, 8, 4, 1, 0, "slurm"},
		{"Slurm, unequal nodes", "SLURM_PROCID=6 SLURM_LOCALID=2 SLURM_NTASKS=7 "
		 "SLURM_STEP_TASKS_PER_NODE=4,3 SLURM_NODEID=1", 6, 2, 7, -1, 1, 0, "slurm"},
		{"Slurm, a step of fewer tasks", "SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NTASKS=8 "
		 "SLURM_STEP_NUM_TASKS=2 SLURM_NODEID=0", 1, 1, 2, -1, 0, 0, "slurm"},
		{"Slurm, requeued", "SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_RESTART_COUNT=1",
		 0, -1, 1, -1, 0, 100, "slurm"},
		{"Open MPI", "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 "
		 "OMPI_COMM_WORLD_LOCAL_SIZE=4 OMPI_COMM_WORLD_NODE_RANK=1 PMIX_RANK=5",
		 5, 1, 8, 4, 1, 0, "openmpi"},
		{"Open MPI: NODE_RANK counts processes on a node, not nodes",
		 "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=3 "
		 "OMPI_COMM_WORLD_LOCAL_SIZE=4 OMPI_COMM_WORLD_NODE_RANK=3", 3, 3, 4, 4, 0, 0, "openmpi"},
		{"MPICH, Hydra, Intel", "PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2",
		 2, 0, 4, 2, 1, 0, "pmi"},
		{"MVAPICH2", "MV2_COMM_WORLD_RANK=2 MV2_COMM_WORLD_SIZE=4 MV2_COMM_WORLD_LOCAL_RANK=0 "
		 "MV2_COMM_WORLD_LOCAL_SIZE=2", 2, 0, 4, 2, 1, 0, "mvapich2"},
		{"Cray PALS", "PALS_RANKID=9 PALS_LOCAL_RANKID=1 PALS_NODEID=2", 9, 1, -1, -1, 2, 0, "pals"},
		{"LSF jsrun", "JSM_NAMESPACE_RANK=7 JSM_NAMESPACE_SIZE=12 JSM_NAMESPACE_LOCAL_RANK=1 "
		 "JSM_NAMESPACE_LOCAL_SIZE=6", 7, 1, 12, 6, 1, 0, "jsrun"},
		{"Horovod", "HOROVOD_RANK=1 HOROVOD_SIZE=2 HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=1 "
		 "HOROVOD_CROSS_RANK=1", 1, 0, 2, 1, 1, 0, "horovod"},
		{"JAX", "JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2 JAX_COORDINATOR_ADDRESS=a:1",
		 1, -1, 2, -1, -1, 0, "jax"},
		{"PMIx alone", "PMIX_RANK=4", 4, -1, -1, -1, -1, 0, "pmix"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i], "");
}

Test(rank, comes_from_the_launcher_nearest_to_the_process)
{
	static const struct row rows[] = {
		{"torchrun, one on each node, under srun",
		 "SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NTASKS=2 SLURM_NODEID=1 TORCHELASTIC_RUN_ID=9 "
		 "RANK=5 LOCAL_RANK=1 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 GROUP_RANK=1",
		 5, 1, 8, 4, 1, 0, "torchrun"},
		{"a requeued job whose workers restarted once",
		 "SLURM_RESTART_COUNT=2 TORCHELASTIC_RUN_ID=9 RANK=0 WORLD_SIZE=1 "
		 "TORCHELASTIC_RESTART_COUNT=1", 0, -1, 1, -1, 0, 201, "torchrun"},
		{"RANK in a shell of one task", "SLURM_PROCID=0 SLURM_NTASKS=1 RANK=3 WORLD_SIZE=4 "
		 "LOCAL_RANK=1 LOCAL_WORLD_SIZE=2", 3, 1, 4, 2, 1, 0, "env"},
		{"mpirun inside an allocation: the daemons' SLURM_PROCID is inherited",
		 "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NODEID=0 OMPI_COMM_WORLD_RANK=3 "
		 "OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=4",
		 3, 3, 8, 4, 0, 0, "openmpi"},
		{"srun with PMIx: both say the same", "SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_NTASKS=4 "
		 "SLURM_NTASKS_PER_NODE=2 PMIX_RANK=3", 3, 1, 4, 2, 1, 0, "slurm"},
		{"JAX in a shell of one task", "SLURM_PROCID=0 SLURM_NTASKS=1 JAX_PROCESS_ID=1 "
		 "JAX_NUM_PROCESSES=2", 1, -1, 2, -1, -1, 0, "jax"},
		{"an allocation's shell, no launcher", "SLURM_NODEID=0 SLURM_JOB_ID=3",
		 -1, -1, -1, -1, 0, 0, "none"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i], "");
}

Test(rank, is_not_taken_from_what_is_no_number)
{
	static const struct {
		struct row row;
		const char *complaint;
	} rows[] = {
		{{"a word", "RANK=zero WORLD_SIZE=2", -1, -1, -1, -1, 0, 0, "none"},
		 "RANK='zero' is not a number of this kind; it is not used"},
		{{"negative", "RANK=-1 WORLD_SIZE=2", -1, -1, -1, -1, 0, 0, "none"},
		 "RANK='-1' is not a number of this kind; it is not used"},
		{{"a fraction", "RANK=1.5", -1, -1, -1, -1, 0, 0, "none"},
		 "RANK='1.5' is not a number of this kind; it is not used"},
		{{"too large", "RANK=99999999999999", -1, -1, -1, -1, 0, 0, "none"},
		 "RANK='99999999999999' is not a number of this kind; it is not used"},
		{{"a bad rank, then Slurm's", "RANK=x SLURM_PROCID=1 SLURM_NTASKS=2",
		  1, -1, 2, -1, -1, 0, "slurm"}, "RANK='x' is not a number of this kind; it is not used"},
		{{"a bad rank in a shell of one task", "RANK=x SLURM_PROCID=0 SLURM_NTASKS=1",
		  -1, -1, -1, -1, 0, 0, "none"}, "RANK='x' is not a number of this kind; it is not used"},
		{{"beyond the world", "RANK=4 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2",
		  4, 0, -1, 2, 2, 0, "env"}, "WORLD_SIZE='4' is too small for the rank; it is not used"},
		{{"no world", "RANK=0 WORLD_SIZE=0", 0, -1, -1, -1, -1, 0, "env"},
		 "WORLD_SIZE='0' is too small for the rank; it is not used"},
		{{"beyond the node", "RANK=3 WORLD_SIZE=8 LOCAL_RANK=3 LOCAL_WORLD_SIZE=2",
		  3, 3, 8, -1, -1, 0, "env"},
		 "LOCAL_WORLD_SIZE='2' is too small for the rank; it is not used"},
		{{"a bad world", "RANK=3 WORLD_SIZE=many", 3, -1, -1, -1, -1, 0, "env"},
		 "WORLD_SIZE='many' is not a number of this kind; it is not used"},
		{{"empty", "RANK= WORLD_SIZE=", -1, -1, -1, -1, 0, 0, "none"}, ""},
		{{"a restart that is none", "RANK=0 WORLD_SIZE=1 TORCHELASTIC_RESTART_COUNT=x",
		  0, -1, 1, -1, 0, 0, "env"},
		 "TORCHELASTIC_RESTART_COUNT='x' is not a number of this kind; it is not used"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i].row, rows[i].complaint);
}

Test(rank, is_offered_by_process_groups_where_no_launcher_says_it)
{
	struct tp_rank rank;

	tp_rank_read(&rank, variables_look_up, NULL);
	cr_expect_not(tp_rank_take(&rank));
	cr_expect_eq(rank.rank, -1);

	/* A tensor-parallel group, the world, a part of it again, and what makes no sense. */
	tp_rank_offer(1, 2);
	tp_rank_offer(5, 8);
	tp_rank_offer(3, 4);
	tp_rank_offer(2, 8);
	tp_rank_offer(8, 8);
	tp_rank_offer(-1, 16);
	cr_expect(tp_rank_take(&rank));
	cr_expect_eq(rank.rank, 5);
	cr_expect_eq(rank.world_size, 8);
	cr_expect_eq(rank.local_rank, -1);
	cr_expect_eq(rank.node_rank, -1);
	cr_expect_str_eq(rank.launcher, "process group");
	cr_expect_not(tp_rank_take(&rank), "it has one now");

	tp_rank_read(&rank, variables_look_up, (void *)"RANK=1 WORLD_SIZE=2");
	cr_expect_not(tp_rank_take(&rank));
	cr_expect_eq(rank.rank, 1);
	cr_expect_str_eq(rank.launcher, "env");

	tp_rank_forked();
	tp_rank_read(&rank, variables_look_up, NULL);
	cr_expect_not(tp_rank_take(&rank));
}
