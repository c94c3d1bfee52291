#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diff_reference.py BASE.json[.gz] NOW.json[.gz] ROWS.jsonl - what --compare says of two traces

The figures of its rows, computed from the traces of torch.profiler themselves in the plainest way.
One TAP line a question, without the plan.
"""
import gzip
import json
import sys
from collections import defaultdict

STEP, DATA, OPTIMIZER = "ProfilerStep", "enumerate(DataLoader)#", "Optimizer."
NODE = "autograd::engine::evaluate_function"


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        text = data.decode().replace('"a "range" /', '"a range /')
        self.spans = [e for e in json.loads(text)["traceEvents"] if e.get("ph") == "X"]
        self.blocks = [e for e in json.loads(text)["traceEvents"] if e.get("name") == "[memory]"]
        for e in self.spans + self.blocks:
            e["begin"] = round(e["ts"] * 1000)
            e["end"] = e["begin"] + round(e.get("dur", 0) * 1000)
        steps = [e for e in self.spans if e["name"].startswith(STEP) and "user" in e["cat"]]
        self.steps = sorted((e["begin"], e["end"]) for e in steps)

    def a_step(self, value):
        return value / len(self.steps)

    def kernels(self):
        sums = defaultdict(lambda: [0, 0])
        for e in self.spans:
            if e["cat"].lower() == "kernel":
                sums[e["name"]][0] += 1
                sums[e["name"]][1] += e["end"] - e["begin"]
        return sums

    def operator(self, name):
        spans = [e for e in self.spans if e["cat"] == "cpu_op" and e["name"] == name]
        return self.a_step(len(spans)), self.a_step(sum(e["end"] - e["begin"] for e in spans))

    def peak(self, device_type):
        inside = [e["args"]["Total Allocated"] for e in self.blocks
                  if e["args"]["Device Type"] == device_type and e["args"]["Bytes"] > 0
                  and any(b <= e["begin"] < end for b, end in self.steps)]
        return max(inside, default=0)

    def parts(self):
        """At every edge of a span: the first part that goes on there."""
        ops = [e for e in self.spans if e["cat"] == "cpu_op"]
        back = [e for e in ops if e["name"].startswith(NODE) or e["args"].get("Fwd thread id", 0)]
        wanted = [
            ("data", [e for e in self.spans if e["name"].startswith(DATA)]),
            ("optimizer", [e for e in self.spans if e["name"].startswith(OPTIMIZER)]),
            ("backward", back),
            ("forward", [e for e in ops if "Sequence number" in e["args"]]),
            ("other operators", ops),
        ]
        edges = sorted({t for _, spans in wanted for e in spans for t in (e["begin"], e["end"])}
                       | {t for step in self.steps for t in step})
        sums = defaultdict(int)
        active = [defaultdict(int) for _ in wanted]
        for rank, (_, spans) in enumerate(wanted):
            for e in spans:
                active[rank][e["begin"]] += 1
                active[rank][e["end"]] -= 1
        depth = [0] * len(wanted)
        for at, until in zip(edges, edges[1:]):
            for rank in range(len(wanted)):
                depth[rank] += active[rank][at]
            if any(b <= at < end for b, end in self.steps):
                part = next((name for (name, _), d in zip(wanted, depth) if d), "between operators")
                sums[part] += until - at
        return sums


def near(a, b, slack=3):
    return abs(a - b) <= max(slack, 1e-6 * abs(b))


def main(base_path, now_path, rows_path):
    base, now = Trace(base_path), Trace(now_path)
    with open(rows_path) as file:
        rows = [json.loads(line) for line in file]

    def table(name):
        return [r for r in rows if r["table"] == name]

    def tell(is_good, what):
        print(("ok - " if is_good else "not ok - ") + what)

    each, added = table("diff_each_step"), 0
    is_good = len(each) == len(base.steps) == len(now.steps)
    for row, a, b in zip(each, base.steps, now.steps):
        added += (b[1] - b[0]) - (a[1] - a[0])
        is_good &= near(row["base_ns"], a[1] - a[0]) and near(row["now_ns"], b[1] - b[0])
        is_good &= near(row["added_up_ns"], added, 20)
    has_device = any(e["cat"].lower() == "kernel" for e in base.spans)
    if not has_device:  # with devices a step ends when its work does
        tell(is_good, "each step beside its like, and what has added up")
        lengths = sorted(e - b for b, e in base.steps)
        row = next(r for r in table("diff_steps") if r["what"] == "median")
        tell(near(row["base"], lengths[(len(lengths) - 1) // 2]), "the median step")

    is_good = True
    for side, trace in (("base", base), ("now", now)):
        sums = trace.parts()
        told = {r["what"]: r[side + "_ns"] for r in table("diff_parts")}
        for name in set(sums) | set(told):
            if not near(told.get(name, 0), trace.a_step(sums[name]), 200):
                print(f"# {side} {name}: told {told.get(name)}, is {trace.a_step(sums[name])}")
                is_good = False
    tell(is_good, "the parts of a step")

    is_good = True
    operators = {r["name"]: r for r in table("diff_operators")}
    for name in ("aten::addmm", "aten::relu", "aten::gelu", "aten::linear", "aten::sum"):
        for side, trace in (("base", base), ("now", now)):
            calls, total = trace.operator(name)
            row = operators.get(name, defaultdict(int))
            is_good &= near(float(row[side + "_calls"]), calls, 0.01)
            is_good &= near(row[side + "_total_ns"], total)
    tell(is_good, "calls and total time of operators")
    told = table("diff_operators")
    tell(near(sum(r["difference_ns"] for r in told), told[-1]["added_up_ns"], len(told)),
         "operators' differences add up")

    is_good = True
    for place, device_type in (("host", 0), ("a device", 1)):
        row = [r for r in table("diff_memory") if place in r["what"]]
        for side, trace in (("base", base), ("now", now)):
            is_good &= (row[0][side] if row else 0) == trace.peak(device_type)
    tell(is_good, "the peak of tensor memory on host and device")

    is_good, kernels = True, {r["name"]: r for r in table("diff_kernels")}
    for side, trace in (("base", base), ("now", now)):
        for name, (calls, ns) in trace.kernels().items():
            is_good &= near(float(kernels[name][side + "_calls"]), trace.a_step(calls), 0.01)
            is_good &= near(kernels[name][side + "_ns"], trace.a_step(ns))
    if has_device:
        tell(is_good, "calls and time of kernels")


main(*sys.argv[1:])
