#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# The formats torch and torch:tb in their readers, HolisticTraceAnalysis and TensorBoard's
# profiler plugin: every view, on two ranks with collectives.

. "$(dirname "$0")/lib/lib.sh"
# The readers' old pandas may be that of another interpreter than torch's.
PYTHON=${TRAINPROF_READERS:-$PYTHON}
need_module hta "make setup-long"
need_module torch_tb_profiler "make setup-long"
flow=$TOP/tests/flow/lib
readers=$flow/torch_readers.py

"$PYTHON" "$flow/kineto_synth.py" "$TMP/one.json.gz" new
"$PYTHON" "$readers" ranks "$TMP/one.json.gz" "$TMP/ranks"
fuse hta -f torch -o "$TMP/hta" "$TMP/ranks"
is "format torch: the merge's exit status" "$status" 0
like "says what to do with it" "$(cat "$TMP/hta.out")" "wrote $TMP/hta; HolisticTraceAnalysis takes"
fuse tb -f torch:tb -o "$TMP/tb" "$TMP/ranks"
is "format torch:tb: the merge's exit status" "$status" 0
is "a file for each rank" "$(find "$TMP/hta" -name 'host_*.[0-9]*.pt.trace.json.gz' | wc -l)" 2

# ask WHAT FOLDER: what the reader says; the lines that it logs are not wanted.
ask()
{
	"$PYTHON" "$readers" "$1" "$2" "$TMP"/ranks/* 2>"$TMP/$1.log"
}

said=$(ask hta "$TMP/hta")
is "HTA: breakdowns, idle time, overlap, launches, bandwidth, queues, critical path" "$?" 0
diag "$said"
said=$(ask plugin "$TMP/tb")
is "the plugin: all views, kernels with their operators, the distributed view" "$?" 0
diag "$said"

# No file serves both: that is why there are two, and it shows that the checks can fail.
said=$(ask plugin "$TMP/hta")
like "the plugin finds no runtime in HTA's" "$said" 'no time of Runtime'
said=$(ask hta "$TMP/tb")
like "HTA finds no critical path in the plugin's" "$said" '^critical path: '

for trace in "${TRAINPROF_TRACES:-/nowhere}"/tb/*.json.gz; do
	[ -e "$trace" ] || continue
	name=$(basename "$trace" .pt.trace.json.gz)
	fuse "$name" -q -f torch,torch:tb -o "$TMP/$name" "$trace"
	for pair in "hta torch" "tb torch-tb"; do
		said=$("$PYTHON" "$flow/compare_${pair% *}.py" "$trace" \
			"$TMP/$name/${pair#* }"/*.gz 2>/dev/null | grep -E '^(not )?ok')
		# Bandwidth of whole microseconds is another one than that of nanoseconds.
		is "$name: ${pair% *} says the same as of the original" \
			"$(printf '%s\n' "$said" | grep '^not ok' | grep -v bandwidth)" ''
	done
done
[ -n "${TRAINPROF_TRACES:-}" ] || skip "real traces" "TRAINPROF_TRACES names no folder of them"
done_testing
