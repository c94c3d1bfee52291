#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# --ranks, --windows and --steps: the merge counts the events that the files hold for them,
# counted by another reader.

. "$(dirname "$0")/lib/lib.sh"
need_torch
dump=$O/tests/progs/tptdump
[ -x "$dump" ] || skip_all "no tptdump"

dir=$TMP/run
for rank in 0 1; do
	train run RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank TRAINPROF_RECORD=ops,tensors \
		TRAINPROF_SCHEDULE=wait=2,warmup=1,active=3,repeat=3 \
		"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 20 --workers 0
	is "rank $rank: exit status" "$status" 0
done

# held FILE...: how many events the files hold.
held()
{
	"$dump" "$@" | grep -c '^EVENT'
}

# picked ARGUMENTS...: how many events the merge shows with them.
picked()
{
	"$MERGE" -q -v overview "$@" "$dir" | sed -n 's/^.*recorded .* \([0-9,]*\) events$/\1/p' | tr -d ,
}

is "everything" "$(picked)" "$(held "$dir"/rank?.?.tpt)"
is "one rank" "$(picked --ranks 1)" "$(held "$dir"/rank1.?.tpt)"
is "one window" "$(picked --windows 1)" "$(held "$dir"/rank?.1.tpt)"
is "windows of a rank" "$(picked --ranks 0 --windows 0,2)" "$(held "$dir"/rank0.[02].tpt)"

# Steps 4-5 of the run lie in window 0 of each rank: what began from the one's begin to the other's end.
want=0
for rank in 0 1; do
	"$dump" "$dir/rank$rank.0.tpt" >"$TMP/dump"
	want=$((want + $(awk -F'\t' '
		$1 == "EVENT" { begin[n] = $3; len[n] = $4; kind[n] = $2; link[n] = $8; n++ }
		END {
			for (i = 0; i < n; i++)
				if (kind[i] == step && (link[i] == 4 || link[i] == 5)) {
					if (!from || begin[i] < from) from = begin[i]
					if (begin[i] + len[i] > to) to = begin[i] + len[i]
				}
			for (i = 0; i < n; i++) found += begin[i] >= from && begin[i] < to
			print found
		}' step="$(sed -n 's/^_(\([0-9]*\), STEP.*/\1/p' "$TOP/runtime/trace/records.def")" "$TMP/dump")))
done
# The files count in ticks, the merge in nanoseconds: at an edge of a step (two ranks, two edges)
# an event within the same nanosecond may be taken to be on either side.
apart=$(($(picked --steps 4-5) - want))
ok "two steps, but for what lies on an edge: $apart" test "${apart#-}" -le 4
ok "two steps are less than a window" test "$want" -lt "$(held "$dir"/rank?.0.tpt)"
ok "two steps are some" test "$want" -gt 100
done_testing
