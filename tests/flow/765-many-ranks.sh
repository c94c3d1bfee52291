#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long: writes and merges 512 files of 200,000 events, 320 MB
# timeout: 1800
#
# A run of 512 ranks, one of them damaged, one missing, one there twice and one of another
# version: all the rest is intact, in 256 MiB, in order, with fewer descriptors than files, and the
# same with one thread as with all.

. "$(dirname "$0")/lib/lib.sh"
gen=$O/tests/bench/gen_traces
command -v /usr/bin/time >/dev/null || skip_all "no /usr/bin/time"

# merge NAME ARGUMENTS..: its peak memory in KiB is in $peak.
merge()
{
	local name=$1
	shift
	/usr/bin/time -o "$TMP/$name.time" -f '%M' "$MERGE" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"
	status=$?
	peak=$(tail -1 "$TMP/$name.time")
}

"$gen" "$TMP/run" 512 200000 5 >"$TMP/gen.out"
cd "$TMP/run" || exit 1
size=$(stat -c %s rank100.0.tpt)
printf 'XXXXXXXX' | dd of=rank100.0.tpt bs=1 seek=$((size / 2)) conv=notrunc status=none
rm rank200.0.tpt rank200.steps
cp rank300.0.tpt copy-of-rank300.tpt
"$PYTHON" - rank400.0.tpt <<-'END'
	import sys
	with open(sys.argv[1], "r+b") as f:
	    f.seek(8)
	    f.write(b"\0")	# major version 0
END
cd "$TMP" || exit 1

ulimit -n 400
merge all -f csv -v operator --top 0 -q run
is "512 ranks: exit status" "$status" 0
ok "512 ranks: in 256 MiB: $((peak / 1024))" test "$peak" -le $((256 * 1024))
like "the damaged one is told" "$(cat all.err)" "'run/rank100.0.tpt': offset [0-9]+: .*damaged"
like "the older one is told" "$(cat all.err)" \
	"'run/rank400.0.tpt': .*format 0.* this program reads 1.x"
merge health -v health --top 0 run
like "the copy is told" "$(cat health.err)" "window 0 is in both 'run/copy-of-rank300.tpt'"
is "the rest: nothing but these three is said" "$(grep -c \
	'^trainprof-merge: .*\(rank[0-9]*.0.tpt\|window\)' health.err)" 3
# Of 510 files all events are there but those of one block.
n=$(sed -n 's/.*files *\([0-9,]*\) events.*/\1/p' health.out | tr -d ,)
ok "the rest is there: $n events" test "${n:-0}" -ge $((510 * 200000 - 2 * 16384))

taskset -c 0 "$MERGE" -q -f csv -v operator --top 0 run >one.out 2>one.err
ok "one thread: the same" cmp all.out one.out
ok "one thread: the same is said" cmp all.err one.err

merge pack -q -f tpn -o "$TMP/node0.tpn" run
is "packed: exit status" "$status" 0
ok "packed: in 256 MiB: $((peak / 1024))" test "$peak" -le $((256 * 1024))
merge node -f csv -v operator --top 0 -q node0.tpn
ok "from the node file: the same" cmp all.out node.out
ok "from the node file: the same is said" cmp all.err node.err
ok "from the node file: in 256 MiB: $((peak / 1024))" test "$peak" -le $((256 * 1024))
merge json -q -f chrome -o /dev/null run
is "to JSON: exit status" "$status" 0
ok "to JSON: in 256 MiB: $((peak / 1024))" test "$peak" -le $((256 * 1024))
done_testing
