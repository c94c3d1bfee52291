#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 300
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
done_testing
