#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Host memory against heaptrack, another profiler, on the same programs: calls, bytes at the peak,
# the stacks with most of both. With LONG=1 a training with PyTorch, too.

. "$(dirname "$0")/lib/lib.sh"
command -v heaptrack_print >/dev/null || skip_all "no heaptrack (make setup)"
preload=$(find /usr/lib /usr/local/lib -name libheaptrack_preload.so 2>/dev/null | head -n 1)
interpret=$(find /usr/lib /usr/local/lib -name heaptrack_interpret 2>/dev/null | head -n 1)
[ -n "$preload" ] && [ -n "$interpret" ] || skip_all "heaptrack's parts are not where they usually are"

# theirs NAME COMMAND...: heaptrack's flame graphs of calls and of the peak, and what it says.
theirs()
{
	local name=$1
	shift
	env LD_PRELOAD="$preload" DUMP_HEAPTRACK_OUTPUT="$TMP/$name.raw" "$@" >/dev/null 2>&1
	"$interpret" <"$TMP/$name.raw" >"$TMP/$name.heaptrack" 2>/dev/null
	rm -f "$TMP/$name.raw"
	for cost in allocations peak; do
		heaptrack_print -f "$TMP/$name.heaptrack" -F "$TMP/$name.$cost" -p 0 -a 0 -T 0 -l 0 \
			--flamegraph-cost-type $cost >"$TMP/$name.said" 2>&1
	done
}

# ours NAME PROGRAM COMMAND...
ours()
{
	local name=$1 program=$2
	shift 2
	train "$name" TRAINPROF_RECORD=heap TRAINPROF_STACKS=heap,native TRAINPROF_SCHEDULE=always \
		TRAINPROF_BUFFER=256M TRAINPROF_PROGRAM="$program" "$@"
	is "$name: exit status" "$status" 0
	fuse "$name-merge" -q -f folded --top 0 -o "$TMP/$name.folded" "$TMP/$name"
	is "$name: merge" "$status" 0
	is "$name: nothing is said" "$(cat "$TMP/$name-merge.err")" ''
}

${CXX:-c++} -O1 -g -fno-omit-frame-pointer -o "$TMP/heap_tree" "$PROGS/heap_tree.cc"
ours tree heap_tree "$TMP/heap_tree"
theirs tree-theirs "$TMP/heap_tree"
for cost in allocations peak; do
	ok "a program of many stacks, $cost: as heaptrack has it" "$PYTHON" \
		"$TOP/tests/flow/lib/heaptrack_check.py" "$TMP/tree.folded/$cost.folded" \
		"$TMP/tree-theirs.$cost" $cost 0 20
done

if [ "${LONG:-}" = 1 ] && "$PYTHON" -c 'import torch' 2>/dev/null; then
	export PYTHONHASHSEED=0 OMP_NUM_THREADS=1
	ours torch heap_train "$PYTHON" "$TOP/tests/bench/heap_train.py" 10
	theirs torch-theirs "$PYTHON" "$TOP/tests/bench/heap_train.py" 10
	# Ours begins with the script, not with the interpreter; and torch allocates when it calls
	# us back.
	for cost in allocations:0.02 peak:0.02; do
		ok "a training, ${cost%:*}: as heaptrack has it" "$PYTHON" \
			"$TOP/tests/flow/lib/heaptrack_check.py" "$TMP/torch.folded/${cost%:*}.folded" \
			"$TMP/torch-theirs.${cost%:*}" "${cost%:*}" "${cost#*:}"
	done
fi
done_testing
