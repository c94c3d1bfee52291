#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_reference.py MERGE TRACE.json[.gz] - what the views say of GPUs, computed another way

Reads a trace of torch.profiler and computes, in the plainest way, the figures that the views
overview, kernel and operator give of it: sums over lists, cut at every edge, work joined to
its operator by External id and not by time (so not for traces of 2022-23, in which that id is
none of an operator). Tensor cores are those of the plugin's list. One TAP line a question,
without the plan.
"""
import csv
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile

WORK = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
KERNEL = {"kernel", "Kernel"}
CALL = {"cuda_runtime", "cuda_driver", "Runtime"}
HOST = {"cpu_op", "user_annotation", "Operator"}
TENSOR_CORES = ("h884", "s884", "1688", "16816", "hmma", "xmma_gemm", "tensorop")


class Span:
    def __init__(self, event):
        self.name = event["name"]
        self.category = event["cat"]
        self.begin = round(event["ts"] * 1000)
        self.end = round(event["ts"] * 1000) + round(event["dur"] * 1000)
        self.args = event["args"]
        self.tid = event["tid"]
        self.ns = self.end - self.begin
        self.parent = None

    def external(self):
        return self.args.get("External id", self.args.get("external id"))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace = json.loads(data)
    return [Span(e) for e in trace["traceEvents"] if e.get("ph") == "X"]


def is_step(span):
    return span.name.startswith("ProfilerStep#")


def rows(merge, view, path, *options, name=None):
    name = name or view
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([merge, "-q", "-f", "csv", "-o", folder, "-v", view, *options, path], check=True)
        table = os.path.join(folder, name + ".csv")
        if not os.path.exists(table):
            return []
        with open(table, newline="") as file:
            return list(csv.DictReader(file))


def near(a, b, part=0.002, absolute=0.0):
    return abs(a - b) <= absolute + part * max(abs(a), abs(b))


n_failed = 0


def say(what, wrong):
    global n_failed
    n_failed += bool(wrong)
    print(("not ok" if wrong else "ok") + " - " + what)
    for line in wrong[:10]:
        print("# %s" % (line,))


def overview(merge, path, spans):
    steps = [s for s in spans if is_step(s)]
    kernels = [s for s in spans if s.category in KERNEL]
    work = {}
    for s in spans:
        if s.category in WORK:
            work.setdefault(s.args.get("correlation"), []).append(s)
    begin, end = min(s.begin for s in steps), max(s.end for s in steps)
    asked = set()
    for call in spans:
        if call.category in CALL and any(s.begin <= call.begin < s.end for s in steps):
            asked.update(work.get(call.args.get("correlation"), []))
    end = max([end] + [w.end for w in asked])
    first = min((w.begin for w in asked), default=end)
    begin = max([begin] + [w.end for ws in work.values() for w in ws
                           if w not in asked and w.end < first])
    edges = sorted({begin, end} | {min(max(t, begin), end) for k in kernels
                                   for t in (k.begin, k.end)})
    busy = efficiency = 0
    waiting = sorted(kernels, key=lambda k: k.begin, reverse=True)
    running = []
    for a, b in zip(edges, edges[1:]):
        while waiting and waiting[-1].begin <= a:
            running.append(waiting.pop())
        running = [k for k in running if k.end >= b]
        busy += (b - a) * bool(running)
        efficiency += (b - a) * min(1, sum(k.args["blocks per SM"] for k in running))

    def inside(k):
        return max(0, min(k.end, end) - max(k.begin, begin))
    all_ns = sum(map(inside, kernels))
    truth = {
        "utilisation_percent": busy / (end - begin) * 100,
        "sm_efficiency_percent": efficiency / (end - begin) * 100,
        "occupancy_percent": sum(inside(k) * k.args["est. achieved occupancy %"]
                                 for k in kernels) / all_ns,
        "tensor_cores_percent": sum(inside(k) for k in kernels if uses(k.name)) / all_ns * 100}
    row = rows(merge, "overview", path, name="gpu")[0]
    # Occupancies stand in the trace as whole percents, and as 0 for over 48 KiB a block.
    if any(k.args["shared memory"] > 48 << 10 for k in kernels):
        del truth["occupancy_percent"]
    say(", ".join("%s %.2f" % item for item in truth.items()),
        [(key, row[key], value) for key, value in truth.items()
         if not near(float(row[key]), value, 0.001, 0.5 if key == "occupancy_percent" else 0.001)])


def uses(name):
    return any(part in name for part in TENSOR_CORES)


def percentile(values, percent):
    values = sorted(values)
    return values[max(0, math.ceil(percent / 100 * len(values)) - 1)]


def compare_kernels(found, truth, what, key):
    wrong = []
    for name, kernels in truth.items():
        row = found.get(name)
        times = [k.ns for k in kernels]
        if not row or int(row["calls"]) != len(kernels) or int(row["total_ns"]) != sum(times) or \
                int(row["max_ns"]) != max(times):
            wrong.append((name, row, len(kernels), sum(times)))
            continue
        for percent in (50, 99):
            if not near(int(row["p%d_ns" % percent]), percentile(times, percent), 0.004, 1):
                wrong.append((name, percent, row, percentile(times, percent)))
        blocks = sum(k.ns * k.args["blocks per SM"] for k in kernels) / max(1, sum(times))
        if sum(times) and not near(float(row["blocks_per_sm"]), blocks, 0.001, 0.0001):
            wrong.append((name, row["blocks_per_sm"], blocks))
        if (row["tensor_cores"] == "yes") != uses(kernels[0].name):
            wrong.append((name, row["tensor_cores"]))
    if len(found) != len(truth):
        wrong.append(("%d rows for %d" % (len(found), len(truth)), sorted(found)))
    say("%d kernels %s in %d rows: calls, total, p50, p99, max, blocks, tensor cores" %
        (sum(map(len, truth.values())), what, len(truth)), wrong)


def kernel_view(merge, path, spans):
    by_name, by_operator, by_grid = {}, {}, {}
    called = {s.args.get("correlation") for s in spans if s.category in CALL}
    operators = {s.external(): s.name for s in spans if s.category in HOST}
    for k in spans:
        if k.category not in KERNEL:
            continue
        launcher = operators.get(k.external(), "-") if k.args["correlation"] in called else "-"
        by_name.setdefault(k.name, []).append(k)
        by_operator.setdefault((k.name, launcher), []).append(k)
        grid = list(k.args["grid"])
        while len(grid) > 1 and grid[-1] == 1:
            grid.pop()
        by_grid.setdefault((k.name, ",".join(map(str, grid)), str(k.args["shared memory"])),
                           []).append(k)
    compare_kernels({r["kernel"]: r for r in rows(merge, "kernel", path)}, by_name, "by name",
                    "kernel")
    compare_kernels({(r["kernel"], r["operator"]): r
                     for r in rows(merge, "kernel", path, "--by-operator")}, by_operator,
                    "by operator", "operator")
    compare_kernels({(r["kernel"], r["grid"], r["shared_bytes"]): r
                     for r in rows(merge, "kernel", path, "--by-grid")}, by_grid, "by grid", "grid")


def copies(merge, path, spans):
    kinds = {}
    for s in spans:
        if s.category in WORK - KERNEL:
            kinds.setdefault(s.name, []).append(s)
    found = {r["copy"]: r for r in rows(merge, "kernel", path, name="copies")}
    wrong = ["kinds: %s" % sorted(found)] if set(found) != set(kinds) else []
    for name, all_of in kinds.items():
        row = found.get(name, {})
        size, ns = sum(s.args["bytes"] for s in all_of), sum(s.ns for s in all_of)
        speeds = [s.args["bytes"] / s.ns for s in all_of if s.ns]
        wrong += [(name, key, row.get(key), value) for key, value in {
            "calls": len(all_of), "bytes": size, "total_ns": ns,
            "max_ns": max(s.ns for s in all_of)}.items() if row.get(key) != str(value)]
        wrong += [(name, key, row.get(key), value) for key, value in {
            "gb_per_s": size / ns, "min_gb_per_s": min(speeds), "max_gb_per_s": max(speeds),
            "p50_gb_per_s": percentile(speeds, 50)}.items()
            if not near(float(row.get(key, -1)), value, 0.004, 1e-6)]
    say("%d kinds of copies: calls, bytes, times, speeds" % len(kinds), wrong)


def launches(merge, path, spans):
    """By name of the call: of each its work."""
    calls = {s.args.get("correlation"): s for s in spans if s.category in CALL}
    work, by_name = {}, {}
    for s in spans:
        if s.category in WORK and s.args.get("correlation") in calls:
            work.setdefault(s.args["correlation"], []).append(s)
    for correlation, of in work.items():
        by_name.setdefault(calls[correlation].name, []).append((calls[correlation], of))
    found = {r["call"]: r for r in rows(merge, "kernel", path, name="launches")}
    wrong = ["calls: %s" % sorted(found)] if set(found) != set(by_name) else []
    for name, pairs in by_name.items():
        waits = [max(0, min(w.begin for w in of) - call.end) for call, of in pairs]
        truth = {
            "calls": len(pairs), "call_ns": sum(call.ns for call, _ in pairs),
            "wait_max_ns": max(waits), "wait_mean_ns": sum(waits) // len(waits),
            "work": sum(len(of) for _, of in pairs),
            "work_ns": sum(w.ns for _, of in pairs for w in of),
            "shorter": sum(w.ns < call.ns for call, of in pairs for w in of)}
        row = found.get(name, {})
        # Python reads the times of a newer file to a nanosecond or so.
        wrong += [(name, key, row.get(key), value) for key, value in truth.items()
                  if not near(int(row.get(key, -9)), value, 0, 2 * ("wait" in key))]
        if not near(float(row.get("wait_p99_ns", -1)), percentile(waits, 99), 0.004, 1):
            wrong.append((name, "p99", row.get("wait_p99_ns"), percentile(waits, 99)))
    say("%d calls of %d names: their time, until their work began, its time" %
        (len(work), len(by_name)), wrong)


def streams(merge, path, spans):
    """Calls of each stream that began, less those whose work did: at the begin of each call."""
    calls = {s.args.get("correlation"): s for s in spans if s.category in CALL}
    first = {}
    for s in sorted((s for s in spans if s.category in WORK), key=lambda s: s.begin):
        if s.args.get("correlation") in calls:
            first.setdefault(s.args["correlation"], s)
    truth = {}
    for correlation, s in first.items():
        truth.setdefault(str(s.args["stream"]), []).append((calls[correlation].begin, s.begin))
    found = {r["stream"]: r for r in rows(merge, "overview", path, name="gpu_streams")}
    wrong = ["streams: %s" % sorted(found)] if set(found) != set(truth) else []
    for stream, pairs in truth.items():
        row = found.get(stream, {})
        want = {"launches": len(pairs), "wait_ns": sum(b - a for a, b in pairs),
                "depth_most": max(sum(a <= at < b for a, b in pairs) for at, _ in pairs)}
        wrong += [(stream, key, row.get(key), value) for key, value in want.items()
                  if not near(int(row.get(key, -9)), value, 0,
                              len(pairs) if key == "wait_ns" else 0)]
    say("%d streams: launches, their waits, how many at a time" % len(truth), wrong)


def operator_view(merge, path, spans):
    host = sorted((s for s in spans if s.category in HOST and not is_step(s)),
                  key=lambda s: (s.begin, -s.end))
    stacks = {}
    for s in host:
        stack = stacks.setdefault(s.tid, [])
        while stack and stack[-1].end <= s.begin:
            stack.pop()
        s.parent = stack[-1] if stack else None
        stack.append(s)
    owner = {s.external(): s for s in host}
    called = {s.args.get("correlation") for s in spans if s.category in CALL}
    own, total = {}, {}
    for w in spans:
        if w.category not in WORK or w.args["correlation"] not in called or \
                w.external() not in owner:
            continue
        at = owner[w.external()]
        own[at.name] = own.get(at.name, 0) + w.ns
        names = set()
        while at:
            names.add(at.name)
            at = at.parent
        for name in names:
            total[name] = total.get(name, 0) + w.ns
    found = {r["operator"]: r for r in rows(merge, "operator", path)}
    say("GPU time of %d operators, their own and in all" % len(total),
        [(name, found.get(name), own.get(name, 0), total[name]) for name in total
         if name not in found or int(found[name]["device_self_ns"]) != own.get(name, 0) or
         int(found[name]["device_total_ns"]) != total[name]] +
        [(name, row) for name, row in found.items()
         if int(row["device_total_ns"]) and name not in total])


def main():
    merge, path = sys.argv[1:]
    spans = read(path)
    overview(merge, path, spans)
    kernel_view(merge, path, spans)
    copies(merge, path, spans)
    launches(merge, path, spans)
    streams(merge, path, spans)
    operator_view(merge, path, spans)
    return n_failed != 0


sys.exit(main())
