#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Python stacks of blocks of memory through the whole library: each as the program itself says, in
# all its threads, also while the interpreter maps and unmaps memory for frames.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
need_torch

for stacks in heap,python heap; do
	rm -rf run
	train run TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap TRAINPROF_STACKS=$stacks \
		TRAINPROF_BUFFER=256M "$PYTHON" "$PROGS/pystack_blocks.py" log
	is "$stacks: the program is as without us" "$status $(cat run.out run.err)" "0 "
	"$O/tests/progs/tptdump" run/*.tpt >dump
	grep '^END' dump >end
	like "$stacks: nothing is dropped" "$(cat end)" '^END	dropped=0$'
	like "$stacks: no walk ended at something impossible" "$(cat end)" '^END	pystack.broken=0$'
	ok "$stacks: each block has its stack" \
		"$PYTHON" "$TOP/tests/flow/lib/pystack_compare.py" log dump
done
# Versions that torch is not here for.
for version in 3.13t 3.14; do
	if ! python=$(find_python "$version"); then
		skip "Python $version: each block has its stack" "not installed"
		continue
	fi
	rm -rf other
	train other TRAINPROF_PROGRAM=pystack_blocks TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap \
		TRAINPROF_STACKS=heap,python TRAINPROF_BUFFER=256M "$python" "$PROGS/pystack_blocks.py" log
	is "Python $version: the program is as without us" "$status $(cat other.out)" "0 "
	if [ "$version" = 3.13t ]; then
		is "Python $version: one line says what is off" "$(cat other.err)" \
			"trainprof: 'pystacks' is not recorded: frames of free-threaded python are not known"
		continue
	fi
	"$O/tests/progs/tptdump" other/*.tpt >dump.other
	ok "Python $version: each block has its stack" \
		"$PYTHON" "$TOP/tests/flow/lib/pystack_compare.py" log dump.other
done
ok "the program's memory stands beside" grep -Eq '^EVENT	7	.*	private\?B\?memory	' dump
done_testing
