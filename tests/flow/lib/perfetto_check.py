#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfetto_check.py - what Perfetto read of a merge against what the trace files hold

usage: perfetto_check.py WEB_DIST TPTDUMP FOLDER FILE...

FOLDER holds whole trace files, each FILE is a merge of it (JSON or protobuf). Perfetto's own
trace processor is asked for slices, tracks, counters, arrows and its error counts; a second
reader of the trace files (tptdump) says what they should be. Prints one line a difference.
"""

import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OP, RANGE, STEP, ALLOC, FREE, TOTALS, COUNTER, MARK = range(1, 9)

QUERIES = {
    "slices": "select s.name, count(*) n, sum(s.dur) dur from slice s where s.name != '[memory]' "
              "group by 1",
    "memory": "select count(*) n from slice where name = '[memory]'",
    "tracks": "select t.tid, count(*) n from slice s join thread_track k on s.track_id = k.id "
              "join thread t using (utid) group by 1",
    "negative": "select count(*) n from slice where dur < 0",
    "crossing": "select count(*) n from slice c join slice p on c.parent_id = p.id "
                "where c.ts < p.ts or c.ts + c.dur > p.ts + p.dur",
    "counters": "select t.name, count(*) n, sum(c.value) total from counter c "
                "join counter_track t on c.track_id = t.id group by 1",
    "flows": "select count(*) n, sum(o.ts <= i.ts) forward, "
             "sum(i.name like '%Backward%' or i.name like '%backward%') to_backward "
             "from flow f join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in",
    "errors": "select name, severity, value from stats where value != 0 and "
              "severity in ('error', 'data_loss')",
    "dropped": "select name, value from stats where value != 0 and "
               "(name like '%flow%' or name like '%drop%' or name like '%overlap%')",
    "bounds": "select min(ts) first, max(ts + dur) last from slice",
}


def ask(web_dist, path):
    out = subprocess.run(["node", os.path.join(HERE, "perfetto_query.js"), web_dist, path,
                          *QUERIES.values()], check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(zip(QUERIES, map(json.loads, out.splitlines())))


def read_traces(tptdump, folder):
    """Events of all trace files by tptdump: what a merge should show."""
    names, n_memory, counters = collections.Counter(), 0, collections.Counter()
    for entry in sorted(os.listdir(folder)):
        if not entry.endswith(".tpt"):
            continue
        out = subprocess.run([tptdump, os.path.join(folder, entry)], check=True,
                             stdout=subprocess.PIPE, text=True, errors="replace").stdout
        for line in out.splitlines():
            field = line.split("\t")
            if field[0] != "EVENT":
                continue
            kind, name = int(field[1]), field[6]
            if kind == OP:
                # Without the overload; dots before the last "::" are the name's own.
                dot = name.find(".", name.rfind("::") + 1)
                names[name if dot < 0 else name[:dot]] += 1
            elif kind == RANGE:
                names[name] += 1
            elif kind == STEP:
                names[f"ProfilerStep#{field[7]}"] += 1
            elif kind in (ALLOC, FREE):
                n_memory += 1
            elif kind == COUNTER:
                counters[name] += 1
    return names, n_memory, counters


def check(answers, traces, path):
    names, n_memory, counters = traces
    wrong = []
    shown = {row["name"]: row["n"] for row in answers["slices"]}
    for name in sorted(set(names) | set(shown)):
        if names.get(name, 0) != shown.get(name, 0):
            wrong.append(f"{name!r}: {names.get(name, 0)} in the trace, {shown.get(name, 0)} shown")
    # Frees of blocks from before the window have no size: they are not shown.
    if answers["memory"][0]["n"] > n_memory:
        wrong.append(f"{answers['memory'][0]['n']} memory events of {n_memory}")
    shown_counters = sum(row["n"] for row in answers["counters"]
                         if not row["name"].startswith("tensors"))
    if shown_counters != sum(counters.values()):
        wrong.append(f"{shown_counters} counter values of {sum(counters.values())}")
    if answers["negative"][0]["n"]:
        wrong.append(f"{answers['negative'][0]['n']} slices have no end")
    if answers["crossing"][0]["n"]:
        wrong.append(f"{answers['crossing'][0]['n']} slices stick out of their parents")
    flows = answers["flows"][0]
    if flows["n"] and (flows["forward"] != flows["n"] or flows["to_backward"] != flows["n"]):
        wrong.append(f"of {flows['n']} arrows {flows['forward']} go forward in time, "
                     f"{flows['to_backward']} to backward nodes")
    for row in answers["errors"] + answers["dropped"]:
        wrong.append(f"importer's count {row['name']} = {row['value']}")
    return [f"{path}: {line}" for line in wrong]


def main():
    web_dist, tptdump, folder, *paths = sys.argv[1:]
    traces = read_traces(tptdump, folder)
    all_answers, wrong = [], []
    for path in paths:
        answers = ask(web_dist, path)
        all_answers.append(answers)
        wrong += check(answers, traces, path)
    # Every format shows the same: counts, times, arrows, tracks.
    for other in all_answers[1:]:
        for part in ("slices", "memory", "tracks", "flows", "bounds"):
            if other[part] != all_answers[0][part]:
                wrong.append(f"{part} differ between {paths[0]} and another format")
    print("\n".join(wrong) or f"same: {sum(traces[0].values())} spans, "
          f"{all_answers[0]['memory'][0]['n']} memory events, "
          f"{all_answers[0]['flows'][0]['n']} arrows, "
          f"{len(all_answers[0]['tracks'])} threads")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
