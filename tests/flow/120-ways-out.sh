#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# However a program ends, it ends the same with the library, as a program that is left alone
# and as one that is profiled; and what was recorded until then is in the merge.

. "$(dirname "$0")/lib.sh"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -pthread -o ways_out "$PROGS/ways_out.c" || skip_all "no C compiler"

profile()
{
	rm -rf profiled
	train profiled TRAINPROF_PROGRAM=ways_out TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:50 \
		TRAINPROF_HOST_PERIOD=10 ./ways_out "$@"
}

for way in return exit _exit _Exit quick_exit abort segv term kill handler thread busy-thread \
	pthread_exit execve execv execvp execvpe fexecve execl execlp execle failed-exec; do
	bare bare ./ways_out "$way"
	wanted="$status $(cat bare.out)"
	train passed ./ways_out "$way"
	is "$way: the same when passed through" "$status $(cat passed.out)" "$wanted"
	profile "$way" 120
	is "$way: the same when profiled" "$status $(cat profiled.out)" "$wanted"
	is "$way: no message" "$(messages_of profiled)" ""
	fuse merged profiled
	is "$way: the merge reads what there is" "$status" 0
	is "$way: no ring file is left" "$(find profiled /dev/shm -name '*ring*' 2>/dev/null)" ""
done
done_testing
