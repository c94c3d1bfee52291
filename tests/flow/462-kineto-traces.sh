#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# timeout: 900
# long
#
# Every real trace in the folder TRAINPROF_TRACES, whatever version wrote it: as many events of each
# kind and name as Python's json finds there, and nothing said but what is so.

. "$(dirname "$0")/lib/lib.sh"
check=$(dirname "$0")/lib/kineto_input.py
[ -n "${TRAINPROF_TRACES:-}" ] || skip_all "TRAINPROF_TRACES names no folder of real traces"

n_traces=0
while read -r trace; do
	name=$(basename "$trace")
	# PyTorch's execution traces are no traces of its profiler.
	case $name in *_et.json*) continue ;; esac
	rm -f "$TMP/ours.json"
	fuse back -q -f chrome -o "$TMP/ours.json" "$trace"
	is "$name: taken" "$status" 0
	is "$name: nothing to say" "$(cat "$TMP/back.err")" ''
	ok "$name: every event" "$PYTHON" "$check" counts "$trace" "$TMP/ours.json"
	fuse comm -q -v comm -f jsonl -o "$TMP/comm.jsonl" "$trace"
	ok "$name: bytes of collectives" "$PYTHON" "$check" kernels "$trace" "$TMP/comm.jsonl"
	n_traces=$((n_traces + 1))
done < <(find -L "$TRAINPROF_TRACES" -name '*.json' -o -name '*.json.gz' | sort)
ok "there were some" test $n_traces -gt 0

done_testing
