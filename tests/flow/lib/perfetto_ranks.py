#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfetto_ranks.py - what Perfetto says of a node trace of several ranks, and what the views say

usage: perfetto_ranks.py WEB_DIST ROWS.jsonl.. TRACE..

ROWS are one file a rank, from 0 on: trainprof-merge -f jsonl -v overview,operator,memory --top 0
--ranks N. Of each rank: operators by name (calls, sum of time), steps (time), the most of tensors'
memory. Prints differences, exits 1 when there are some.
"""
import json
import os
import subprocess
import sys

web_dist = sys.argv[1]
rows = [[json.loads(line) for line in open(name)] for name in sys.argv[2:] if name.endswith(".jsonl")]
traces = [name for name in sys.argv[2:] if not name.endswith(".jsonl")]
wrong = []

SLICES = """select p.name as process, s.name as name, count(*) as n, sum(s.dur) as ns,
    sum(exists(select 1 from slice up where up.id = s.parent_id and up.name = s.name)) as nested
    from slice s join thread_track t on s.track_id = t.id join thread th using(utid)
    join process p using(upid) group by 1, 2"""
COUNTERS = """select p.name as process, t.name as name, max(c.value) as most from counter c
    join process_counter_track t on c.track_id = t.id join process p using(upid) group by 1, 2"""
ERRORS = "select name, value from stats where severity = 'error' and value > 0"


def ask(trace):
    query = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto_query.js")
    said = subprocess.run(["node", query, web_dist, trace, "select upid, name from process", SLICES,
                           COUNTERS, ERRORS], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("[")]
    return lines[-3:]


def compare(trace, rank, mine, slices, counters):
    def differ(what, here, there):
        if here != there:
            wrong.append(f"{os.path.basename(trace)}: rank {rank}: {what}: {here} in Perfetto, {there} here")

    of_rank = {row["name"]: row for row in slices if row["process"].startswith(f"rank {rank}:")}
    n = 0
    for row in mine:
        if row["table"] == "operator" and row["operator"] in of_rank:
            other = of_rank[row["operator"]]
            # An operator that calls itself is one call in the view: the page shows both.
            if not other["nested"]:
                differ(row["operator"], (other["n"], other["ns"]), (row["calls"], row["total_ns"]))
                n += 1
        elif row["table"] == "step_breakdown":
            other = of_rank.get(f"ProfilerStep#{row['step']}", {"n": 0, "ns": 0})
            differ(f"step {row['step']}", (other["n"], other["ns"]), (1, row["time_ns"]))
            n += 1
    if n < 30:
        wrong.append(f"{trace}: rank {rank}: only {n} compared")
    its = {row["name"]: row["most"] for row in counters if row["process"].startswith(f"rank {rank}:")}
    # Trace-event JSON has tensors as torch.profiler's memory events, and units in the names.
    if trace.endswith(".pftrace.gz"):
        differ("most of tensors", its.get("tensors, CPU"),
               max(row["bytes"] for row in mine if row["table"] == "tensor_curve"))
    if not its.get("RSS", its.get("RSS B")):
        wrong.append(f"{trace}: rank {rank}: no counter RSS")
    return n


for trace in traces:
    slices, counters, errors = ask(trace)
    if errors:
        wrong.append(f"{trace}: {errors}")
    for rank, mine in enumerate(rows):
        print(f"{os.path.basename(trace)}: rank {rank}: {compare(trace, rank, mine, slices, counters)} "
              "names and steps compared")
print("\n".join(wrong[:20]))
sys.exit(bool(wrong))
