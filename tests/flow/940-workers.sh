#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
#
# Worker processes of a training record too, each into files of its own, and nothing hangs:
# losses and exit statuses are those of the bare run, windows are the rank's.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/workers.sh"
need_torch
need_tptdump
cd "$TMP" || exit 1
mkdir rings
LIMIT=200
all=(TRAINPROF_BUFFER_DIR="$TMP/rings" "TRAINPROF_RECORD=ops,tensors,heap,host" TRAINPROF_STACKS=heap
	TRAINPROF_SCHEDULE=always TRAINPROF_STEP=optimizer)

# value FILE KEY: from a trace's META or END.
value()
{
	"$DUMP" "$1" | sed -n "s/^\(META\|END\)\t$2=//p" | head -n 1
}

# recorded NAME WORDS...: it ends as the bare run did, whose end is in $wanted.
recorded()
{
	local name=$1
	shift
	limited "$LIMIT" train "$name" "${all[@]}" "$PYTHON" "$PROGS/workers.py" "$@"
	is "$name: ends as the bare run" "$hung$status $(cat "$name.out")" "$wanted"
	is "$name: nothing is said" "$(messages_of "$name")" ""
}

# one NAME WORDS...: bare and recorded.
one()
{
	limited "$LIMIT" bare "$1-bare" "$PYTHON" "$PROGS/workers.py" "${@:2}"
	wanted="$hung$status $(cat "$1-bare.out")"
	recorded "$@"
}

# With LONG=1 every way of it: one more is two minutes of a small machine.
ways="fork spawn"
one fork fork once
recorded spawn spawn once
if [ -n "${LONG:-}" ]; then
	ways="fork spawn forkserver"
	recorded forkserver forkserver once
fi
for how in $ways; do
	fuse "$how-page" -q -f html -o "$how.html" "$how"
	ok "$how: workers have lanes on the page's timeline" "$PYTHON" \
		"$TOP/tests/flow/lib/html_lanes.py" "$how.html" 'worker [12]: .*' '.*' '.' 1
	# shellcheck disable=SC2012
	is "$how: each worker has a trace of its own" "$(cd "$how" && ls ./*.tpt | tr '\n' ' ')" \
		"./rank0.0.tpt ./rank0.worker1.0.tpt ./rank0.worker2.0.tpt "
	is "$how: no ring is left" "$(find rings "$how" -name '*.ring')" ""
	for worker in 1 2; do
		file=$how/rank0.worker$worker.0.tpt
		is "$how: worker $worker: it says whose it is" \
			"$(value "$file" worker) $(value "$file" parent_pid) $(value "$file" parent_run_id)" \
			"$worker $("$DUMP" "$how/rank0.0.tpt" | awk '$1 == "HEAD" { print $2, $5 }')"
		like "$how: worker $worker: its operators are there" "$("$DUMP" "$file")" \
			'^EVENT.*aten::div'
	done
	fuse "$how-memory" -v memory "$how"
	is "$how: the host memory of each is shown" \
		"$(grep -oE '^How much host memory is used: pid [0-9]+ worker [0-9]+' "$how-memory.out" | cut -d' ' -f9-)" "worker 1
worker 2"
	fuse "$how-merged" --strict -v overview,health "$how"
	like "$how: the merge: nothing is lost" "$status $(cat "$how-merged.out")" 'all good'
	like "$how: the merge counts workers apart" "$(cat "$how-merged.out")" 'workers +2 processes'
	like "$how: and steps once" "$(cat "$how-merged.out")" 'recorded +8 of 8 steps in 1 window'
done
fuse fork-json -f chrome fork
is "the timeline names them" "$(gzip -dc fork/node0.json.gz |
	grep -o '"name":"worker [12]: workers.py' | sort | tr '\n' ' ')" \
	'"name":"worker 1: workers.py "name":"worker 2: workers.py '

# ---- windows ----

limited "$LIMIT" train windows TRAINPROF_SCHEDULE=wait=20,warmup=2,active=5,repeat=2,per=run \
	"$PYTHON" "$PROGS/workers.py" fork persistent slow long
is "windows: it ends" "$hung$status" 0
for window in 0 1; do
	for worker in 1 2; do
		file=windows/rank0.worker$worker.$window.tpt
		is "window $window, worker $worker: begins and ends with its rank's" \
			"$(value "$file" begin) $(value "$file" end) $(value "$file" first_step) $(value "$file" steps)" \
			"$(value "windows/rank0.$window.tpt" begin) $(value "windows/rank0.$window.tpt" end) $(
				value "windows/rank0.$window.tpt" first_step) 5"
		like "window $window, worker $worker: it has operators" "$("$DUMP" "$file")" \
			'^EVENT.*aten::div'
	done
done
# shellcheck disable=SC2012
is "windows: and no others" "$(ls windows/*.tpt | wc -l)" 6
fuse windows-merged -v overview "windows"
like "windows: the merge" "$(cat windows-merged.out)" 'recorded +10 of 80 steps .* in 2 windows'
fuse windows-steps --steps 23 -v operator windows
like "one step of it: what its workers did then, too" "$(cat windows-steps.out)" 'aten::div'

# ---- hard ways ----

if [ -n "${LONG:-}" ]; then
	one persistent fork persistent threads subprocess
	# shellcheck disable=SC2012
	is "persistent: two workers for all epochs, none of what they start" \
		"$(ls persistent/*worker*.tpt | wc -l)" 2
	one exit fork exit numpy once
	# shellcheck disable=SC2012
	is "exit: also a worker that loads arrays and leaves by os._exit has its trace" \
		"$(ls exit/*worker*.tpt | wc -l)" 2
	one kill fork kill once
	fuse killed -v overview,health kill
	like "kill: the merge has the worker's records from its ring" "$(cat killed.err)" \
		'worker [12]: .*from its buffer file'
	one die fork die
	fuse died -v overview die
	like "die: the merge reads what the rank left" "$status $(cat died.out)" 'recorded +8 of 8 steps'
fi

n=60
[ -z "${LONG:-}" ] || n=1000
rm -f rings/*
one forks forks $n
# shellcheck disable=SC2012
is "forks: only those that made tensors have traces" "$(ls forks/*worker*.tpt | wc -l)" $((n / 2))
is "forks: no ring is left, also of those that exec" "$(find forks rings -name '*.ring')" ""

# A child that trains has steps and a schedule of its own, whatever it did before.
limited "$LIMIT" bare train-bare "$PYTHON" "$PROGS/workers.py" train
limited "$LIMIT" train train TRAINPROF_SCHEDULE=wait=1,warmup=0,active=3,repeat=1 \
	"$PYTHON" "$PROGS/workers.py" train
is "train: ends as the bare run" "$hung$status $(cat train.out)" "0 $(cat train-bare.out)"
last=$(find train -name 'rank0.worker1.*.tpt' | sort | tail -n 1)
is "train: the child's steps are its own" \
	"$("$DUMP" "$last" | grep -c $'^EVENT\t3\t') $(value "$last" first_step)" "3 1"
done_testing
