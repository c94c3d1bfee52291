#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 1200
#
# The recipes of trainprof-recipes(7), as they stand there: torchrun, Slurm (its daemons run here), MPI, Ray,
# Accelerate's and Lightning's launchers, a container's /dev/shm and rights, a manifest's schema. Each leaves
# a trace of each rank, and the ranks' own output.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cmp -s "$LIB" "$("$TOP/scripts/trainprof" lib 2>/dev/null)" || skip_all "the checkout's build is not the one that is tested"
port=$((27100 + RANDOM % 800))

# The commands of the recipes, whatever installed them.
mkdir "$TMP/bin"
command_of() # NAME WORDS...
{
	printf '#!/bin/sh\nexec %s "$@"\n' "${*:2}" >"$TMP/bin/$1"
	chmod +x "$TMP/bin/$1"
}
command_of python "$PYTHON"
# (One that is a shim of pyenv would change PATH for what trainprof runs.)
command_of python3 "$PYTHON"
command_of torchrun "$PYTHON" -m torch.distributed.run --master-port "\${MASTER_PORT:-29500}"
command_of accelerate "$PYTHON" -m accelerate.commands.accelerate_cli
command_of trainprof "$TOP/scripts/trainprof"
command_of trainprof-merge "$MERGE"
export PATH=$TMP/bin:$PATH PYTHONDONTWRITEBYTECODE=1

# recipe NAME: its text, into $TMP/NAME/recipe, beside a training, with a port of our own.
recipe()
{
	mkdir -p "$TMP/$1"
	port=$((port + 1))
	awk -v name="$1" '$0 == ".\\\" recipe " name { is_it = 1; next } is_it && /^\.Ed/ { exit }
		is_it && !/^\.Bd/ { gsub(/\\e/, "\\"); print }' "$TOP/man/trainprof-recipes.7" |
		sed "s/29500/$port/" >"$TMP/$1/recipe"
	ok "$1: the manual has the recipe" [ -s "$TMP/$1/recipe" ]
	cat >"$TMP/$1/train.py" <<-END
		import runpy, sys
		sys.argv[1:] = ["ddp", "--steps", "12"]
		runpy.run_path("$PROGS/job_dist.py", run_name="__main__")
	END
	export MASTER_PORT=$port
	cd "$TMP/$1" || exit 1
}

# recorded NAME STATUS OUTPUT: both ranks' lines and traces, whole.
recorded()
{
	is "$1: exit status" "$2" 0
	[ "$2" = 0 ] || diag "$(tail -n 5 "$TMP/$1/err")"
	[ -z "${LINES_OF_RANKS:-}" ] ||
		is "$1: the ranks' output" "$(grep -o '^rank.*' "$3" | sort)" "$LINES_OF_RANKS"
	is "$1: traces of both ranks, and no others" "$(cd "$TMP/$1/run" && echo *.tpt)" "rank0.0.tpt rank1.0.tpt"
	fuse "$1-merged" -q "$TMP/$1/run"
	like "$1: four steps of each, merged" "$(cat "$TMP/$1-merged.out")" '^ *recorded  8 of 2[0-9] steps'
	unlike "$1: no message of ours" "$(cat "$TMP/$1/err")" '^trainprof: .*(cannot|not recorded|fail|no room)'
}

recipe torchrun
torchrun --nproc-per-node 2 train.py >"$TMP/bare.out" 2>"$TMP/bare.err"
LINES_OF_RANKS=$(grep '^rank' "$TMP/bare.out" | sort)
is "a bare job prints a line a rank" "$(printf '%s\n' "$LINES_OF_RANKS" | wc -l)" 2
sh recipe >out 2>err
recorded torchrun $? out

if command -v mpirun >/dev/null; then
	recipe mpi
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 sh recipe >out 2>err
	recorded mpi $? out
else
	skip "mpi" "no mpirun (make setup-long)"
fi

if "$PYTHON" -c 'import accelerate' 2>/dev/null; then
	recipe accelerate
	sed -i "s/accelerate launch/& --main_process_port $port/" recipe
	sh recipe >out 2>err
	recorded accelerate $? out
else
	skip "accelerate" "no Python module accelerate (make setup-long)"
fi

