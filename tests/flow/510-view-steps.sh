#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The overview and the steps view find what is known to be wrong with a run: a step that waited
# for data, one whose operators took long, the rank for which the others wait. And they look
# right: within the terminal, in colour only on one.

. "$(dirname "$0")/lib/lib.sh"
need_torch

train run TRAINPROF_SCHEDULE=skip_first=24,wait=0,warmup=1,active=10,repeat=1 \
	"$PYTHON" "$PROGS/slow_steps.py"
is "the training ends well" "$status" 0

fuse all -v overview,steps,health --top 0 "$TMP/run"
is "the merge ends well" "$status" 0
all=$(cat "$TMP/all.out")
like "the overview counts steps" "$all" '10 of 40 steps in 1 window'
like "it finds the slowest step and why" "$(tr -s ' \n' ' ' <<<"$all")" \
	'step 20 \(after the first\): .* more waiting for data'
like "it advises on data loading" "$(tr -s ' \n' ' ' <<<"$all")" \
	'waiting for data, which is loaded in the training process.* [^ ]*slow_steps.py:[0-9]+.*, samples of [A-Z].* DataLoader (with )?num_workers > 0'
like "it names the version of torch" "$all" "torch $("$PYTHON" -c 'import torch; print(torch.__version__.replace("+", "."))')"
like "the slow steps are marked" "$all" '^ +20 +0/20 .* slow [0-9.]+x$'
like "also the one that computed" "$all" '^ +30 +0/30 +active .* slow [0-9.]+x$'
is "every step has its row" "$(grep -cE '^ +[0-9]+ +0/[0-9]+ ' <<<"$all")" 40
like "nothing was lost" "$all" 'all good'
unlike "no colour in a file" "$all" $'\033'

# RSS and VMS of the process: on the last step of each second, and as the kernel has them at the end.
"$MERGE" -q -f jsonl -v steps -o "$TMP/rows" --top 0 "$TMP/run" >"$TMP/rows.jsonl" 2>&1
is "RSS and VMS are on some steps, RSS is part of VMS, and near what a process with torch has" "$("$PYTHON" -c '
import glob, json, sys
rows = [json.loads(line) for name in glob.glob(sys.argv[1] + "*") for line in open(name, encoding="utf-8")]
known = [row for row in rows if row.get("rss_bytes")]
print(0 < len(known) <= len(rows), all(50e6 < row["rss_bytes"] < row["vms_bytes"] for row in known))' "$TMP/rows")" "True True"
# The log has VMS where it has changed; a step whose line has RSS has it, as where each such line says it.
is "VMS is written where it has changed" "$(awk '/^s.* r/ { for (i = 2; i <= NF; i++) if ($i ~ /^a/) { same += $i == a; a = $i } }
	END { print same + 0 }' "$TMP/run/rank0.steps")" 0
vms_of()
{
	mkdir "$TMP/$1"
	cp "$TMP/run"/*.tpt "$TMP/$1"
	sed -E 's/ [ra][0-9]+//g' "$TMP/run/rank0.steps" | awk "$2" >"$TMP/$1/rank0.steps"
	"$MERGE" -q -f jsonl -v steps --top 0 "$TMP/$1" | grep -o '"vms_bytes":[0-9]*'
}
is "... and read for each" "$(vms_of changed '/^s/ { $0 = $0 " r1000" (n++ % 20 ? "" : " a" 5000 + n) } 1')" \
	"$(vms_of each '/^s/ { if (n++ % 20 == 0) a = 5000 + n; $0 = $0 " r1000 a" a } 1')"
is "... all of them" "$(grep -c . <<<"$(vms_of all '/^s/ { $0 = $0 " r1000 a5000" } 1')")" 40

# The parts of a step add up: read them back from the table of recorded steps.
sums=$(awk '
	function ms(value, unit) { return value * (unit == "ns" ? 1e-6 : unit == "us" ? 1e-3 : unit == "s" ? 1e3 : 1) }
	/^How long each recorded step took/ { on = 1; next }
	on && /^ *$/ { on = 0 }
	on && $1 ~ /^[0-9]+$/ {
		at = ($2 ~ /^(median|fastest)$/) ? 3 : 2
		total = ms($at, $(at + 1)); sum = 0
		for (i = at + 2; i < NF; i += 2) sum += ms($i, $(i + 1))
		if (sum < total * 0.98 || sum > total * 1.02) print
		rows++
	}
	END { print rows + 0, "rows" }' <<<"$all")
is "the parts of each step add up to it" "$sums" "10 rows"

# on_terminal COLUMNS COMMAND...: its output, as a terminal of that width gets it.
on_terminal()
{
	local columns=$1
	shift
	TERM=xterm "$PYTHON" "$TOP/tests/flow/lib/on_terminal.py" 1000 "$columns" "$@"
}

for columns in 80 120; do
	on_terminal $columns "$MERGE" -v overview,operator,steps,health "$TMP/run" \
		| sed "s/\x1b\[[0-9;]*m//g; s,$TOP,/top," >"$TMP/wide.$columns"
	wide=$("$PYTHON" -c '
import sys
for line in open(sys.argv[1], encoding="utf-8"):
    if len(line.rstrip("\n")) > int(sys.argv[2]) and " " in line.strip():
        print(line, end="")' "$TMP/wide.$columns" $columns)
	is "nothing is wider than $columns columns" "$wide" ""
	like "... of what is there" "$(cat "$TMP/wide.$columns")" 'all good'
done
like "colour on a terminal" "$(on_terminal 80 "$MERGE" -v health "$TMP/run")" $'\033\\[32m  all good'
unlike "none with NO_COLOR" "$(NO_COLOR=1 on_terminal 80 "$MERGE" -v health "$TMP/run")" $'\033'

train ranks TRAINPROF_SCHEDULE=skip_first=24,wait=0,warmup=1,active=10,repeat=1 \
	"$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master_port 29517 \
	"$PROGS/slow_steps.py"
is "two ranks end well" "$status" 0
fuse ranks -v overview "$TMP/ranks"
like "the overview sees both ranks" "$(cat "$TMP/ranks.out")" 'ranks +2 of 2 ranks'
like "the late rank is named" "$(tr -s ' \n' ' ' <"$TMP/ranks.out")" \
	'uneven-ranks rank 1 is the straggler, [0-9.]+ ms late per step'

done_testing
