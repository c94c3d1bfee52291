#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Beside a running job: the page and the lines of --live, Prometheus' text in a file and by HTTP, a line
# of JSON for each step; what a killed rank looks like, many ranks in groups, names that are no text.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
# Not sleep(1): it closes its standard error before it ends.
mkfifo never
exec 3<>never
export TRAINPROF_PROGRAM=bash TRAINPROF_RECORD=heap,host

await()
{
	local i
	for ((i = 0; i < 600; i++)); do
		[ ! -s "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

# start NAME SCHEDULE: two ranks that step by the clock until the file NAME.stop is there.
start()
{
	local rank
	pids=()
	for rank in 0 1; do
		env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank "TRAINPROF_SCHEDULE=$2" TRAINPROF_STEP=clock:20 \
			"TRAINPROF_DIR=$TMP/$1" "LD_PRELOAD=$LIB" \
			bash -c 'while [ ! -e "$0" ]; do read -rt 0.2 -u 3; done' "$TMP/$1.stop" 2>>"$1.err" &
		pids+=($!)
	done
	await "$1/rank0.steps" && await "$1/rank1.steps"
}

# free_port: a port that nobody listens at.
free_port()
{
	"$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start run wait=10,warmup=0,active=5,repeat=2,per=run
port=$(free_port)
"$MERGE" --live --metrics file.prom --step-lines steps.jsonl --every 0.5 run >lines 2>lines.err &
live=$!
"$MERGE" --metrics "127.0.0.1:$port" run >/dev/null 2>http.err &
http=$!
await run/rank0.1.tpt
await run/rank1.1.tpt
"$PYTHON" - "$port" <<'END' >http.prom
import sys, time, urllib.error, urllib.request
url = "http://127.0.0.1:%s/" % sys.argv[1]
text = ""
# Ledgers are written once a second.
for _ in range(100):
    try:
        text = urllib.request.urlopen(url + "metrics", timeout=10).read().decode()
        if 'trainprof_steps_total{rank="1"' in text and 'trainprof_last_step_seconds{rank="1"' in text:
            if not any(line.startswith("trainprof_steps_total") and line.endswith(" 0")
                       for line in text.splitlines()):
                break
    except OSError:
        pass
    time.sleep(0.1)
print(text, end="")
try:
    urllib.request.urlopen(url + "etc/passwd", timeout=10)
except urllib.error.HTTPError as error:
    print("# other pages:", error.code)
END
like "HTTP: the metrics" "$(cat http.prom)" '^trainprof_steps_total\{rank="1",host=".*",job=""\} [1-9]'
like "HTTP: nothing else" "$(cat http.prom)" '^# other pages: 404$'
if command -v script >/dev/null; then
	script -qec "stty rows 40 cols 140; timeout 3 '$MERGE' --live run" screen >/dev/null 2>&1
	page=$(sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' screen | tr -d '\r')
	like "the page: ranks" "$page" '^rank +host +state +steps +steps/s'
	like "a row for each" "$page" '^ +1 +.* (wait|done|active) '
	like "the schedule" "$page" '^ +schedule +skip_first=0,wait=10,warmup=0,active=5,repeat=2,per=run'
	like "the last windows" "$page" '^ +1 +2 of 2 '
	like "the cursor is back" "$(tail -c 200 screen | tr -d '\r')" $'\x1b''\[\?25h'
else
	skip "the page" "no script(1)"
fi
touch run.stop
wait "${pids[@]}"
wait $live
is "it ends when the job has ended" "$?" 0
wait $http
is "so does the other" "$?" 0
like "lines, where there is no terminal" "$(cat lines)" \
	'^[0-9:]+ step [0-9,]+, epoch 0, [0-9.]+ steps/s, .* per step, waiting for data .*, 2 of 2 ranks run'
like "the last one says how it ended" "$(tail -n 1 lines)" '0 of 2 ranks run, 2 ended'
is "nothing is complained about" "$(cat lines.err http.err)" ""
is "a line of JSON for each step of the ledgers" "$(wc -l <steps.jsonl)" "$(cat run/*.steps | grep -c '^s')"
ok "that is JSON" "$PYTHON" -c '
import json
rows = [json.loads(line) for line in open("steps.jsonl")]
assert all(row["table"] == "live_step" and row["time_ns"] > 0 for row in rows)
assert {row["rank"] for row in rows} == {0, 1}
steps = [row["step"] for row in rows if row["rank"] == 1]
assert steps == list(range(len(steps)))
assert any(row["phase"] == "active" for row in rows)'
cp file.prom saved.prom
if "$PYTHON" -c 'import prometheus_client' 2>/dev/null; then
	for text in saved.prom http.prom; do
		ok "$text: Prometheus' own parser takes it" "$PYTHON" - "$text" "$TOP/merge/live/metrics.def" <<'END'
import re, sys
from prometheus_client.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
names = {sample.name for family in families for sample in family.samples}
wanted = re.findall(r"^_\((\w+), (\w+)", open(sys.argv[2]).read(), re.M)
assert names == {"trainprof_" + name for name, kind in wanted}, names
types = {family.name: family.type for family in families}
for name, kind in wanted:
    assert types["trainprof_" + re.sub("_total$", "", name)] == kind, name
for family in families:
    assert family.documentation
    assert [sample.labels["rank"] for sample in family.samples] == ["0", "1"], family.name
END
	done
else
	skip "Prometheus' own parser takes it" "no prometheus_client (make setup)"
fi

start killed trigger
"$MERGE" --live --every 0.3 killed >killed.lines 2>&1 &
live=$!
kill -9 "${pids[0]}"
wait "${pids[0]}" 2>/dev/null
sleep 1.5
kill -9 "${pids[1]}"
wait "${pids[1]}" 2>/dev/null
wait $live
like "a killed rank is told" "$(cat killed.lines)" '1 of 2 ranks run, 1 dead'
like "and when all are dead it ends" "$(tail -n 1 killed.lines)" '0 of 2 ranks run, 2 dead'

# Generated ledgers: the lines of the format, by hand.
mkdir many
for ((rank = 0; rank < 200; rank++)); do
	{
		printf '#trainprof-ledger 1 run=%016x boot=%032x mono=1000 real=1700000000000000000 ' $((rank + 1)) 1
		printf 'rank=%d local=%d world=200 node=%d pid=%d restart=0 host=node%d\n' $rank $((rank % 8)) \
			$((rank / 8)) $((1000 + rank)) $((rank / 8))
		for ((step = 0; step < 3; step++)); do
			echo "s$step i$step p2 t$((1000 + step * 1000000)) d$((1000000 + (rank == 77) * 500000)) w$((rank == 77 ? 600000 : 1000))"
		done
		echo "#end"
	} >many/rank$rank.steps
done
if command -v script >/dev/null; then
	script -qec "stty rows 40 cols 140; '$MERGE' --live many" screen >/dev/null 2>&1
	page=$(sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' screen | tr -d '\r')
	like "many ranks are shown in groups" "$page" '^ *64-71 +node8 +ended +3 '
	is "that fill the screen" "$(printf '%s\n' "$page" | grep -c '^ *[0-9]*-[0-9]* *node.* ended ')" 25
	like "the slow one is named" "$page" '^ +slow +rank 77: 1.50 ms per step, waiting for data 40.0 %'
fi
echo "trainprof hang" >many/rank3.77.hang
fuse many.line --live many
like "a report is told" "$(cat many.line.out)" '200 ended, 0 traces, 1 reports$'
like "as a line" "$(cat many.line.out)" 'step 3, epoch 0, .* 0 of 200 ranks run, 200 ended'

trainprof=$TOP/scripts/trainprof
if cmp -s "$LIB" "$("$trainprof" lib 2>/dev/null)"; then
	like "trainprof live is the same" "$(PYTHONDONTWRITEBYTECODE=1 "$trainprof" live many)" '200 ended'
	PYTHONDONTWRITEBYTECODE=1 "$trainprof" ctl many halt 2>door.err
	is "trainprof ctl, too" "$? $(grep -c "'halt' is no command" door.err)" "2 1"
else
	skip "the doors of trainprof" "the checkout's build is not the one that is tested"
fi

mkdir odd
printf '#trainprof-ledger 1 run=%016x boot=%032x mono=1 real=1 rank=0 local=0 world=1 node=0 pid=1 restart=0 host=%s\ns0 d5\n#end\n' \
	7 7 $'a\x1b[31m"\\b' >odd/rank0.steps
ln -s /dev/zero odd/rank1.steps
mkfifo odd/rank2.steps odd/rank3.0.tpt odd/rank4.1.ring
head -c 300 /dev/urandom >odd/rank5.steps
ln -s /dev/zero odd/x.ring
fuse odd --metrics odd.prom odd
is "what is no ledger is passed over" "$status" 0
like "and names of hosts are made printable" "$(cat odd.prom)" '^trainprof_up\{rank="0",host="a\\\\x1B\[31m\\"\\\\b",job=""\} 0$'
# A ledger with a terabyte of nothing in it, whose job has ended.
mkdir sparse
head -n 2 many/rank3.steps >sparse/rank3.steps
truncate -s 1T sparse/rank3.steps
printf '\ns1 i1 p2 t2000000 d1000000 w1000\n#end\n' >>sparse/rank3.steps
timeout 60 "$MERGE" --step-lines sparse.jsonl sparse 2>sparse.err
is "where nothing was ever written nothing is read" "$? $(cat sparse.err) $(wc -l <sparse.jsonl)" "0  2"
timeout 60 "$MERGE" -q -v steps --top 0 sparse >sparse.out 2>sparse.err
is "... by the merge neither" "$?" 0
like "... which says what it is" "$(cat sparse.err)" "lines are not those of a step log"

# Two ledgers that say to be the same process's, of two jobs.
mkdir same
for rank in 0 1; do
	sed "1s/ boot=0*1 / boot=0000000000000000000000000000000$((rank + 1)) /; 1s/ rank=[0-9]* / rank=0 /
		1s/ run=[0-9a-f]* / run=0000000000000007 /; 1s/ real=1/ real=1$rank/" many/rank$rank.steps >same/rank$rank.steps
done
fuse same --live same
like "a process that is there twice is shown" "$(cat same.out)" '0 of 1 ranks run, 1 ended'

fuse none --live nothing
is "no folder: status 1" "$status" 1
fuse usage --live --metrics :x:y odd odd
is "two folders: usage" "$status" 2
fuse every --live --every 0 odd
is "no time: usage" "$status" 2
done_testing
