#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Native stacks of a program that loads and unloads libraries, throws, is interrupted, starts
# threads and forks, all at once: it runs as without us, and every stack is whole.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
[ "$(uname -m)" = x86_64 ] || skip_all "native stacks are read on x86-64 only"
ldconfig -p | grep -q 'libunwind-x86_64\.so\.8' || skip_all "no libunwind-x86_64.so.8"
for bytes in 64 400 8000; do
	${CC:-cc} -O2 -fPIC -shared "-DBYTES=$bytes" -o "plugin$bytes.so" "$PROGS/stacks_plugin.c" ||
		no_program
done
"${CXX:-c++}" -O2 -pthread -o stacks "$PROGS/stacks.cc" -ldl || skip_all "no C++ compiler"

bare bare timeout 100 ./stacks 200 ./plugin64.so ./plugin400.so ./plugin8000.so
is "the program by itself" "$status $(cat bare.out)" \
	"0 thrown 2000, interrupted 4000, threads 400, forked 50"
# 400 threads hold a chunk of the ring each until it is seen that they are gone.
train run TRAINPROF_PROGRAM=stacks TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap \
	TRAINPROF_BUFFER=128M \
	TRAINPROF_STACKS=heap,native timeout 100 \
	./stacks 200 ./plugin64.so ./plugin400.so ./plugin8000.so
is "... and with its stacks recorded" "$status $(cat run.out)" "0 $(cat bare.out)"
like "addresses came again with other code" "$(cat run.err)" '^same address: 1[0-9][0-9]$'
dump=$(ls run/*.tpt | head -1)
"$O/tests/progs/tptdump" "$dump" >dump
like "nothing is dropped" "$(cat dump)" '^END	dropped=0$'
like "no stack is another one than libunwind's" "$(cat dump)" '^END	stack.mismatched=0$'
ok "every stack is whole" "$PYTHON" "$TOP/tests/flow/lib/stacks_check.py" dump
done_testing