if "$PYTHON" -c 'import lightning' 2>/dev/null; then
	recipe lightning
	sed 's/accelerator="cpu"/&, devices=2, strategy="ddp"/; s/max_epochs=2/max_epochs=1/; s/randn(80,/randn(192,/' \
		"$PROGS/world_lightning.py" >train.py
	python train.py >bare.out 2>bare.err
	sh recipe >out 2>err
	LINES_OF_RANKS='' recorded lightning $? out
	is "lightning: the ranks' output" "$(sort out)" "$(sort bare.out)"
else
	skip "lightning" "no Python module lightning (make setup-long)"
fi

if "$PYTHON" -c 'import ray.train' 2>/dev/null; then
	recipe ray
	cat >job.py <<-'END'
		import ray.train.torch, torch

		def train():
		    model = ray.train.torch.prepare_model(torch.nn.Linear(8, 8))
		    optimizer = torch.optim.SGD(model.parameters(), 0.1)
		    for _ in range(12):
		        optimizer.zero_grad()
		        model(torch.ones(4, 8)).square().sum().backward()
		        optimizer.step()
	END
	RAY_TMPDIR=$(mktemp -d /tmp/tp-ray.XXXXXX)
	export RAY_TMPDIR
	RAY_USAGE_STATS_ENABLED=0 HOME=$TMP/ray timeout 300 python recipe >out 2>err
	LINES_OF_RANKS='' recorded ray $? out
	rm -rf "$RAY_TMPDIR"
else
	skip "ray" "no Python module ray (make setup-long)"
fi

if "$PYTHON" -c 'import kubernetes_validate, yaml' 2>/dev/null; then
	recipe kubernetes
	shown "kubernetes: the manifest has the schema of its kinds" "$PYTHON" - recipe <<-'END'
		import sys, kubernetes_validate, yaml
		for part in yaml.safe_load_all(open(sys.argv[1])):
		    print(part["kind"], kubernetes_validate.validate(part, "1.30", strict=True))
	END
	sed -i 's/completionMode/completionmode/' recipe
	"$PYTHON" -c 'import sys, kubernetes_validate, yaml
for part in yaml.safe_load_all(open(sys.argv[1])):
    kubernetes_validate.validate(part, "1.30", strict=True)' recipe >out 2>&1
	is "kubernetes: and a misspelt word is found" "$?" 1
else
	skip "kubernetes" "no Python module kubernetes_validate (make setup-long)"
fi

# contained NAME SIZE: two ranks, no capability, that much of /dev/shm.
contained()
{
	recipe torchrun
	mkdir -p "$TMP/$1/run"
	cd "$TMP/$1" || exit 1
	# shellcheck disable=SC2016
	TRAINPROF_DIR=$TMP/$1/run TRAINPROF_SCHEDULE=wait=5,warmup=1,active=4 \
		unshare -m sh -c 'mount -t tmpfs -o mode=1777,size="$1" tmpfs /dev/shm; shift
		exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"' \
		sh "$2" "$TOP/scripts/trainprof" run --no-merge -- \
		"$PYTHON" -m torch.distributed.run --master-port "$port" --nproc-per-node 2 "$TMP/torchrun/train.py" >out 2>err
	recorded "$1" $? out
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null && command -v setpriv >/dev/null; then
	contained container-64M 64m
	contained container-4M 4m
else
	skip "container" "this machine allows no mounts"
fi

if [ "$(id -u)" = 0 ] && command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null; then
	. "$TOP/tests/flow/lib/slurm.sh"
	recipe slurm
	if slurm_start; then
		sbatch --wait --output=out --error=err recipe >said 2>&1
		recorded slurm $? out
		like "slurm: the script prints the overview" "$(cat out)" '^ *recorded  8 of 24 steps'
		rm -rf run
		srun -n 2 sh -c "RANK=\$SLURM_PROCID WORLD_SIZE=2 MASTER_ADDR=localhost exec trainprof run --no-merge --dir run \
			--schedule wait=5,warmup=1,active=4 python train.py" >out 2>err
		recorded slurm $? out
	else
		fail "slurm: its daemons run" "$slurm_why"
	fi
	slurm_stop
else
	skip "slurm" "not root, or no slurmctld, slurmd, munged (make setup-long)"
fi
done_testing
