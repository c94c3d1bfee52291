#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tables of views as rows for programs: figures as torch's own table has them.

. "$(dirname "$0")/lib/lib.sh"
need_torch

bare make "$PYTHON" "$PROGS/kineto_trace.py" "$TMP/real.json" "$TMP/table.json"
is "torch.profiler makes a trace" "$status" 0
fuse jsonl -q -f jsonl -v operator,steps --top 0 "$TMP/real.json"
is "rows of two views" "$status" 0
is "nothing else is said" "$(cat "$TMP/jsonl.err")" ''
fuse csv -q -f csv -v operator --top 0 -o "$TMP/rows.csv" "$TMP/real.json"
is "CSV into a file" "$status" 0
is "and not to the terminal" "$(cat "$TMP/csv.out")" ''

ok "calls and times of torch's table; both formats say the same" "$PYTHON" - \
	"$TMP/table.json" "$TMP/jsonl.out" "$TMP/rows.csv" <<'EOT'
import csv, json, sys

torch, lines, table = sys.argv[1:]
rows = [json.loads(line) for line in open(lines)]
ours = {row["operator"]: row for row in rows if row["table"] == "operator"}
assert len([row for row in rows if row["table"] == "steps"]) == 4, rows
bad = []
for name, count, self_us, total_us in json.load(open(torch)):
    row = ours.get(name.replace("\\", "/"))
    if name.startswith("ProfilerStep"):
        continue
    if not row or row["calls"] != count or abs(row["total_ns"] / 1000 - total_us) > 1 + count:
        bad.append((name, count, total_us, row))
assert not bad, bad
assert len(ours) > 20
with open(table, newline="") as file:
    from_csv = {row["operator"]: row for row in csv.DictReader(file)}
assert from_csv.keys() == ours.keys()
for name, row in from_csv.items():
    assert int(row["self_ns"]) == ours[name]["self_ns"], name
EOT
# ---- one file with one header, or a file a table; all rows unless --top says fewer ----
fuse all -q -f csv -v overview,operator,steps "$TMP/real.json"
fuse folder -q -f csv -v overview,operator,steps -o "$TMP/new/" "$TMP/real.json"
is "a folder that is not there is made" "$status $(cat "$TMP/folder.out" "$TMP/folder.err")" '0 '
fuse stdout -q -f csv -v overview,operator,steps -o - "$TMP/real.json"
ok "-o - is standard output" cmp "$TMP/all.out" "$TMP/stdout.out"
ok "a header a file, the same rows either way" "$PYTHON" - "$TMP/all.out" "$TMP/new" <<'EOT'
import csv, os, sys

one, folder = sys.argv[1:]
with open(one, newline="") as file:
    rows = list(csv.DictReader(file))
assert {row["table"] for row in rows} >= {"operator", "steps"}
assert not any(None in row for row in rows)
names = {name[:-4] for name in os.listdir(folder)}
assert names == {row["table"] for row in rows}, names
for name in names:
    with open(os.path.join(folder, name + ".csv"), newline="") as file:
        own = list(csv.DictReader(file))
    wanted = [row for row in rows if row["table"] == name]
    assert len(own) == len(wanted)
    for a, b in zip(own, wanted):
        assert a == {field: b[field] for field in a}, (a, b)
assert len([row for row in rows if row["table"] == "operator"]) > 20
EOT
fuse top -q -f csv -v operator --top 3 "$TMP/real.json"
is "--top cuts rows, too" "$(wc -l <"$TMP/top.out")" 4

# ---- where formats go ----
fuse plain -q -f chrome -o - "$TMP/real.json"
ok "a format on standard output, alone there" "$PYTHON" -c 'import json, sys; json.load(open(sys.argv[1]))' \
	"$TMP/plain.out"
for bad in "-f torch -o -" "-f chrome,html -o -" "-f chrome -v steps -o -"; do
	# shellcheck disable=SC2086 # words are wanted
	fuse bad -q $bad "$TMP/real.json"
	is "$bad: refused" "$status" 2
done
{ "$MERGE" -q -f chrome -o - "$TMP/real.json" 2>"$TMP/gone.err"; echo $? >"$TMP/gone.status"; } | { exec <&-; }
is "a reader that goes away is no error" "$(cat "$TMP/gone.status" "$TMP/gone.err")" 0
mkdir "$TMP/run"
cp "$TMP/real.json" "$TMP/run/real.pt.trace.json"
fuse whole -q -f chrome "$TMP/run"
before=$(cksum <"$TMP/run/node0.json.gz")
fuse part -f chrome,folded --ranks 0 --windows 0 "$TMP/run"
like "a part of a run has a name of its own" "$(cat "$TMP/part.out")" 'wrote .*/run/node0-ranks0-windows0\.json\.gz'
like "a folder, too" "$(cat "$TMP/part.out")" 'wrote .*/run/folded-ranks0-windows0;'
is "and the whole is as it was" "$(cksum <"$TMP/run/node0.json.gz")" "$before"
for format in perfetto folded chrome,html; do
	fuse made -q -f $format -o "$TMP/made-$format/" "$TMP/real.json"
	is "$format: -o new/ is a folder" "$status $(test -d "$TMP/made-$format" && echo folder)" "0 folder"
done

fuse beside -q -f chrome,torch,csv -v operator -o "$TMP/beside/" "$TMP/real.json"
is "rows and formats: -o new/ is the folder of all" "$status $(cat "$TMP/beside.out") $(cd "$TMP/beside" && echo *)" \
	"0  node0.json.gz operator.csv torch"
ok "the rows are those of csv alone" cmp "$TMP/beside/operator.csv" "$TMP/new/operator.csv"
fuse file -q -f chrome,csv -v operator -o "$TMP/one.json" "$TMP/real.json"
like "a file is the format's, and rows go to standard output" "$status $(head -n 1 "$TMP/file.out")" '^0 table,'

fuse both -f csv,jsonl "$TMP/real.json"
is "two formats of one output: refused" "$status" 2
fuse nowhere -q -f csv -o /nowhere/rows.csv "$TMP/real.json"
is "a file that cannot be written: an error" "$status" 1
like "that says so" "$(cat "$TMP/nowhere.err")" "cannot write '/nowhere/rows.csv'"

done_testing
