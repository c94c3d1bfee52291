#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# trainprof-merge --watch beside a job: windows are merged when their ranks are complete, files delivered
# with retries, some kept; a watcher that is killed at any moment loses no window, leaves nothing half
# done under a final name, and delivers nothing under two names. 50 kills, with LONG=1 200.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
# Not sleep(1): it closes its standard error before it ends.
mkfifo never
exec 3<>never
export TRAINPROF_PROGRAM=bash TRAINPROF_RECORD=heap,host

# start NAME SCHEDULE [VARIABLE=VALUE]...: two ranks that step by the clock until the file NAME.stop is there.
start()
{
	local name=$1 schedule=$2 rank
	shift 2
	pids=()
	for rank in 0 1; do
		env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank "TRAINPROF_SCHEDULE=$schedule" TRAINPROF_STEP=clock:20 \
			"$@" "TRAINPROF_DIR=$TMP/$name" "LD_PRELOAD=$LIB" \
			bash -c 'while [ ! -e "$0" ]; do read -rt 0.2 -u 3; done' "$TMP/$name.stop" 2>>"$name.err" &
		pids+=($!)
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

# Puts a file there whole, and fails at the first try of each.
cat >deliver.sh <<'END'
#!/bin/bash
# deliver.sh FOLDER FILE NAME
tried=$1.tried-$3
[ -e "$tried" ] || { : >"$tried"; exit 3; }
cp "$2" "$1/.$3.part" && mv "$1/.$3.part" "$1/$3"
END
chmod +x deliver.sh

# It may begin before the job.
mkdir store
"$MERGE" --watch --every 0.3 --deliver './deliver.sh store {file} {name}' --keep 0 -f chrome,tpn run \
	>watch.out 2>watch.err &
watch=$!
start run wait=3,warmup=0,active=3,repeat=3,per=run
await store/node0.window2.json.gz
touch run.stop
wait "${pids[@]}"
wait $watch
is "a watcher ends when the job has" "$?" 0
is "every file was delivered" "$(ls store)" "$(for w in 0 1 2; do
	printf 'node0.window%d.json.gz\nnode0.window%d.tpn\nrank0.%d.tpt\nrank1.%d.tpt\n' $w $w $w $w
done | sort)"
is "--keep 0: none stays once delivered" "$(find run -name '*.tpt' -o -name 'node*')" ""
is "ledgers stay" "$(ls run)" "rank0.steps
rank1.steps
watch.journal"
is "the journal has it all" "$(cut -d' ' -f1 run/watch.journal | grep -v failed | sort | uniq -c | tr -s ' \n' ' ')" \
	" 12 delivered 3 merged 12 removed "
if grep -q '^failed' run/watch.journal; then
	like "failures were told, and tried again" "$(cat watch.err)" "is not delivered \(status 3, try 1\); again in 1 s"
fi
like "the last line counts" "$(tail -n 1 watch.out)" '^3 windows merged, 12 files delivered, 12 removed$'
fuse delivered -v overview store/node0.window1.tpn
is "what was delivered is a run" "$status" 0
like "of both ranks" "$(cat delivered.out)" '2 of 2 ranks|2 ranks|rank 1'

# A rank that dies: its window is merged without it, and who is missing is said.
start torn wait=3,warmup=0,active=100000
await torn/rank0.0.tpt.part
await torn/rank1.0.tpt.part
kill -9 "${pids[1]}"
wait "${pids[1]}" 2>/dev/null
"$MERGE" --watch --every 0.3 --wait 1 torn >torn.out 2>torn.err &
watch=$!
touch torn.stop
wait "${pids[0]}"
wait $watch
is "a window without a rank is merged" "$(ls torn/node0.window0.json.gz)" torn/node0.window0.json.gz
like "who is missing is said" "$(cat torn.err)" 'window0: no trace of rank 1: merged without'

# What is never delivered stays, and is said.
start stuck wait=3,warmup=0,active=3,repeat=1,per=run
await stuck/rank0.0.tpt
await stuck/rank1.0.tpt
touch stuck.stop
wait "${pids[@]}"
fuse stuck.watch --watch --every 0.3 --deliver 'exit 1' --keep 0 stuck
is "what cannot be delivered: status 1" "$status" 1
like "it is said" "$(cat stuck.watch.err)" "3 files are not delivered; they stay in 'stuck'"
is "and stays" "$(find stuck -name '*.tpt' -o -name 'node*' | wc -l)" 3
mkdir later
fuse later --watch --every 0.3 --deliver "cp {file} later/{run}-{name}" stuck
is "the next watcher delivers it" "$status $(ls later | tr '\n' ' ')" \
	"0 stuck-node0.window0.json.gz stuck-rank0.0.tpt stuck-rank1.0.tpt "
