#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A training that hangs inside a window and still lives: the merge shows where each thread stands and for
# how long, and takes it for no death.

. "$(dirname "$0")/lib/lib.sh"
need_torch

cat >"$TMP/hangs.py" <<'END'
import sys, time, torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
with torch.autograd.profiler.record_function("reads the next shard"):
    with torch.autograd.profiler.record_function("waits for the store"):
        open(sys.argv[1], "w").close()
        time.sleep(600)
END

# hang NAME SCHEDULE: hangs; merged meanwhile.
hang()
{
	mkdir "$TMP/$1"
	TRAINPROF_DIR=$TMP/$1 TRAINPROF_SCHEDULE=$2 LD_PRELOAD=$LIB \
		"$PYTHON" "$TMP/hangs.py" "$TMP/$1.there" >/dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 1200; i++)); do
		[ ! -e "$TMP/$1.there" ] || break
		sleep 0.1
	done
	fuse "$1" -q -v overview,health -f chrome -o "$TMP/$1.json" "$TMP/$1"
	kill -KILL $pid
	wait $pid 2>/dev/null
	is "$1: merged" "$status" 0
	like "$1: the overview says where it stands" "$(cat "$TMP/$1.out")" \
		'^  pid [0-9]+ main thread: waits for the store for .* in reads the next shard(, in step [0-9]+)?$'
	like "$1: health shows the spans" "$(cat "$TMP/$1.out")" \
		'^Where processes that still run stood: their open spans, outermost first$'
	unlike "$1: nobody died" "$(cat "$TMP/$1.out")" 'died|did not exit cleanly'
	like "$1: the timeline has them, unfinished" "$(cat "$TMP/$1.json")" \
		'"name":"waits for the store".*"Unfinished":1'
}
hang always always
hang window wait=1,warmup=1,active=9

done_testing
