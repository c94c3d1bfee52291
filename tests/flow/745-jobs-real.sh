#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 900
#
# Jobs as people start them, on gloo: torchrun of 2 and 4 ranks, DDP, a mesh of data and tensor
# parallelism, FSDP2, a pipeline, mp.spawn, Slurm's variables, mpirun, Accelerate's own test. Each
# bare and with us: the same results, a trace of each rank and of nobody else, and each collective
# that a rank asked for in it, matched one to one.

. "$(dirname "$0")/lib/lib.sh"
need_torch
. "$(dirname "$0")/lib/jobs.sh"

torchrun ddp 2 "$PROGS/job_dist.py" ddp
torchrun ddp4 4 "$PROGS/job_dist.py" ddp
torchrun mesh4 4 "$PROGS/job_dist.py" mesh
same_order mesh4 4
like "mesh4: tensor parallelism" "$(cat "$TMP/mesh4-comm.out")" '^tp +2-3 '
like "mesh4: data parallelism" "$(cat "$TMP/mesh4-comm.out")" '^dp +1,3 '
torchrun fsdp 2 "$PROGS/job_dist.py" fsdp
same_order fsdp 2
like "fsdp: gatherings are its own" "$(cat "$TMP/fsdp-comm.out")" '^all_gather .* default +FSDP '
like "fsdp: so are reduce-scatters" "$(cat "$TMP/fsdp-comm.out")" '^reduce_scatter .* default +FSDP '
torchrun pipe 2 "$PROGS/job_dist.py" pipe
like "pipe: messages" "$(cat "$TMP/pipe-comm.out")" '^send/recv '
torchrun ring 3 "$PROGS/job_dist.py" ring

job spawn 2 "$PYTHON" "$PROGS/job_dist.py" spawn

# As srun starts them: no variable of torch's but the address.
cat >"$TMP/srun" <<-'EOT'
	#!/bin/sh
	for i in 0 1; do
		SLURM_PROCID=$i SLURM_LOCALID=$i SLURM_NTASKS=2 SLURM_NNODES=1 SLURM_NODEID=0 \
			SLURM_JOB_ID=7 SLURM_STEP_ID=0 "$@" &
	done
	wait
EOT
chmod +x "$TMP/srun"
job slurm 2 "$TMP/srun" "$PYTHON" "$PROGS/job_dist.py" ddp

if command -v mpirun >/dev/null; then
	job mpi 2 mpirun -n 2 --allow-run-as-root --oversubscribe -x LD_PRELOAD -x TRAINPROF_DIR \
		-x TRAINPROF_SCHEDULE -x TRAINPROF_CLOCK -x BOOKS -x MASTER_ADDR -x MASTER_PORT \
		"$PYTHON" "$PROGS/job_dist.py" ddp
else
	skip "mpirun" "no mpirun (make setup-long)"
fi

if script=$("$PYTHON" -c 'import accelerate.test_utils.scripts.test_script as t
print(t.__file__)' 2>/dev/null); then
	train accelerate TRAINPROF_SCHEDULE=always CUDA_VISIBLE_DEVICES= ACCELERATE_USE_CPU=true \
		"$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master_port "$port" "$script"
	is "accelerate: its own test passes" "$status" 0
	is "accelerate: a trace of each rank" "$(cd "$TMP/accelerate" && echo *.0.tpt)" \
		"rank0.0.tpt rank1.0.tpt"
	fuse accelerate-comm -q -v comm "$TMP/accelerate"
	like "accelerate: collectives of both" "$(cat "$TMP/accelerate-comm.out")" \
		'^default +0-1 +0 '
	unlike "accelerate: all matched" "$(cat "$TMP/accelerate-comm.out")" 'partner|before another'
else
	skip "accelerate" "no Python module accelerate (make setup-long)"
fi
done_testing
