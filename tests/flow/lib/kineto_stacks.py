# SPDX-License-Identifier: Apache-2.0
"""kineto_stacks.py - are stacks and modules of a torch.profiler trace what the trace itself says?

usage: kineto_stacks.py stacks ORIGINAL OURS	OURS: of trainprof-merge -f torch. Each operator has
						the frames that "Python parent id" leads to from
						the innermost call around it
       kineto_stacks.py modules CALLS ROWS	ROWS: -v module -f jsonl; CALLS: of forward hooks,
						tests/progs/kineto_trace.py

Left out are operators within others, which have theirs, and what the backward pass does: it has the
stack of its forward operator in ours.
"""
import collections
import json
import re
import sys
from decimal import Decimal

import kineto_input

FRAME = re.compile(r"(.*?)\((\d+)\): (.*)$")


def spans(trace, cat):
    return [event for event in kineto_input.events_of(trace)
            if event.get("ph") == "X" and event.get("cat") == cat]


def end(event):
    return event["ts"] + event["dur"]


def operators(trace):
    """(name, begin in ns from the first one, event)."""
    ops = sorted(spans(trace, "cpu_op"), key=lambda op: (op["ts"], -op["dur"]))
    until = {}
    for op in ops:
        if op["ts"] >= until.get(op["tid"], 0):
            until[op["tid"]] = end(op)
            if not op["args"].get("Fwd thread id", 0):
                yield op["name"], int((op["ts"] - ops[0]["ts"]) * 1000 + Decimal("0.5")), op


def wanted(trace):
    calls = {call["args"]["Python id"]: call for call in spans(trace, "python_function")}
    result = collections.Counter()
    for name, begin, op in operators(trace):
        around = [number for number, call in calls.items()
                  if call["tid"] == op["tid"] and call["ts"] <= op["ts"] and end(op) <= end(call)]
        number, frames = max(around, default=None), []
        while number is not None:
            if FRAME.match(calls[number]["name"]):
                frames.append(calls[number]["name"])
            number = calls[number]["args"]["Python parent id"]
        result[name, begin, ";".join(frames)] += 1
    return result


def stacks(original, ours):
    want = wanted(kineto_input.load(original))
    got = collections.Counter((name, begin, op["args"].get("Call stack", ""))
                              for name, begin, op in operators(kineto_input.load(ours)))
    wrong = want - got
    for row in list(wrong)[:3]:
        print("wanted", row)
        print("got   ", [other for other in got if other[:2] == row[:2]])
    n_deep = sum(row[2].count(";") > 5 for row in want)
    print("%d operators, %d stacks, %d deep, %d wrong" % (
        sum(want.values()), len({row[2] for row in want}), n_deep, sum(wrong.values())))
    return want == got and len({row[2] for row in want}) >= 5 and n_deep > 0


def modules(calls, rows):
    want, by_name = collections.defaultdict(list), collections.Counter()
    with open(calls, encoding="utf-8") as file:
        for kind, n in json.load(file).values():
            want[kind].append(n)
    with open(rows, encoding="utf-8") as file:
        for row in map(json.loads, file):
            by_name[row["class"], row["name"]] += row["calls"]
    got = collections.defaultdict(list)
    for (kind, name), n in by_name.items():
        assert re.fullmatch(re.escape(kind) + r"_\d+", name), name
        got[kind].append(n)
    print({kind: sorted(n) for kind, n in want.items()}, {kind: sorted(n) for kind, n in got.items()})
    return {k: sorted(v) for k, v in want.items()} == {k: sorted(v) for k, v in got.items()}


if __name__ == "__main__":
    sys.exit(not {"stacks": stacks, "modules": modules}[sys.argv[1]](*sys.argv[2:]))
