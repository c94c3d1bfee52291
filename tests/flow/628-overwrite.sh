#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# Four processes that start at once in one folder with OVERWRITE=1, and know of no rank, again and again:
# each has a ledger and traces of its own, whole, whatever the others remove. 10 times; with LONG=1 150.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
n_starts=10
[ -z "${LONG:-}" ] || n_starts=150
mkdir rings
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_PROGRAM=cat TRAINPROF_STEP=clock:5 TRAINPROF_SCHEDULE=always \
	TRAINPROF_RECORD=heap,host TRAINPROF_BUFFER=1M TRAINPROF_DIR=$TMP/run

# Ledgers with one head at the beginning and one end, traces without .part: of four processes each?
count_whole()
{
	local ledger n=0
	for ledger in run/*.steps; do
		[ "$(grep -c '^#trainprof' "$ledger") $(head -c 10 "$ledger") $(grep -c '^#end' "$ledger")" = \
			"1 #trainprof 1" ] && n=$((n + 1))
	done
	echo "$n ledgers, $(find run -name '*.tpt' | wc -l) traces, $(find run -name '*.part' | wc -l) parts"
}

wrong=''
mkfifo gate
for ((i = 0; i < n_starts; i++)); do
	exec 3<>gate
	for k in 1 2 3 4; do
		TRAINPROF_OVERWRITE=1 LD_PRELOAD=$LIB cat <gate 3>&- 2>"err$k" &
	done
	# None ends before all have begun: what an ended one left may be removed.
	for ((tries = 0; tries < 1200; tries++)); do
		[ "$(ls rings | wc -l)" -lt 4 ] || break
		sleep 0.05
	done
	exec 3>&-
	wait
	got=$(count_whole)
	[ "$got" = "4 ledgers, 4 traces, 0 parts" ] || wrong+="start $i: $got: $(ls run | tr '\n' ' ')"$'\n'
done
is "$n_starts starts of four processes: each has a ledger and a trace of its own" "$wrong" ""
is "... and no ring is left" "$(ls rings)" ""
fuse merged --strict --job all -f run -o "$TMP/run.json" run
is "the last four can be read, and nothing is lost" "$status" 0
is "... each with an end of its own" "$("$PYTHON" -c 'import json, sys
processes = json.load(open(sys.argv[1]))["processes"]
print(len({p["pid"] for p in processes}), {p["end"] for p in processes})' run.json)" "4 {'exit'}"
done_testing
