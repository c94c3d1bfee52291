#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfetto_modules.py - calls of nn.Modules in Perfetto against the rows of -v module

usage: perfetto_modules.py WEB_DIST ROWS FILE...

Each FILE is a merge of what ROWS (jsonl) tell, JSON or protobuf: as many slices of each module as it
has calls, as long in all as its forward pass, the outer ones around the inner ones, none dropped.
Prints one line a difference.
"""

import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FORWARD = ("select replace(s.name, 'nn.Module: ', '') name, count(*) n, sum(s.dur) ns from slice s "
           "left join track t on s.track_id = t.id where s.category in ('module', 'python_function') "
           "and t.name is not 'modules, backward' group by 1")
BACKWARD = ("select s.name, count(*) n, sum(s.dur) ns from slice s join track t on s.track_id = t.id "
            "where t.name = 'modules, backward' group by 1")
LOST = ("select name, value from stats where value != 0 and "
        "(severity in ('error', 'data_loss') or name like '%drop%' or name like '%overlap%')")
# A module inside of another one lies in its slice.
ORPHANS = ("select s.name from slice s left join ancestor_slice(s.id) a "
           "on a.category = s.category where s.category in ('module', 'python_function') "
           "and s.name like '%.%(%' group by s.id having count(a.id) = 0 limit 3")


def main():
    web_dist, rows, *files = sys.argv[1:]
    calls, forward, backward = collections.Counter(), collections.Counter(), collections.Counter()
    for line in open(rows, encoding="utf-8"):
        row = json.loads(line)
        if row["table"] != "module":
            continue
        name = f"{row['name']} ({row['class']})" if row["name"] else row["class"]
        calls[name] += row["calls"]
        forward[name] += row["forward_ns"]
        backward[name] += row["backward_ns"]
    wrong = [] if calls else ["no modules in the rows"]
    for file in files:
        out = subprocess.run(["node", os.path.join(HERE, "perfetto_query.js"), web_dist, file,
                              FORWARD, BACKWARD, LOST, ORPHANS], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        slices, back, lost, orphans = map(json.loads, out.splitlines())
        found = {row["name"]: row for row in slices}
        name = os.path.basename(file)
        if {n: row["n"] for n, row in found.items()} != dict(calls):
            wrong.append(f"{name}: slices {[(n, found.get(n, {}).get('n', 0), calls[n]) for n in calls]}")
        for module, row in found.items():
            if row["ns"] != forward[module]:
                wrong.append(f"{name}: {module}: {row['ns']} ns, {forward[module]} in the view")
        if file.endswith(".pftrace.gz"):
            missing = [n for n in backward if backward[n] and n not in {row["name"] for row in back}]
            if missing or not back:
                wrong.append(f"{name}: no backward pass of {missing}")
            # From a module's first node to its last one: what its nodes took, and what lay between.
            short = [row["name"] for row in back if row["ns"] < backward[row["name"]]]
            if short:
                wrong.append(f"{name}: backward is less than its nodes: {short}")
        if lost:
            wrong.append(f"{name}: {lost}")
        if orphans:
            wrong.append(f"{name}: not inside of any module: {orphans}")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
