#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Taking stacks in a program's allocations does it no harm: its descriptors, what it writes into them,
# where its threads may be cancelled, how long its forks take, and its small stacks are as without us. And
# nothing that hooks of malloc, fork and dlclose call opens a descriptor or is a cancellation point: seen
# from the kernel, and in the library's code.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
[ "$(uname -m)" = x86_64 ] || skip_all "native stacks are read on x86-64 only"
ldconfig -p | grep -q 'libunwind-x86_64\.so\.8' || skip_all "no libunwind-x86_64.so.8"
${CC:-cc} -O2 -pthread -o stacks_harm "$PROGS/stacks_harm.c" -ldl || no_program
${CC:-cc} -O2 -fPIC -shared -DBYTES=64 -o plugin.so "$PROGS/stacks_plugin.c" || no_program

# with_stacks NAME COMMAND...
with_stacks()
{
	local name=$1
	shift
	train "$name" TRAINPROF_PROGRAM=stacks_harm TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap \
		TRAINPROF_STACKS=heap,native TRAINPROF_BUFFER=64M timeout 100 "$@"
}

# total NAME RUN: of the last lines of a run's trace
total()
{
	"$O/tests/progs/tptdump" "$2"/*.tpt | sed -n "s/^END	stack\\.$1=//p"
}

# Each process is one try: what libunwind once opened, it keeps. The trace's own descriptors are
# closed, too; that is said, and no matter here.
whole=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	with_stacks "descriptors$i" ./stacks_harm descriptors 4 ./plugin.so
	[ "$status $(cat "descriptors$i.out")" != "0 4 of 4 rounds are whole" ] || whole=$((whole + 1))
done
is "what is written after closing all is there, and the lowest numbers are free" $whole 10

with_stacks cancel ./stacks_harm cancel 2000
diag "$(cat cancel.err)"
is "none of 2000 threads is cancelled where it may not be, no fork waits for one" \
	"$status $(cat cancel.out)" "0 2000 cancelled, 0 of them inside of malloc; forks go on"

# Under a filter that ends who reads memory by the kernel's hand.
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -pthread -I"$TOP" -o held "$PROGS/held.c" -ldl || no_program
cp held forbidden_one
bare forbidden.bare ./held work
with_stacks forbidden env TRAINPROF_PROGRAM=forbidden_one ./held kill "$(number_of process_vm_readv)" ./forbidden_one work
is "where process_vm_readv is the end, the program comes to its own" "$status $(cat forbidden.out)" \
	"5 $(cat forbidden.bare.out)"
like "... and its stacks lie in modules" "$("$O/tests/progs/tptdump" forbidden/*.tpt | grep -c '^MODULE')" '^[1-9]'

bare altstack.bare ./stacks_harm altstack 5 ./plugin.so
with_stacks altstack ./stacks_harm altstack 5 ./plugin.so
diag "$(sort altstack.err | tail -1)"
is "handlers with a stack of 8 KiB allocate as without us" \
	"$status $(cat altstack.out)" "0 $(cat altstack.bare.out)"
is "... and their stacks are taken" "$(total skipped altstack)" 0
is "... and right" "$(total mismatched altstack)" 0

ok "no hook calls a cancellation point or what opens a descriptor" \
	python3 "$TOP/tests/flow/lib/hooks_reach.py" "$LIB"

if strace -o /dev/null true 2>/dev/null; then
	strace -ff -o bare ./stacks_harm calls 20 ./plugin.so
	strace -ff -o ours env "LD_PRELOAD=$LIB" TRAINPROF_DIR="$TMP/calls" TRAINPROF_PROGRAM=stacks_harm \
		TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap TRAINPROF_STACKS=heap,native \
		./stacks_harm calls 20 ./plugin.so
	shown "what the kernel sees of descriptors is the program's own" \
		python3 "$TOP/tests/flow/lib/hooks_calls.py" bare ours
else
	skip "what the kernel sees of descriptors is the program's own" "strace does not work here"
fi
done_testing
