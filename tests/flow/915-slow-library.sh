#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# While a library's constructor runs, the loader's lock is held: records are written all the same.
# (Importing torch is such a time, and half of what a process allocates it allocates there.)

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1

"$CC" -O1 -o slow_library "$PROGS/slow_library.c" -ldl
"$CC" -O1 -DPLUGIN -shared -fPIC -o plugin.so "$PROGS/slow_library.c"
train run TRAINPROF_PROGRAM=slow_library TRAINPROF_SCHEDULE=always \
	"TRAINPROF_RECORD=heap,host,cuda,devmem" TRAINPROF_STACKS=heap \
	SLOW_TRACE="$TMP/run/rank0.0.tpt.part" ./slow_library ./plugin.so
is "what is recorded in a constructor is written while it runs" "$status $(cat run.out)" "0 written"
done_testing
