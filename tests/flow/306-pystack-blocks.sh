#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# Python stacks of blocks of memory through the whole library: each as the program itself says, in
# all its threads, also while the interpreter maps and unmaps memory for frames.

. "$(dirname "$0")/lib.sh"
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
		"$PYTHON" "$TOP/tests/flow/pystack_compare.py" log dump
done
ok "the program's memory stands beside" grep -Eq '^EVENT	7	.*	private\?B\?memory	' dump
done_testing
