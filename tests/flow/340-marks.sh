#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Ranges, marks, counters and steps of the program's own: by preload/trainprof.h and by NVTX, from C
# and from Python, in the timelines with their names, nesting and threads; and nothing
# at all where the library is not loaded.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
cc="${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -iquote $TOP -pthread"
nvtx=$TOP/build/nvtx
$cc -o marks "$PROGS/marks.c" || no_program
schedule=TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2,repeat=1

# rows NAME FORMAT: lines "kind name inside value" of the timeline of $TMP/NAME.
rows()
{
	fuse "$1-merge" -f "$2" -o "$TMP/$1.$2" "$TMP/$1"
	"$PYTHON" "$TOP/tests/flow/lib/marks_rows.py" "$2" "$TMP/$1.$2"
}

# ---- the program's own ----

own='counter queue items 3
counter queue items 4.5
mark own: tick
range own outer in ProfilerStep
range own: inner in own outer'

bare own-bare ./marks own
is "without the library: nothing happens" "$status $(cat own-bare.out)" "0 done"
for how in '' '-no-pie -fno-pie' '-O0 -fPIC'; do
	# shellcheck disable=SC2086
	$cc $how -o marks "$PROGS/marks.c"
	train "own" "$schedule" TRAINPROF_PROGRAM=marks TRAINPROF_OVERWRITE=1 ./marks own
	is "built with '$how': the same is printed" "$status $(cat own.out own.err)" "0 done"
	is "built with '$how': names, nesting and values" "$(rows own chrome)" "$own"
done
if "$PYTHON" -c 'import perfetto' 2>/dev/null; then
	is "Perfetto's form says the same" "$(rows own perfetto)" "$own"
else
	skip "Perfetto's form says the same" "no Python module perfetto (make setup)"
fi
is "each step is the program's" "$(grep -c '^s.* c6 ' own/rank0.steps)" 5
if c++ -std=c++11 -Wall -Wextra -Werror -iquote "$TOP" -xc++ -fsyntax-only \
	<(echo '#include "preload/trainprof.h"
void f(); void f() { trainprof_begin("a", 0); trainprof_end(); trainprof_step(); }'); then
	pass "the header is C++"
else
	fail "the header is C++"
fi

train own-off "$schedule" TRAINPROF_PROGRAM=marks TRAINPROF_RECORD=host TRAINPROF_STEP=mark \
	./marks own
is "not asked for: steps only" "$(rows own-off chrome | grep -v ' RSS\|core\|counter')" ""
is "... and they are there" "$(grep -c '^s.* c6 ' own-off/rank0.steps)" 5
train own-clock "$schedule" TRAINPROF_PROGRAM=marks TRAINPROF_STEP=clock:1 ./marks own
is "steps that were asked for otherwise stay" "$(grep -c ' c6 ' own-clock/rank0.steps)" 0

train fork "$schedule" TRAINPROF_PROGRAM=marks TRAINPROF_RECORD=marks ./marks fork
is "a fork in a range: parent and child end well" "$status $(cat fork.out fork.err)" "0 done"
like "the range around it is the parent's" "$(rows fork chrome)" '^range over the fork in ProfilerStep$'

# ---- NVTX ----

if [ ! -e "$nvtx/nvtx3/nvToolsExt.h" ]; then
	skip "NVTX ranges" "no NVTX headers in build/nvtx (make setup)"
	done_testing
fi
$cc -I"$nvtx" -DWITH_NVTX -o marks "$PROGS/marks.c" -ldl
$cc -I"$nvtx" -DWITH_NVTX -DAS_LIBRARY -shared -fPIC -o libmarks.so "$PROGS/marks.c" -ldl
nvtx_rows='async across
mark iteration 2
mark iteration 3
mark nvtx half 2.5
mark nvtx half 3.5
mark plain: nvtx mark -3
mark plain: nvtx mark -4
range a step in ProfilerStep
range io/disk: kept in nvtx outer
range nvtx outer in a step
range nvtx ünner in io/disk: kept
range wïde: crossing in -'
bare nvtx-bare ./marks nvtx
train nvtx "$schedule" TRAINPROF_PROGRAM=marks "TRAINPROF_STEP=range:a step" ./marks nvtx
is "NVTX: the same is printed" "$status $(cat nvtx.out nvtx.err)" "0 $(cat nvtx-bare.out)"
is "NVTX: domains, categories, strings, threads, values" \
	"$(rows nvtx chrome)" "$(printf '%s\n' "$nvtx_rows" | LC_ALL=C sort)"
if "$PYTHON" -c 'import perfetto' 2>/dev/null; then
	is "NVTX: Perfetto's form says the same" \
		"$(rows nvtx perfetto)" "$(printf '%s\n' "$nvtx_rows" | LC_ALL=C sort)"
else
	skip "NVTX: Perfetto's form says the same" "no Python module perfetto (make setup)"
fi
is "NVTX: a range by name ends steps" "$(grep -c '^s.* c4 ' nvtx/rank0.steps)" 5
train nvtx-mark "$schedule" TRAINPROF_PROGRAM=marks 'TRAINPROF_STEP=range:iteration*' ./marks nvtx
is "NVTX: a mark by name, too" "$(grep -c '^s.* c4 ' nvtx-mark/rank0.steps)" 5

train taken "$schedule" TRAINPROF_PROGRAM=marks TRAINPROF_LOG=info \
	NVTX_INJECTION64_PATH=/nowhere/tool.so ./marks own
like "another tool's variable stays, and that is said" "$(messages_of taken)" \
	"NVTX_INJECTION64_PATH is '/nowhere/tool.so'"
train passes NVTX_INJECTION64_PATH= TRAINPROF_LOG=info sh -c 'echo "[$NVTX_INJECTION64_PATH]"'
is "a process that cannot train finds no variable of ours" "$(cat passes.out)" "[]"
# What a job starts may have its environment, and not our preload.
bare left NVTX_INJECTION64_PATH="$LIB" TRAINPROF_PROGRAM=marks TRAINPROF_DIR="$TMP/left" ./marks nvtx
is "loaded for NVTX alone, the library stays out" \
	"$status $(cat left.out left.err) $(ls left 2>/dev/null)" "0 done "

# ---- Python: a process that trains with torch ----

if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
	skip "marks from Python" "$PYTHON has no torch (make setup)"
	done_testing
fi
train python "$schedule" TRAINPROF_STEP=mark "$PYTHON" "$PROGS/marks.py" "$TMP/libmarks.so"
is "Python: runs" "$status $(cat python.err)" "0 "
said=$(rows python chrome)
like "Python: a range by ctypes" "$said" '^range py: forward in ProfilerStep$'
like "Python: NVTX in a library that is loaded late" "$said" '^range nvtx outer in a step$'
like "Python: operators lie inside of the ranges" "$said" '^operator aten::linear in py: forward$'
is "Python: the steps are those of the marks" "$(grep -c '^s.* c6 ' python/rank0.steps)" 6
bare python-bare "$PYTHON" "$PROGS/marks.py" "$TMP/libmarks.so"
is "Python: without the library the same" "$(cat python-bare.out)" "$(cat python.out)"

done_testing
