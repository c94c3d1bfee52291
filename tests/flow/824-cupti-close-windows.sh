#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Windows of 1 ms, 3 ms apart, on a device that runs what was launched 5 ms ago: each kernel is in the
# file of the window that launched it. What cannot get there is counted, and shown.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"

# whole NAME BOOKS: them, or that CUPTI was switched on too late, where that is said: a busy machine may give
# the thread that switches no time between two windows.
whole()
{
	"$MERGE" -v health --quiet "$1" >"$1.health"
	grep -q "windows began before CUPTI was switched on" "$1.health" && echo "$2" || books "$1"
}

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
			"$status $(whole $name "6 120 120 0")" "0 6 120 120 0"
		unlike "... and nothing is said to be lost" "$(cat $name.health)" "records of the GPU"
	done
done
unset CUPTI
cuda shuffled FAKE_CUPTI_DELIVER=shuffled FAKE_GPU_LAG_US=5000 $close ahead 30
is "records in any order" "$status $(whole shuffled "6 120 120 0")" "0 6 120 120 0"
# Further behind than what a window is waited for, but not than the last of them.
cuda far FAKE_GPU_LAG_US=600000 TRAINPROF_SCHEDULE=wait=1,warmup=1,active=60,repeat=6 ahead 372
is "600 ms behind: windows, launches, kernels with them, kernels elsewhere" \
	"$status $(whole far "6 7200 7200 0")" "0 6 7200 7200 0"
like "... and nothing is lost" "$("$MERGE" -v health --quiet far)" "all good|before CUPTI was switched on"

# Later windows fill the ring while the first is waited for.
cuda full FAKE_GPU_LAG_US=600000 TRAINPROF_BUFFER=1M \
	TRAINPROF_SCHEDULE=wait=1,warmup=1,active=100,repeat=6 ahead 612
is "a buffer that is too small: it ends, nothing is said" "$status $(messages_of full)" "0 "
is "... each window has its file" "$(find full -name '*.tpt' | wc -l) $(find full -name '*.ring')" "6 "
read -r _ launches here _ <<<"$(books full)"
lost=0
for why in no_room no_time late; do
	lost=$((lost + $(total full 5 cupti.kernel.$why || true) + 0))
done
# Of a warm-up's 20 kernels is not known yet that nobody wants them.
is "... of 12000 launches each kernel is there or counted" \
	"$launches $((here + lost >= 12000 && here + lost <= 12120))" "12000 1"
like "... which is shown" "$("$MERGE" -v health --quiet full)" "a larger TRAINPROF_BUFFER"

done_testing
