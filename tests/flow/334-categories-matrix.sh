#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# Categories of memory, of all and module by module, against torch's own tools: models, optimizers, checkpointing, FSDP2; and
# that looking at an optimizer disturbs nobody: data loaders' workers, a thread that keeps the
# interpreter busy.
. "$(dirname "$0")/lib/lib.sh"

need_torch
compare=$TOP/tests/flow/lib/compare_categories.py
window=("TRAINPROF_RECORD=categories,modules" "TRAINPROF_SCHEDULE=wait=2,warmup=0,active=1,repeat=1")

# trace NAME MODEL OPTIMIZER WAY: trains, and merges the first rank's
trace()
{
	local -a launcher=()
	[ "$4" != fsdp ] || launcher=(-m torch.distributed.run --nproc_per_node 2
		--master_port $((29900 + RANDOM % 90)))
	rm -rf "${TMP:?}/$1"
	train "$1" "${window[@]}" "$PYTHON" "${launcher[@]}" "$PROGS/categories.py" \
		"$2" "$3" "$4" "$TMP/$1.said{rank}.json"
	for view in memory module; do
		"$MERGE" -q --top 0 --ranks 0 -f jsonl -v $view "$TMP/$1" >"$TMP/$1.$view" ||
			"$MERGE" -q --top 0 -f jsonl -v $view "$TMP/$1" >"$TMP/$1.$view"
	done
}

# agree NAME MODEL OPTIMIZER WAY [OPTION...]: of compare_categories.py
agree()
{
	local name=$1 model=$2 rule=$3 way=$4 said good=0 runs=1
	local -a bounds=()
	shift 4
	# How long gloo's threads hold a buffer is chance: theirs has another peak now and then, too.
	[ "$way" != fsdp ] || runs=5
	while
		trace "$name" "$model" "$rule" "$way"
		said=$("$PYTHON" "$compare" "$TMP/$name.said0.json" "$TMP/$name.memory" "$@") && good=1
		runs=$((runs - 1))
		[ $good = 0 ] && [ $runs -gt 0 ]
	do
		diag "another run: $said"
	done
	is "$name: exit status" "$status" 0
	is "$name: bytes by category at the peak" $good 1
	printf '%s\n' "$said"
	[ "$model-$way" = gpt-plain ] || bounds=(--bounds "$TMP/$name.memory")
	shown "$name: memory of each module" "$PYTHON" "$TOP/tests/flow/lib/compare_modules.py" \
		"$TMP/$name.said0.json" "$TMP/$name.module" "${bounds[@]}"
}

agree gpt-adamw gpt adamw plain
agree gpt-sgd gpt sgd plain
agree tied-adamw tied adamw plain
agree resnet-adamw resnet adamw plain --only-tracker
agree resnet-sgd resnet sgd plain --only-tracker
agree lstm-adamw lstm adamw plain --only-tracker
agree lstm-sgd lstm sgd plain --only-tracker
agree gpt-checkpoint gpt sgd checkpoint
agree resnet-checkpoint resnet adamw checkpoint
agree gpt-fsdp2 gpt adamw fsdp
agree tied-fsdp2 tied sgd fsdp
agree resnet-fsdp2 resnet sgd fsdp

# The same losses, bit by bit, with workers and with a thread that never lets go for long.
cat >"$TMP/busy.py" <<'E2'
import runpy, sys, threading

def spin():
    n = 0
    while True:
        n += 1

threading.Thread(target=spin, daemon=True).start()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
E2
training=("$PROGS/train_gpt.py" --size tiny --steps 12 --epochs 2 --workers 2)
"$PYTHON" "$TMP/busy.py" "${training[@]}" >"$TMP/bare.out" 2>/dev/null
for run in 1 2 3; do
	train "busy$run" TRAINPROF_RECORD=categories \
		TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2,repeat=0 \
		"$PYTHON" "$TMP/busy.py" "${training[@]}"
	is "a busy interpreter and workers, run $run: exit status" "$status" 0
	is "... it prints what it prints without us" "$(cat "$TMP/busy$run.out")" \
		"$(cat "$TMP/bare.out")"
done
like "... and each window's optimizer was looked at" \
	"$("$MERGE" -q -v memory "$TMP/busy3")" "and models examined: ([4-9]|1[0-9]); "

done_testing
