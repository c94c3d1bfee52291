#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# However a program ends, it ends the same with the library, as a program that is left alone
# and as one that is profiled; and what was recorded until then is in the merge.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -pthread -o ways_out "$PROGS/ways_out.c" ||
	no_program
mkdir rings
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_STEP=clock:50 TRAINPROF_HOST_PERIOD=10

compare()
{
	bare bare ./ways_out "$1"
	wanted="$status $(cat bare.out) $(cat bare.err)"
	train passed ./ways_out "$1"
	is "$1: the same when passed through" "$status $(cat passed.out) $(cat passed.err)" "$wanted"
	rm -rf profiled rings/*
	train profiled TRAINPROF_PROGRAM=ways_out TRAINPROF_SCHEDULE=always ./ways_out "$1" 400
	is "$1: the same when profiled" \
		"$status $(cat profiled.out) $(grep -v '^trainprof: ' profiled.err)" "$wanted"
	[ "$1" = pthread_exit ] || is "$1: no message" "$(messages_of profiled)" ""
}

# In order: all is written at the end.
for way in return exit _exit _Exit quick_exit handler thread busy-thread pthread_exit failed-exec \
	term int group; do
	compare "$way"
	is "$way: no ring is left" "$(ls rings)" ""
	[ "$way" != pthread_exit ] ||
		like "$way: that recording stops is said" "$(messages_of profiled)" 'recording stops$'
	fuse merged --strict profiled
	is "$way: nothing was lost" "$status $(cat merged.err)" "0 "
	# How many there are the clock decides, on our thread: on a busy machine few.
	like "$way: all steps are there" "$(cat merged.out)" 'recorded  ([0-9]+) of \1 steps'
done

# Not in order: the ring stays, and the merge reads it.
for way in abort segv stricken kill execve execv execvp execvpe fexecve execl execlp execle; do
	compare "$way"
	fuse merged profiled
	is "$way: the merge reads what there is" "$status" 0
	like "$way: it takes it from the ring" "$(cat merged.err)" 'records.* from its buffer file'
	like "$way: all steps are there" "$(cat merged.out)" 'recorded  ([0-9]+) of \1 steps'
	case $way in
	exec* | fexecve) how='became another program (exec)' died=0 ;;
	*) how='did not exit cleanly' died=1 ;;
	esac
	is "$way: how it ended is said" "$(grep -c "process [0-9]* $how; " merged.err)" 1
	is "$way: it died, or called exec itself" "$(grep -c '^  died ' merged.out)" "$died"
done

# The files that the merge makes of a ring say it, too.
compare execve
fuse recovered --recover profiled
fuse merged profiled
like "a recovered ring: how it ended is said" "$(cat merged.err)" \
	'became another program \(exec\); all that it recorded was recovered'
is "a recovered ring: it called exec itself" "$(grep -c '^  died ' merged.out)" 0

# A signal that does not end the program does not end the recording.
for way in ignored blocked; do
	compare "$way"
	is "$way: no ring is left" "$(ls rings)" ""
	fuse merged --strict profiled
	is "$way: nothing was lost" "$status $(cat merged.err)" "0 "
	like "$way: what the program did then is there, too" \
		"$("$O/tests/progs/tptdump" profiled/*.tpt)" '^END.heap.bytes=2[0-9]{9}$'
done
done_testing
