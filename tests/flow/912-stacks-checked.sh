#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# A real training with a library that compares each of its walks with libunwind's, from end to
# end: of a million, 99.99 % must be equal. And the program of 910, the same way.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1
[ "$(uname -m)" = x86_64 ] || skip_all "native stacks are read on x86-64 only"
ldconfig -p | grep -q 'libunwind-x86_64\.so\.8' || skip_all "no libunwind-x86_64.so.8"
make -s -C "$TOP" O="$TMP/build" CC="${CC:-cc}" CPPFLAGS=-DTP_STACK_CHECK_EVERY=1 \
	"$TMP/build/libtrainprof.so" >make.out 2>&1
ok "a library that checks each walk is built" test -e "$TMP/build/libtrainprof.so"
LIB=$TMP/build/libtrainprof.so

# total NAME RUN: of the last lines of a run's trace
total()
{
	"$O/tests/progs/tptdump" "$2"/*.tpt | sed -n "s/^END	stack\\.$1=//p"
}

train torch TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap TRAINPROF_STACKS=heap,native \
	TRAINPROF_BUFFER=256M "$PYTHON" "$TOP/tests/bench/heap_train.py" 40
is "the training ends well" "$status" 0
walks=$(total checked torch)
mismatched=$(total mismatched torch)
diag "$walks walks compared, $mismatched differ, $(total cut torch) cut, $(total slow torch) slow"
ok "a million walks were compared" test "$walks" -ge 1000000
ok "99.99 % are equal" test $((mismatched * 10000)) -le "$walks"
ok "... and whole" test $(($(total cut torch) * 10000)) -le "$walks"

for bytes in 64 400 8000; do
	${CC:-cc} -O2 -fPIC -shared "-DBYTES=$bytes" -o "plugin$bytes.so" "$PROGS/stacks_plugin.c"
done
"${CXX:-c++}" -O2 -pthread -o stacks "$PROGS/stacks.cc" -ldl
train hard TRAINPROF_PROGRAM=stacks TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap \
	TRAINPROF_STACKS=heap,native timeout 200 \
	./stacks 200 ./plugin64.so ./plugin400.so ./plugin8000.so
is "the program that makes it hard ends well" "$status" 0
is "none of its walks differs" "$(total mismatched hard)" 0
is "... of them all" "$(total checked hard)" "$(total walks hard)"
done_testing
