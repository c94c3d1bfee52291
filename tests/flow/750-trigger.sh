#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A signal to one rank of torchrun opens a window on all of them: the same steps in all traces
# and ledgers, also when a rank is slow, evaluates, or has a handler of that signal; the
# launcher gets it and goes on. With LONG=1 again and again, at any moment, with four ranks.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump
cd "$TMP" || exit 1

# value FILE KEY: from a trace's META or END.
value()
{
	"$DUMP" "$1" | sed -n "s/^\(META\|END\)\t$2=//p" | tail -n 1
}

# await FILE...: until all are there, at most a minute.
await()
{
	local file i
	for file; do
		for ((i = 0; i < 600; i++)); do
			[ ! -s "$file" ] || break
			sleep 0.1
		done
	done
}

# start NAME RANKS WINDOWS [MODE]: in the background; $launcher is its process.
start()
{
	local name=$1 ranks=$2
	shift 2
	mkdir -p "$name"
	TRAINPROF_DIR=$TMP/$name TRAINPROF_SCHEDULE=trigger TRAINPROF_RECORD=ops \
		TRAINPROF_TRIGGER=signal:USR2,steps=3,ahead=$ahead LD_PRELOAD=$LIB \
		"$PYTHON" -m torch.distributed.run --nproc_per_node "$ranks" --master_port 0 \
		--rdzv_backend c10d --rdzv_endpoint localhost:0 \
		"$PROGS/trigger_ddp.py" "$TMP/$name" "$@" >"$name.out" 2>"$name.err" &
	launcher=$!
}

# agree NAME RANKS WINDOWS: each window has the same three steps on all ranks, and the ledgers
# say that they were active.
agree()
{
	local name=$1 ranks=$2 windows=$3 w r first got wanted
	for ((w = 0; w < windows; w++)); do
		got=
		wanted=
		first=$(value "$name/rank0.$w.tpt" first_step)
		for ((r = 0; r < ranks; r++)); do
			got+="$(value "$name/rank$r.$w.tpt" first_step)"
			got+=" $(value "$name/rank$r.$w.tpt" steps)"
			got+=" $(value "$name/rank$r.$w.tpt" opened_by)"
			got+=" $(value "$name/rank$r.$w.tpt" trigger.late)"
			got+=" $(active "$name/rank$r.steps" "$first"), "
			wanted+="$first 3 trigger 0 3, "
		done
		is "$name: window $w: the same steps on all ranks" "$got" "$wanted"
	done
}

# active LEDGER FIRST: how many of three steps from FIRST on were active (phase 4).
active()
{
	awk -v first="$2" '!/^#/ {
		step = -1
		phase = ""
		for (i = 1; i <= NF; i++) {
			if ($i ~ /^s[0-9]/)
				step = substr($i, 2) + 0
			if ($i ~ /^p[0-9]/)
				phase = substr($i, 2)
		}
		if (step >= first && step < first + 3 && phase == '"$ACTIVE"')
			n++
	} END { print n + 0 }' "$1"
}
ACTIVE=$(sed -n 's/.*TP_PHASE_ACTIVE = \([0-9]*\).*/\1/p' "$TOP/runtime/trace/ring_layout.h")

# So many steps take the longer the less there is of the machine.
ahead=800
start two 2 2 handler
await two/pid.0 two/pid.1
kill -USR2 "$(cat two/pid.1)"
kill -USR2 "$launcher"
await two/rank0.0.tpt two/rank1.0.tpt
kill -USR2 "$(cat two/pid.0)"
wait "$launcher"
is "two ranks: the launcher ends well" "$?" 0
agree two 2 2
# shellcheck disable=SC2012
is "two ranks: these windows and no others" "$(ls two/*.tpt | wc -l)" 4
is "two ranks: nothing is said" "$(messages_of two)" ""
is "two ranks: the handler of the program was called once in each" \
	"$(sort two.out | tr '\n' ',')" "rank 0 heard 1,rank 1 heard 1,"
fuse two-merged -v overview,health two
like "two ranks: the merge: two windows of each" "$(cat two-merged.out)" 'recorded +12 of [0-9,]+ steps'
unlike "two ranks: they count alike, and none is missing" "$(cat two-merged.out)" \
	'counts [0-9]|no trace'
mkdir one
cp two/rank1.*.tpt one
fuse one-merged -v overview,health one
unlike "one rank's traces alone: nobody is missed" "$(cat one-merged.out)" 'no trace'

ahead=0
if [ -n "${LONG:-}" ]; then
	start four 4 1 slow
	await four/pid.{0,1,2,3}
	kill -USR2 "$(cat four/pid.2)"
	wait "$launcher"
	agree four 4 1
	start eval 2 3 eval
	await eval/pid.0 eval/pid.1
	for w in 0 1 2; do
		sleep 0.$((RANDOM % 10))
		kill -USR2 "$(cat eval/pid.$((w % 2)))"
		await "eval/rank0.$w.tpt" "eval/rank1.$w.tpt"
	done
	wait "$launcher"
	agree eval 2 3
	start often 2 20
	await often/pid.0 often/pid.1
	for ((w = 0; w < 20; w++)); do
		sleep 0.$((RANDOM % 1000))
		kill -USR2 "$(cat often/pid.$((RANDOM % 2)))"
		await "often/rank0.$w.tpt" "often/rank1.$w.tpt"
	done
	wait "$launcher"
	agree often 2 20
fi
done_testing
