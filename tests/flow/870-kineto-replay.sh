#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A Kineto trace becomes a replay file with all that the views need, to the nanosecond: a
# synthetic one in two dialects, and every real one in TRAINPROF_TRACES (a folder; none is
# in this repository).

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
flow=$TOP/tests/flow/lib

# there_and_back NAME TRACE
there_and_back()
{
	if ! "$PYTHON" "$flow/kineto_to_replay.py" "$2" "$TMP/$1.replay" 2>"$TMP/$1.counts"; then
		fail "$1: converted" "$(cat "$TMP/$1.counts")"
		return
	fi
	ok "$1: everything is in the replay file, once" \
		"$PYTHON" "$flow/kineto_check.py" "$2" "$TMP/$1.replay"
}

for dialect in old new; do
	"$PYTHON" "$flow/kineto_synth.py" "$TMP/$dialect.json.gz" $dialect
	there_and_back $dialect "$TMP/$dialect.json.gz"
done
like "what was carried is counted" "$(cat new.counts)" '^carried: 327 kernel$'
like "... also device work whose call is not in the trace" "$(cat new.counts)" \
	'^carried: 1 \.\.\. of these without a call$'
unlike "nothing of it was changed or left" "$(cat new.counts)" '^(changed|not carried)'
is "one line a device, a thread" \
	"$(grep -c '^device' new.replay) $(grep -c '^thread' new.replay)" "1 2"
like "steps are ranges" "$(grep '^range' new.replay)" 'name=ProfilerStep#6	cat=user_annotation'
is "the old dialect's whole microseconds stay" \
	"$(grep -c 'start=[0-9]*[1-9][0-9]\{0,1\}	' old.replay)" 0

# The check itself: what must not pass.
sed '0,/^kernel/{/^kernel/d}' new.replay >short.replay
like "a kernel that is missing is found" \
	"$("$PYTHON" "$flow/kineto_check.py" new.json.gz short.replay)" ' 1 differences$'
sed 's/^\(memcpy	start=[0-9]*\)[0-9]	/\17	/;s/^\(memcpy	start=[0-9]*\)7	/\18	/' \
	new.replay >late.replay
unlike "a time that is off by a nanosecond is found" \
	"$("$PYTHON" "$flow/kineto_check.py" new.json.gz late.replay)" ' 0 differences$'
(sed -n '1,9p' new.replay; sed '1,9d' new.replay | tac) >upside.replay
like "a wrong order is found" \
	"$("$PYTHON" "$flow/kineto_check.py" new.json.gz upside.replay)" '^out of order'
echo '{"traceEvents": [' >broken.json
like "a broken trace: one line" \
	"$("$PYTHON" "$flow/kineto_to_replay.py" broken.json x.replay 2>&1)" \
	"^kineto_to_replay: cannot read 'broken.json': "

folder=${TRAINPROF_TRACES:-/nowhere}
for trace in "$folder"/*.json.gz "$folder"/*/*.json.gz; do
	[ ! -e "$trace" ] || there_and_back "$(basename "$trace" .json.gz)" "$trace"
done
[ -n "${TRAINPROF_TRACES:-}" ] || skip "real traces" "TRAINPROF_TRACES names no folder of them"
done_testing
