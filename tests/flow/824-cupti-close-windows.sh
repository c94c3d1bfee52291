#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Windows of 1 ms, 3 ms apart, on a device that runs what was launched 5 ms ago: each kernel is in the
# file of the window that launched it. What cannot get there is counted, and shown.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"

# books NAME: windows, launches in them, those whose kernel is in the same file, kernels of launches
# of another file. (A warm-up's kernel may run in a window, and is in its file.)
books()
{
	local trace
	for trace in "$1"/rank0.*.tpt; do
		"$O/tests/progs/tptdump" "$trace" | awk -F '\t' -v file="$trace" '
			$1 == "EVENT" && $2 == 9 && $7 == "cudaLaunchKernel" { print file, "call", $8 }
			$1 == "EVENT" && $2 == 10 { print file, "kernel", $8 }'
	done | awk '
		$2 == "call" { launched[$3] = $1; calls++; files[$1] }
		$2 == "kernel" { n++; ran[n] = $1; id[n] = $3 }
		END {
			for (i = 1; i <= n; i++)
				if (id[i] in launched)
					launched[id[i]] == ran[i] ? here++ : elsewhere++
			print length(files), calls, here, elsewhere + 0
		}'
}

close=TRAINPROF_SCHEDULE=wait=2,warmup=1,active=1,repeat=6
for CUPTI in 12.4 13.0; do
	export CUPTI
	for lag in 0 5000 20000; do
		name=lag-$CUPTI-$lag
		cuda $name FAKE_GPU_LAG_US=$lag $close ahead 30
		is "CUPTI $CUPTI, $lag us behind: windows, launches, kernels with them, kernels elsewhere" \
			"$status $(books $name)" "0 6 120 120 0"
		"$MERGE" -v health --quiet $name >$name.health
		unlike "... and nothing is said to be lost" "$(cat $name.health)" "records of the GPU"
	done
done
unset CUPTI
cuda shuffled FAKE_CUPTI_DELIVER=shuffled FAKE_GPU_LAG_US=5000 $close ahead 30
is "records in any order" "$status $(books shuffled)" "0 6 120 120 0"

done_testing
