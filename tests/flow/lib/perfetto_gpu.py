#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfetto_gpu.py - what Perfetto reads of the merge of a GPU trace against the trace itself

usage: perfetto_gpu.py WEB_DIST TRACE FILE...

TRACE is Kineto JSON of one rank, each FILE a merge of it in some format. Every span must be
there once, with its length to the nanosecond, in its category; work of a device on rows of a
process called by its GPU; an arrow to each piece of work whose call is there; no count of the
importer's losses may be above zero. Prints one line a difference.
"""

import collections
import gzip
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Whether a range is an annotation or an operator is a matter of its name and the format.
WORDS = {"operator": "span", "cpu_op": "span", "user_annotation": "span",
         "runtime": "cuda_runtime", "cuda_driver": "cuda_runtime", "memcpy": "gpu_memcpy",
         "memset": "gpu_memset"}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
READ = DEVICE + ("span", "cuda_runtime", "cuda_sync")

QUERIES = {
    "slices": "select category, count(*) n, sum(dur) dur from slice "
              "where name != '[memory]' group by 1",
    "rows": "select p.name process, t.name thread, s.category, count(*) n from slice s "
            "join thread_track k on s.track_id = k.id join thread t using (utid) "
            "join process p using (upid) where s.name != '[memory]' group by 1, 2, 3",
    "negative": "select count(*) n from slice where dur < 0",
    "arrows": "select i.category, count(*) n, sum(o.ts <= i.ts) forward from flow f "
              "join slice o on o.id = f.slice_out join slice i on i.id = f.slice_in "
              "where o.category in ('cuda_runtime', 'cuda_driver', 'Runtime') group by 1",
    "losses": "select name, value from stats where value != 0 and (severity in ('error', "
              "'data_loss') or name like '%flow%' or name like '%drop%' or name like '%overlap%')",
}


def ask(web_dist, path):
    out = subprocess.run(["node", os.path.join(HERE, "perfetto_query.js"), web_dist, path,
                          *QUERIES.values()], check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(zip(QUERIES, map(json.loads, out.splitlines())))


def word_of(category):
    category = (category or "").lower()
    return WORDS.get(category, category)


def read_source(path):
    """Spans by category (number, ns), and pieces of work that have a call (without length:
    the second)."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    spans, with_call = collections.defaultdict(lambda: [0, 0]), [0, 0]
    calls = {e["args"]["correlation"] for e in events if word_of(e["cat"]) == "cuda_runtime"}
    for e in events:
        category = word_of(e.get("cat"))
        if category not in READ:
            continue
        spans[category][0] += 1
        spans[category][1] += round(e["dur"] * 1000)
        if category in DEVICE and e["args"].get("correlation") in calls:
            with_call[e["dur"] == 0] += 1
    return spans, with_call


def check(answers, source, path):
    spans, with_call = source
    shown = collections.defaultdict(lambda: [0, 0])
    wrong = []
    for row in answers["slices"]:
        shown[word_of(row["category"])][0] += row["n"]
        shown[word_of(row["category"])][1] += row["dur"]
    for category in sorted(set(spans) | set(shown)):
        n, ns = spans.get(category, (0, 0))
        n_shown, ns_shown = shown.get(category, (0, 0))
        # What overlaps by a rounding (of microseconds, in old traces) is cut.
        if n != n_shown or abs(ns - ns_shown) > (10 if category in DEVICE else 1000) * n:
            wrong.append(f"{category}: {n} of {ns} ns in the trace, {n_shown} of {ns_shown} ns "
                         "shown")
    for row in answers["rows"]:
        is_device = word_of(row["category"]) in DEVICE
        if is_device != ("GPU " in row["process"]) and row["category"] != "cuda_sync":
            wrong.append(f"{row['n']} {row['category']} lie in '{row['process']}'")
        if is_device and not row["thread"].startswith("stream "):
            wrong.append(f"{row['n']} {row['category']} lie on '{row['thread']}'")
    arrows = sum(row["n"] for row in answers["arrows"])
    # In protobuf none leads to work without length, in whole microseconds.
    if not with_call[0] <= arrows <= sum(with_call):
        wrong.append(f"{arrows} arrows to {sum(with_call)} pieces of work that have a call")
    for row in answers["arrows"]:
        if row["forward"] != row["n"] or row["category"] not in DEVICE:
            wrong.append(f"{row['n']} arrows to {row['category']}, {row['forward']} forward")
    if answers["negative"][0]["n"]:
        wrong.append(f"{answers['negative'][0]['n']} slices have no end")
    wrong += [f"importer's count {row['name']} = {row['value']}" for row in answers["losses"]]
    return [f"{os.path.basename(path)}: {line}" for line in wrong]


def main():
    web_dist, trace, *paths = sys.argv[1:]
    source = read_source(trace)
    wrong = []
    for path in paths:
        wrong += check(ask(web_dist, path), source, path)
    print("\n".join(wrong) or f"same: {sum(n for n, _ in source[0].values())} spans, "
          f"{source[1][0]} arrows, {len(paths)} files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
