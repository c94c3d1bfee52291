#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Outside of windows torch has no callback of ours, neither for all threads nor for one, and yet no step is
# missed: each range is given its own. Also beside threads that make ranges all the time and windows that come
# and go, in children of fork, and where ranges come another way: then torch has it for all threads as before.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump
cd "$TMP" || exit 1
"${CC:-cc}" -fPIC -shared -o taker.so "$PROGS/range_taker.c" -ldl || no_program
windows=TRAINPROF_SCHEDULE=wait=10,warmup=1,active=2,repeat=2

# ways NAME [VARIABLE=VALUE...] ARGUMENTS...: a run, and what any of them has to be.
ways()
{
	local name=$1 settings=()
	shift
	while [[ ${1:-} == *=* ]]; do
		settings+=("$1")
		shift
	done
	train "$name" "${settings[@]}" "$PYTHON" "$PROGS/range_ways.py" "$@"
	is "$name: ends as without us" "$status $(sed -n 2p "$name.out")" "0 $loss"
	is "$name: not a word" "$(messages_of "$name")" ""
	is "$name: all steps are counted" "$(grep -vc '^#' "$name/rank0.steps")" "$1"
}

bare bare "$PYTHON" "$PROGS/range_ways.py" 40
loss=$(sed -n 2p bare.out)
like "torch alone has no callbacks" "$(head -n 1 bare.out)" '^0{40} 0{40}$'

ways alone $windows 40
like "alone: none but in windows, and in the first ranges" "$(head -n 1 alone.out)" \
	'^1{1,4}0{4,}1{4,6}0{6,}1{4,6}0{8,} 0{40}$'
is "alone: each range of a window is there once" "$(for window in 0 1; do
	"$DUMP" alone/rank0.$window.tpt | awk -F'\t' '
		$1 == "EVENT" && $7 ~ /^(my step|Optimizer.step#SGD.step|Optimizer.zero_grad#SGD.zero_grad)$/ { print $7 }'
done | sort | uniq -c | tr -s ' \n' ' ')" " 4 Optimizer.step#SGD.step 4 Optimizer.zero_grad#SGD.zero_grad 4 my step "

ways fork $windows 40 fork
like "fork: the children end as they want" "$(head -n 1 fork.out)" ' 7$'
like "fork: a child has the callback for all" "$(head -n 1 fork.out)" '^1{1,4}0+1'

loss=$(bare long "$PYTHON" "$PROGS/range_ways.py" 300 && sed -n 2p long.out)
ways threads TRAINPROF_SCHEDULE=wait=30,warmup=0,active=10,repeat=6 300 threads
is "threads: no range is there twice" "$(for file in threads/rank0.*.tpt; do
	"$DUMP" "$file"
done | "$PYTHON" -c '
import sys

ranges = sorted((name, int(begin), int(length)) for _, _, begin, length, _, _, name, _, _, _ in
                (line.rstrip("\n").split("\t") for line in sys.stdin if line.startswith("EVENT"))
                if name in ("thread 0", "thread 1"))
if len(ranges) < 60:
    print("only", len(ranges))
for (name, begin, length), (next_name, next_begin, _) in zip(ranges, ranges[1:]):
    if name == next_name and next_begin < begin + length:
        print(name, begin, length, next_begin)
')" ""

loss=$(sed -n 2p bare.out)
ways other $windows LD_PRELOAD="$TMP/taker.so $LIB" 40
like "other: torch has it for all, for the whole run" "$(head -n 1 other.out)" '^1{40} 0{40}$'
like "other: so another has the constructor" "$(tail -n 1 other.out)" '^[1-9][0-9]+ taken$'
done_testing
