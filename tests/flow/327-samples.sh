#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# RECORD=samples: functions that the training thread runs between operators, and those of other
# threads and of workers, are found by samples, by their names; threads that come and go while the
# program raises, recurses and makes code do no harm, and what was read is a file and a function. Samples
# of a line that has garbage collected say so.

. "$(dirname "$0")/lib/lib.sh"
need_torch
"$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || skip_all "samples are of Python 3.11 only"

bare alone "$PYTHON" "$PROGS/train_samples.py"
wanted="$status $(cat "$TMP/alone.out")"
train samples TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=ops,samples TRAINPROF_SAMPLE_HZ=1000 \
	"$PYTHON" "$PROGS/train_samples.py"
is "it ends as the bare run" "$status $(cat "$TMP/samples.out")" "$wanted"
is "not a word" "$(messages_of samples)" ""
"$MERGE" -q -v hot --top 0 -f jsonl "$TMP/samples" >"$TMP/rows" 2>"$TMP/err"
is "nothing is said by the merge" "$(cat "$TMP/err")" ""
like "a function between operators" "$(grep '"thread":"between operators"' "$TMP/rows")" \
	'"function":"[^"]*train_samples.py:[0-9]+ between_operators"'
like "a function of a loader's worker" "$(grep '"thread":"worker"' "$TMP/rows")" \
	'"function":"[^"]*train_samples.py:[0-9]+ in_worker"'
like "a function of another thread" "$(grep '"thread":"other thread"' "$TMP/rows")" \
	'"function":"[^"]*train_samples.py:[0-9]+ in_background"'
is "every place is a file and a function" \
	"$(grep -vE '"function":"[^"]*(\.py|>)(:[0-9]+)? [^"]+"' "$TMP/rows")" ""
ok "stacks for flame graphs" "$MERGE" -q -f folded -o "$TMP/flames" "$TMP/samples"
like "a stack of samples" "$(grep in_background "$TMP/flames/samples.folded")" \
	'Thread\._bootstrap \(python3\.[0-9]+/threading\.py\);.*in_background \(progs/train_samples\.py\).* [0-9]+'

# Each step ends by gc.collect().
train garbage TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=ops,samples STEPS=20 "$PYTHON" "$TOP/tests/planted/host_gc.py"
is "it trains" "$status $(messages_of garbage)" "0 "
"$MERGE" -q -v hot --top 0 -f jsonl "$TMP/garbage" >"$TMP/garbage.rows" 2>"$TMP/err"
like "the line that has garbage collected" "$(grep '"thread":"between operators"' "$TMP/garbage.rows")" \
	'"function":"[^"]*host_gc.py:13 <module>".*"collecting_percent":([6-9][0-9]|100)'
like "full collections are counted" "$("$O/tests/progs/tptdump" "$TMP"/garbage/*.tpt | sed -n 's/^END	gc.full=//p')" \
	'^(1[5-9]|2[0-9]|3[0-9])$'
done_testing
