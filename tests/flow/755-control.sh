#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests to a running job: trainprof-merge --ctl opens a window on all ranks at the same steps, says
# when it has opened or why not, stops the schedule, asks for the state; what is no request of the
# job's own user is refused, said once and left alone.

. "$(dirname "$0")/lib/lib.sh"
need_tptdump
cd "$TMP" || exit 1
# Not sleep(1): it closes its standard error before it ends.
mkfifo never
exec 3<>never
export TRAINPROF_PROGRAM=bash TRAINPROF_RECORD=heap,host

# start NAME SCHEDULE [VARIABLE=VALUE]...: two ranks that step by the clock until `stop NAME`.
start()
{
	local name=$1 schedule=$2 rank
	shift 2
	pids=()
	for rank in 0 1; do
		env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank "TRAINPROF_SCHEDULE=$schedule" \
			TRAINPROF_STEP=clock:10 "$@" "TRAINPROF_DIR=$TMP/$name" "LD_PRELOAD=$LIB" \
			bash -c 'while [ ! -e "$0" ]; do read -rt 0.2 -u 3; done' "$TMP/$name.stop" \
			2>>"$name.err" &
		pids+=($!)
	done
	for rank in 0 1; do
		await "$name/rank$rank.steps"
	done
}

await()
{
	local i
	for ((i = 0; i < 600; i++)); do
		[ ! -s "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

stop()
{
	touch "$1.stop"
	wait "${pids[@]}"
}

# steps_of NAME RANK WINDOW: first step and number of steps.
steps_of()
{
	"$DUMP" "$1/rank$2.$3.tpt" | sed -n 's/^END\t\(first_step\|steps\)=//p' | tr '\n' ' '
}

# The two step by their own clocks: far enough ahead for both.
start run trigger TRAINPROF_TRIGGER=control,ahead=400
fuse ctl --ctl run window=3
is "a request for a window succeeds" "$status" 0
like "it says which steps" "$(cat ctl.out)" '^the run is in step [0-9]+; steps [0-9]+ to [0-9]+ will be recorded$'
like "and when it has opened" "$(cat ctl.out)" '^window opened at step [0-9]+$'
from=$(sed -n 's/.*; steps \([0-9]*\) to.*/\1/p' ctl.out)
for rank in 0 1; do
	await "run/rank$rank.0.tpt"
	is "rank $rank recorded them" "$(steps_of run $rank 0)" "$from 3 "
done
fuse status --ctl run status
is "the state can be asked for" "$status" 0
like "it is said" "$(cat status.out)" 'windows requested so far: 1$'
fuse bad --ctl run window=0
is "a command that makes no sense is refused" "$status" 2
like "with those that there are" "$(cat bad.err)" "window=N \(1 to 1000000 steps\), stop or status"
fuse one --ctl run
is "so is none" "$status" 2
find run -name 'control*' >left
is "no request and no answer is left behind" "$(cat left)" ""

# What others may have written.
ln -s /etc/passwd run/control
sleep 2.5
is "a link is left alone" "$(readlink run/control)" /etc/passwd
rm run/control
printf 'trainprof control 1 window=2\n' >run/control
chmod 666 run/control
sleep 2.5
ok "what others may write to, too" test -s run/control
if [ "$(id -u)" = 0 ]; then
	chmod 644 run/control
	chown 65534 run/control
	sleep 2.5
	ok "and what another user owns" test -s run/control
fi
rm run/control
is "no window came of them" "$(ls run/*.1.tpt 2>/dev/null)" ""
stop run
is "each rank says once that it takes no such thing" \
	"$(grep -c 'control. is not taken for a request' run.err)" 2
like "and why" "$(cat run.err)" "/run/control' is not taken for a request: it is a link"

start late trigger TRAINPROF_TRIGGER=control,ahead=100000
"$MERGE" --ctl late window=2 >late.out 2>late.said &
asking=$!
await late.out
fuse second --ctl late window=2
is "a second request before the first window is refused" "$status" 1
like "with the reason" "$(cat second.err)" 'refused: the window of steps [0-9]+ to [0-9]+ is not over'
stop late
wait $asking
is "who asked for a window that did not come fails" "$?" 1
like "and hears why" "$(cat late.said)" 'refused: the run ended after [0-9]+ steps: no window was opened'

start cyclic wait=10,warmup=0,active=5,repeat=0,per=run TRAINPROF_TRIGGER=control,ahead=400
await cyclic/rank0.0.tpt
fuse stopped --ctl cyclic stop
is "a schedule is stopped" "$status" 0
from=$(sed -n 's/^from step \([0-9]*\) on only requested windows open$/\1/p' stopped.out)
fuse more --ctl cyclic window=2
is "a window can be asked for afterwards" "$status" 0
asked=$(sed -n 's/^window opened at step //p' more.out)
# steps_done NAME RANK: how many its ledger has.
steps_done()
{
	grep -c '^s' "$1/rank$2.steps"
}
for ((i = 0; i < 600; i++)); do
	[ "$(steps_done cyclic 0)" -lt $((from + asked + 50)) ] || [ "$(steps_done cyclic 1)" -lt $((from + asked + 50)) ] ||
		break
	sleep 0.1
done
stop cyclic
for rank in 0 1; do
	is "rank $rank recorded nothing else from there on" "$(awk -v from="$from" -v asked="$asked" '
		/^s/ && / p4 / {
			step = substr($1, 2) + 0
			if (step >= from && step != asked && step != asked + 1)
				printf "%d ", step
		}' cyclic/rank$rank.steps)" ""
	ok "rank $rank recorded that window" grep -q "^s$asked .* p4 " cyclic/rank$rank.steps
done

mkdir empty
fuse nobody --ctl empty status
is "where no job runs nobody answers" "$status" 1
like "and that is said" "$(cat nobody.err)" "no process of a job took the request in 'empty' within 15 s"
is "the request is taken back" "$(ls empty)" ""

# Who takes it dies before it answers.
mkdir mute
until rm mute/control 2>/dev/null; do sleep 0.1; done &
fuse mute --ctl mute status
is "a request that is taken and not answered comes to an end, too" "$status" 1
like "and that is said" "$(cat mute.err)" "took the request in 'mute' answers nothing"
wait $!

start always always
fuse never --ctl always window=2
like "SCHEDULE=always needs no window" "$(cat never.err)" 'refused: every step is recorded anyway'
stop always
start off trigger TRAINPROF_TRIGGER=none
fuse deaf --ctl off status
is "TRAINPROF_TRIGGER=none hears nothing" "$status" 1
stop off
done_testing
