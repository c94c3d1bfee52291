#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tables of the views: every field that is written is in --help-columns with its unit, a line of
# help and in the page; --sort takes any of them, --top cuts every table.

. "$(dirname "$0")/lib/lib.sh"
flow=$TOP/tests/flow
cd "$TMP" || exit 1

all=overview,operator,kernel,memory,comm,module,steps,trace,health,memory-at
"$PYTHON" "$flow/lib/kineto_synth.py" synth.json.gz new
golden=$(ls "$TOP"/tests/golden/*.tpt | tail -n 1)
fuse help --help-columns
is "--help-columns" "$status $(cat help.err)" "0 "
fuse rows -q -f jsonl --top 0 -v $all "$golden"
fuse more -q -f jsonl --top 0 -v $all --by-shape --by-stack --by-grid --by-operator synth.json.gz
fuse diff -q -f jsonl --top 0 -v diff --compare synth.json.gz synth.json.gz
ok "every field is told, with its unit and what it says" "$PYTHON" - help.out rows.out more.out diff.out <<'EOT'
import json, sys

told, table, bad = {}, None, []
for line in open(sys.argv[1]):
    if line.startswith("    "):
        field, unit, text = line.split(None, 2)
        told[table][field] = unit
        if not text.strip():
            bad.append((table, field, "says nothing"))
    elif line.startswith("  "):
        table = line.strip().split(":")[0]
        told[table] = {}
seen = set()
for path in sys.argv[2:]:
    for line in open(path):
        row = json.loads(line)
        fields = told.get(row.pop("table"))
        for field, value in row.items():
            unit = (fields or {}).get(field)
            seen.add(unit)
            if not unit and field != "process":
                bad.append((line[:60], field, "is not told"))
            if unit in ("ns", "bytes", "count") and not (value is None or isinstance(value, (int, str))):
                bad.append((line[:60], field, value))
assert not bad, bad[:5]
assert {"ns", "bytes", "count", "percent", "text", "place"} <= seen, seen
EOT

is "health has rows: a verdict, and each window" "$("$PYTHON" -c 'import collections, json, sys
rows = [json.loads(line) for line in open("rows.out")]
print([row["severity"] for row in rows if row.get("finding") == "verdict"],
      collections.Counter(row["table"] for row in rows)["windows"] > 0)')" "['loss'] True"

first()
{
	fuse sorted -q -f csv -v operator --top 1 "$@" synth.json.gz
	sed -n 2p sorted.out | cut -d, -f 3
}

# greatest FIELD: of the operator that has most of it
greatest()
{
	"$PYTHON" -c 'import json, sys
rows = [json.loads(line) for line in open("all.out")]
print(max(rows, key=lambda row: row[sys.argv[1]])["operator"])' "$1"
}

fuse all -q -f jsonl -v operator --top 0 synth.json.gz
for field in self_ns total_ns calls average_ns; do
	is "--sort $field" "$(first --sort $field)" "$(greatest $field)"
done
is "--sort total: as ever" "$(first --sort total)" "$(greatest total_ns)"
fuse names -q -f csv -v operator --top 0 --sort operator synth.json.gz
is "texts from A" "$(sed 1d names.out | cut -d, -f 3 | LC_ALL=C sort -c 2>&1)" ''
fuse unknown -v kernel --sort nothing synth.json.gz
is "an unknown field: refused" "$status" 2
like "those that there are" "$(cat unknown.err)" 'occupancy_percent.*p99_gb_per_s|occupancy_percent.*gb_per_s'
fuse top -q -f jsonl -v comm,kernel,overview --top 1 "$golden"
is "--top cuts every table" "$(sed 's/{"table":"\([a-z_]*\)".*/\1/' top.out | sort | uniq -d)" ''
done_testing
