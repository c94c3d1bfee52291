#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# read.sh - rows a second of the reader library into Arrow, and its memory, which must not grow with the run
#
# usage: read.sh   (with O, TMP, MERGE, PYTHON; EVENTS=1000000)
#
# Beside each figure of events stands the order pass of the merge over the same run (merge_pass), which
# makes nothing of them. Goals: events >= 20 M rows/s a core, and in at most 64 MiB, as a quarter of them.

set -eu
folder=$TMP/read
events=${EVENTS:-1000000}
table="$O/tests/bench/read_table $O/libtrainprof-read.so"
"$O/tests/bench/gen_traces" "$folder/all" 4 "$events" 2
"$O/tests/bench/gen_traces" "$folder/quarter" 4 "$((events / 4))" 2
"$O/tests/bench/gen_traces" "$folder/gpu" 4 "$((events / 4))" 2 gpu
for round in 1 2 3; do
	echo "round $round"
	$table "$folder/all" events
	"$O/tests/bench/merge_pass" order "$folder/all"
	$table "$folder/all" events process_at,tid,kind,name,begin_ns,dur_ns
	$table "$folder/all" events name,dur_ns
done
echo 'a quarter of the events:'
for name in events spans; do
	$table "$folder/quarter" $name
done
echo 'with devices:'
for name in events spans kernels; do
	$table "$folder/gpu" $name
done
echo 'a trace of torch.profiler:'
"$O/tests/bench/gen_traces" "$folder/kineto" 1 "$((events / 4))" 7 gpu
"$MERGE" -q -f torch -o "$folder/json" "$folder/kineto"
gunzip "$folder"/json/*.gz
"$PYTHON" tests/bench/read_kineto.py "$folder"/json/*.json
rm -rf "$folder"
