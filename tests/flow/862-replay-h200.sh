#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A step of a GPT that was recorded on a real device (one NVIDIA H200, CUDA 13.0; tests/gpu/README.md), played
# through the stand-ins and recorded again: kernels by name and operator are what a program that reads the file
# in another way finds, each with its call as far as the file has it.

. "$(dirname "$0")/lib/lib.sh"
FAKES=${FAKES:-$O/tests/fakes}
replay=$O/tests/progs/replay
[ -x "$replay" ] || skip_all "no '$replay' (make setup, make fakes)"
cd "$TMP" || exit 1
gzip -dc "$TOP/tests/golden/h200-gpt.replay.gz" >gpt.replay

for release in 12.8 13.0; do
	train "run-$release" TRAINPROF_PROGRAM=replay TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always \
		LD_LIBRARY_PATH="$FAKES/$release:$FAKES" timeout 100 "$replay" gpt.replay
	is "CUPTI $release: runs" "$status $(cat "run-$release.out")" "0 "
	"$MERGE" -q --top 0 -f jsonl -v kernel,overview --by-operator "run-$release" >rows.jsonl
	is "... kernels are the file's, each of the operator that asked for it" \
		"$("$PYTHON" "$TOP/tests/flow/lib/replay_truth.py" gpt.replay rows.jsonl)" \
		"0 differences in 269 kernels, 247 of 247 calls have work"
	is "... nothing is lost" "$("$O/tests/progs/tptdump" "run-$release/rank0.0.tpt" | sed -n 's/^END\tlost=//p')" 0
	"$MERGE" -q -v overview "run-$release" >overview.out
	like "... and the device is told as it is" "$(cat overview.out)" 'NVIDIA H200 +140 GiB +9\.0 '
done

done_testing
