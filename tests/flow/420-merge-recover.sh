#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# --recover: what a killed training left in its ring and its unfinished file becomes a whole trace
# file, the ring goes away, and the merge shows the same before and after. Without it, nothing in
# the run folder is changed. A training that still runs is read and left alone.

. "$(dirname "$0")/lib/lib.sh"
need_torch

dir=$TMP/dead
mkdir "$dir"
TRAINPROF_DIR=$dir TRAINPROF_RECORD=ops,shapes,tensors,host TRAINPROF_BUFFER=8M \
	TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2000,repeat=0 LD_PRELOAD=$LIB \
	"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 4000 --workers 0 >/dev/null 2>&1 &
pid=$!
# Until its window has records in the file, and some that are in the ring alone.
for ((i = 0; i < 1200; i++)); do
	[ "$(cat "$dir"/*.part 2>/dev/null | wc -c)" -lt 20000 ] || break
	sleep 0.1
done

fuse live -q -v health "$dir"
is "a training that still runs is read: exit status" "$status" 0
like "a training that still runs is told apart from a dead one" "$(cat "$TMP/live.out")" \
	'still runs'
fuse live --recover -q "$dir"
ok "a training that still runs keeps its ring" compgen -G "$dir/*.ring"
ok "a training that still runs keeps its file" compgen -G "$dir/*.part"

kill -KILL $pid
wait $pid 2>/dev/null
ring=$(readlink -f "$dir"/*.ring)
before=$(find "$dir" | sort)
fuse one -q -f chrome -o "$TMP/before.json" -v steps --top 0 "$dir"
is "read without --recover: exit status" "$status" 0
is "read without --recover: nothing in the folder has changed" "$(find "$dir" | sort)" "$before"
unlike "read without --recover: -q says nothing of the ring" "$(cat "$TMP/one.err")" 'frees'
fuse loud -v health "$dir"
is "read without --recover: how to free the ring, in one line" \
	"$(grep -c -- "--recover turns what the dead process left .* frees [0-9.]* [KM]iB in '$ring'" "$TMP/loud.err")" 1
fuse strict --strict -q -v health "$dir"
is "what is recovered is not lost: --strict" "$status" 0

fuse overview -q "$dir"
like "read without --recover: where it stood" "$(cat "$TMP/overview.out")" 'Where they stood when they died'
fuse recover --recover -q "$dir"
is "--recover: exit status" "$status" 0
like "--recover: says what it made" "$(cat "$TMP/recover.out")" 'recovered .*rank0.0.tpt: [0-9]+ events'
is "--recover: no ring, no unfinished file" "$(find "$dir" -name '*.ring' -o -name '*.part')" ""
ok "--recover: the ring's file is gone" test ! -e "$ring"

fuse two -q -f chrome -o "$TMP/after.json" -v steps --top 0 "$dir"
is "afterwards: exit status" "$status" 0
is "afterwards: the same steps" "$(cat "$TMP/two.out")" "$(cat "$TMP/one.out")"
fuse again -q "$dir"
is "afterwards: the same overview, the death too" "$(cat "$TMP/again.out")" "$(cat "$TMP/overview.out")"
like "afterwards: health says how it ended" "$("$MERGE" -q -v health "$dir" 2>&1)" \
	'did not exit cleanly; all that it recorded was recovered'
said=$("$PYTHON" - "$TMP/before.json" "$TMP/after.json" <<-'END'
	import collections, json, sys
	def load(path):
	    return collections.Counter(
	        (e["ph"], e["name"], e["ts"], e.get("dur"), e["tid"])
	        for e in json.load(open(path))["traceEvents"] if e["ph"] != "M")
	a, b = map(load, sys.argv[1:])
	print(sum(a.values()), "events", len(a - b), "missing", len(b - a), "new")
END
)
like "afterwards: every event, spans that never ended too, none else" "$said" \
	'^[0-9]{4,} events 0 missing 0 new$'
fuse strict --strict -q -v health "$dir"
is "afterwards: --strict" "$status" 0
done_testing
