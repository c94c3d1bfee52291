#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.json: how each process was started and ended, whatever its end; no secret is in any file.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
export TRAINPROF_PROGRAM=sleep TRAINPROF_STEP=clock:20 TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap,host

# start RUN RANK SECONDS: in the background.
start()
{
	env RANK="$2" WORLD_SIZE=3 LOCAL_RANK="$2" MASTER_PORT=29500 MASTER_ADDR=$'a\n#end\nb' \
		AWS_SECRET_ACCESS_KEY=hidden1 TRAINPROF_DIR="$TMP/$1" LD_PRELOAD="$LIB" \
		sleep "$3" 2>>"$1.err" &
}

# await FILE PATTERN: a minute at most.
await()
{
	local i
	for ((i = 0; i < 600; i++)); do
		! grep -q -- "$2" "$1" 2>/dev/null || return
		sleep 0.1
	done
}

# value PYTHON: of `run`, the file, and `rank`, its processes by rank.
value()
{
	"$PYTHON" -c 'import json, sys
run = json.load(open("run/run.json"))
rank = {p["rank"]: p for p in run["processes"]}
print(eval(sys.argv[1]))' "$1"
}

start run 0 0.3
wait
start run 1 100
killed=$!
start run 2 100
await run/rank1.steps '^s0 '
await run/rank2.steps '^s0 '
kill -KILL "$killed"
wait "$killed" 2>/dev/null
fuse merged -f run run
is "run.json is written" "$status" 0
is "how each ended" "$(value '[rank[i]["end"] for i in range(3)]')" "['exit', 'killed', 'running']"
is "how each was started" "$(value '[rank[i]["command"] for i in range(3)]')" \
	"['sleep 0.3', 'sleep 100', 'sleep 100']"
is "where" "$(value 'rank[1]["cwd"]')" "$PWD"
is "its variables" "$(value 'rank[1]["environment"]["LOCAL_RANK"]')" 1
is "a newline in a value ends no line" "$(value 'rank[1]["environment"]["MASTER_ADDR"]')" 'a #end b'
is "settings" "$(value 'rank[0]["settings"]["STEP"]')" clock:20
is "job, hosts" "$(value '(run["job"], len(run["hosts"]))')" "('port:29500', 1)"
is "windows are files that are there" \
	"$(value 'all(__import__("os").path.getsize(w["file"]) == w["bytes"] for w in rank[0]["windows"])')" True
is "nothing but run.json was added" "$(find run -newer run.err -name '*.json*' -printf '%f\n')" run.json
is "no secret is in any file" "$(grep -rl hidden1 run)" ""
kill %% 2>/dev/null
wait 2>/dev/null
fuse recovered -q --recover run
is "no ring is left" "$(find run -name "*.ring")" ""

# An argument longer than a line; ones that are secrets by their names, or log in.
long=$(printf 'x%.0s' {1..1500})
TRAINPROF_PROGRAM=bash TRAINPROF_DIR=$TMP/run2 LD_PRELOAD=$LIB bash -c 'read -rt 0.3 <> <(:); :' bash \
	"it's" --api-key=hidden2 --hub-token hidden3 sql://me:hidden4@host/base "$long" 2>>run2.err
mkdir -p run
rm -f run/*
fuse two -f run -o run/run.json run2
is "a long command line is whole, as a shell takes it" \
	"$("$PYTHON" -c 'import json, shlex
print(shlex.split(json.load(open("run/run.json"))["processes"][0]["command"])[-6:])')" \
	"[\"it's\", '--api-key=***', '--hub-token', '***', 'sql://**********@host/base', '$long']"
is "no row of the ledger is odd" "$(cat two.err)" ""
is "secrets of the command line are not kept" "$(grep -rl 'hidden[234]' run run2)" ""
like "a trace says what ran" "$("$O/tests/progs/tptdump" run2/*.tpt)" '^META	program=exec:bash -c '
unlike "... without its secrets" "$("$O/tests/progs/tptdump" run2/*.tpt)" 'hidden'
done_testing
