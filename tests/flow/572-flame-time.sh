#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Time by stack in the formats of flame graphs: Python's functions around each operator are those that
# the interpreter itself shows, the sums are those of the views, and all formats say the same.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_module google.protobuf
check=$TOP/tests/flow/lib/flame_files.py

train stacks TRAINPROF_SCHEDULE=always TRAINPROF_PROGRAM=operator_stacks \
	"$PYTHON" "$PROGS/operator_stacks.py" "$TMP/log"
is "a program that calls operators from everywhere" "$status" 0
fuse files -q -f folded,speedscope,pprof "$TMP/stacks"
is "three formats" "$status" 0
ok "all read by their own rules, and the same in each" "$PYTHON" "$check" check \
	"$TMP/stacks/folded" "$TMP/stacks/node0.speedscope.json" "$TMP/stacks/node0.pb.gz"
ok "functions around an operator as sys._getframe has them, all 400 calls" \
	"$PYTHON" "$check" stacks "$TMP/stacks/folded" "$TMP/log" aten::neg
like "the backward pass stands in the function of the forward pass" \
	"$(cat "$TMP/stacks/folded/host-time.folded")" \
	';forward \(progs/operator_stacks.py\);\(its backward pass\);MulBackward0'
fuse rows -q -f jsonl -v operator --top 0 -o "$TMP/rows" "$TMP/stacks"
ok "as much time for each operator as its view says" \
	"$PYTHON" "$check" sums "$TMP/stacks/folded/host-time.folded" "$TMP/rows" self_ns

# Work of a device, in a trace of torch.profiler.
"$PYTHON" "$TOP/tests/flow/lib/kineto_synth.py" "$TMP/gpu.json.gz" new
fuse gpu -q -f folded -o "$TMP/gpu" "$TMP/gpu.json.gz"
is "a trace with a GPU" "$status" 0
fuse gpu-rows -q -f jsonl -v kernel --top 0 -o "$TMP/gpu-rows" "$TMP/gpu.json.gz"
ok "as much time for each kernel as its view says" \
	"$PYTHON" "$check" sums "$TMP/gpu/device-time.folded" "$TMP/gpu-rows" total_ns
done_testing
