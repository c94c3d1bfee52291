#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# RECORD=frameworks: Composer's events, callbacks and algorithms are ranges, each as often in four
# steps as Composer itself called it, and nothing about the training changes.

. "$(dirname "$0")/lib/lib.sh"
need_torch
export PYTHONPATH=$TOP/build/composer
[ -d "$PYTHONPATH/composer" ] || skip_all "no Composer; make setup-long"

bare bare "$PYTHON" "$PROGS/world_composer.py"
train run TRAINPROF_RECORD=ops,frameworks TRAINPROF_SCHEDULE=wait=2,warmup=1,active=4,repeat=1,per=run \
	"$PYTHON" "$PROGS/world_composer.py"
is "exit status" "$status" 0
ok "same losses, same calls" cmp "$TMP/bare.out" "$TMP/run.out"
is "no message" "$(messages_of run)" ""
"$O/tests/progs/tptdump" "$TMP"/run/*.tpt | awk -F '\t' '$1 == "EVENT" && $2 == 2 { print $7 }' >"$TMP/ranges"

# "WHAT N" a batch, by Composer's own count.
"$PYTHON" -c 'import json, sys
for what, n in json.loads(sys.stdin.readlines()[-1]).items():
    print(what, n)' <"$TMP/run.out" >"$TMP/counted"
is "Composer counts events, a callback, an algorithm" "$(cut -d / -f 1 "$TMP/counted" | sort -u | tr '\n' ' ')" \
	"algorithm callback event "
while read -r what n; do
	is "$what: as often as Composer says" "$(grep -cFx "$what" "$TMP/ranges")" "$((4 * n))"
done <"$TMP/counted"

# How long an event takes: from its first handlers' end to its last ones' begin, as Composer's own profiler
# has it. It is told of the same events in the same order.
train paired TRAINPROF_RECORD=ops,frameworks TRAINPROF_SCHEDULE=wait=2,warmup=1,active=4,repeat=1,per=run \
	"$PYTHON" "$PROGS/world_composer.py" "$TMP/by-composer"
is "its own profiler beside us: exit status" "$status" 0
is "... and no message" "$(messages_of paired)" ""
# BEGIN END NAME of ranges and operators, as they end.
"$O/tests/progs/tptdump" "$TMP"/paired/*.tpt | awk -F '\t' '$1 == "EVENT" && ($2 == 1 || $2 == 2) {
	printf "%.0f\t%.0f\t%s\n", $3, $3 + $4, $7 }' | sort -n -k 2,2 >"$TMP/ended"
cut -f 3 "$TMP/ended" | grep -Fx -f <(sort -u "$TMP/by-composer") | tail -n +2 >"$TMP/by-us"
ok "events end in Composer's order" "$PYTHON" -c '
import sys
us, composer = (open(path).read().split() for path in sys.argv[1:])
at = [i for i in range(len(composer)) if composer[i : i + len(us)] == us]
assert at and len(us) > 20, (at, us)' "$TMP/by-us" "$TMP/by-composer"
is "the model runs inside of event/forward" "$(awk -F '\t' '
	$3 == "aten::linear" { if (!begin) begin = $1; end = $2 }
	$3 == "event/forward" { n++; if (begin < $1 || !begin) print "before"; begin = 0 }
	$3 == "event/loss" { if (begin) print "linear after event/forward" }
	END { print n }' "$TMP/ended")" 4
done_testing
