#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What few programs do to the process that they are, and stacks that few have: programs that do so come to
# the same end when they are passed through and when their heap is recorded with all stacks, and what was
# recorded can be read.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
for prog in rare_habits rare_stacks; do
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -pthread -o "$prog" "$PROGS/$prog.c" -ldl || no_program
done
"${CC:-cc}" -O2 -fPIC -shared -DBYTES=64 -o plugin.so "$PROGS/stacks_plugin.c" || no_program
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:20 TRAINPROF_HOST_PERIOD=10 \
	TRAINPROF_RECORD=heap,host TRAINPROF_STACKS=heap,native

# alike PROGRAM HABIT...: bare, passed through, and recorded; in a folder that each finds empty.
alike()
{
	local name=$1 habit=$2 wanted
	shift
	rm -rf rings here run ./*.out
	mkdir rings here
	bare bare sh -c 'cd here && exec timeout 60 "$@"' sh "../$name" "$@"
	wanted="$status $(cat bare.out bare.err)"
	if [ "$status" = 77 ]; then
		skip "$name $habit" 'not allowed here'
		return
	fi
	rm -rf here && mkdir here
	train passed sh -c 'cd here && exec timeout 60 "$@"' sh "../$name" "$@"
	is "$name $habit: passed through" "$status $(cat passed.out passed.err)" "$wanted"
	rm -rf here && mkdir here
	train run TRAINPROF_PROGRAM="$name" sh -c 'cd here && exec timeout 60 "$@"' sh "../$name" "$@"
	is "$name $habit: recorded" "$status $(cat run.out) $(grep -v '^trainprof: ' run.err)" \
		"${wanted%"$(cat bare.err)"} $(cat bare.err)"
	fuse merged run
	is "$name $habit: it can be read" "$status" 0
}

for habit in vfork spawn limits strict filter atfork fork-in-handler traced hidden chroot other-user no-stdio \
	exits locked early-locale; do
	alike rare_habits $habit
done
alike rare_habits sandbox
like "it is said that a sandbox ends the recording" "$(messages_of run)" 'forbid itself system calls; recording stops$'
is "... in order" "$(ls rings)" ""
fuse strict --strict run
# Where the machine is busy the ring may have been full, which is counted.
is "... and nothing of before is lost silently" \
	"$(grep -v 'records were dropped for want of space' strict.err)" ""
alike rare_habits daemon
for ((i = 0; i < 100; i++)); do
	[ ! -s here/daemon.out ] || break
	sleep 0.1
done
is "a daemon goes on" "$(cat here/daemon.out)" "went on"
for habit in contexts wanderers altstack overflow small last-words mappings libraries; do
	alike rare_stacks $habit ../plugin.so
	is "$habit: no stack is another one than libunwind's" \
		"$("$O/tests/progs/tptdump" run/*.tpt | grep -c '^END	stack.mismatched=0$')" 1
done
done_testing