is "once" "$(grep -c '^merged' stuck/watch.journal)" 1

# Names from outside are no shell.
mkdir "it's \$(touch oops)"
cp stuck/rank0.steps "it's \$(touch oops)/"
cp stuck/rank0.0.tpt "it's \$(touch oops)/rank0.0; touch oops.tpt"
mkdir odd
fuse odd --watch --every 0.3 --deliver 'cp {file} odd/' "it's \$(touch oops)"
is "names are quoted" "$status $(ls odd) $(ls oops* 2>/dev/null)" \
	"0 node0.window0.json.gz
rank0.0; touch oops.tpt "

# Only one at a time.
mkdir busy
exec 4>busy/watch.journal
flock -n 4
timeout 3 "$MERGE" --watch busy 2>busy.err
is "a second watcher waits for the first" "$?" 124
exec 4>&-

# ---- kill -9 at random moments ----
# The windows of a job come one by one while watchers are killed; its ledgers are held, as by a process
# that lives.
start source wait=1,warmup=0,active=2,repeat=15,per=run
await source/rank0.14.tpt
await source/rank1.14.tpt
touch source.stop
wait "${pids[@]}"
mkdir kills kept
for rank in 0 1; do
	grep -v '^#end' source/rank$rank.steps >kills/rank$rank.steps
done
exec 5<kills/rank0.steps 6<kills/rank1.steps
flock 5
flock 6

# put WINDOW RANK: as the job does, whole.
put()
{
	cp "source/rank$2.$1.tpt" "kills/rank$2.$1.tpt.part"
	mv "kills/rank$2.$1.tpt.part" "kills/rank$2.$1.tpt"
}

# Instead of a shell; 5 and 6 are the job's.
watch_kills()
{
	exec "$MERGE" --watch --every 0.1 --deliver './deliver.sh kept {file} {name}' --keep 1 kills \
		>>kills.out 2>>kills.err 5<&- 6<&-
}
kills=50
[ -z "${LONG:-}" ] || kills=200
n_put=0
half=
for ((kill = 0; kill < kills; kill++)); do
	# A window of two ranks now and then, all of them in the first two thirds.
	while [ $((n_put * kills * 2)) -lt $((kill * 30 * 3)) ] && [ $n_put -lt 30 ]; do
		put $((n_put / 2)) $((n_put % 2))
		n_put=$((n_put + 1))
	done
	watch_kills &
	watch=$!
	sleep "0.$((RANDOM % 5))$((RANDOM % 10))$((RANDOM % 10))"
	kill -9 $watch
	wait $watch 2>/dev/null
	for file in kills/node*.json.gz; do
		[ ! -e "$file" ] || gzip -t "$file" 2>/dev/null || half+=" $file"
	done
	for file in kept/*; do
		[ ! -e "$file" ] || [ -s "$file" ] || half+=" $file"
	done
done
while [ $n_put -lt 30 ]; do
	put $((n_put / 2)) $((n_put % 2))
	n_put=$((n_put + 1))
done
echo '#end' >>kills/rank0.steps
echo '#end' >>kills/rank1.steps
exec 5<&- 6<&-
(watch_kills)
is "$kills kills: the last watcher finishes" "$?" 0
is "no half file under a final name" "$half" ""
is "every window was delivered, under its one name" "$(ls kept)" "$(for ((w = 0; w < 15; w++)); do
	printf 'node0.window%d.json.gz\nrank0.%d.tpt\nrank1.%d.tpt\n' $w $w $w
done | sort)"
differing=
for ((w = 0; w < 15; w++)); do
	for rank in 0 1; do
		cmp -s "source/rank$rank.$w.tpt" "kept/rank$rank.$w.tpt" || differing+=" rank$rank.$w"
	done
	gzip -t "kept/node0.window$w.json.gz" || differing+=" node0.window$w"
done
is "each is what the job wrote" "$differing" ""
is "the newest window stays" "$(ls kills)" "node0.window14.json.gz
rank0.14.tpt
rank0.steps
rank1.14.tpt
rank1.steps
watch.journal"
is "of a window the merged file goes first: a kill in between leaves what it is found by" "$(awk '
	$1 == "removed" && $2 ~ /^rank/ { split($2, part, "."); has_lost[part[2]] = 1 }
	$1 == "removed" && $2 ~ /^node/ { split($2, part, /window|[.]json/); if (has_lost[part[2]]) print $2 }
' kills/watch.journal)" ""
is "each delivery is in the journal once or, where a kill came between, once more" \
	"$(grep '^delivered' kills/watch.journal | sort -u | wc -l)" 45
done_testing
