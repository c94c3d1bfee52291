#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_tb.py - TensorBoard's profiler plugin on a Kineto trace, and on our result of it

usage: compare_tb.py [--device-only] ORIGINAL.json[.gz] RESULT.json[.gz] [GOLDEN.txt]

Needs torch-tb-profiler 0.4.3 with pandas < 3 and setuptools < 81. Loads both with the plugin's
own parsers and compares what its pages show: GPU utilisation, SM efficiency, occupancy and
tensor cores of each device, the breakdown of the steps, the kernel table, the kernels by
operator, the operator table. Counts must be equal; times and percentages within 1 % (of the
total where they are parts of one). GOLDEN is the plugin's own result file of its samples: a line
of it must say what the plugin says of ORIGINAL here, so that the installed plugin is itself
checked. --device-only: as in
compare_kernels.py. Prints one TAP line a question, without the plan.

Repaired first, because the plugin or Kineto are known to be wrong there, in both files alike:
- the plugin reads only the category Runtime, and links by External id alone: where that is a
  correlation id (2022-23), or names record_param_comms inside of nccl:..., or nothing inside of
  a step, it becomes the id of the operator, of the collective, of the step;
- its arithmetic loses nanoseconds of times since 1970: they become times since the first event;
- calls that the library does not ask for are left out of account;
- Kineto says occupancy 0 for blocks with over 48 KiB of shared memory: not compared.
"""
import json
import logging
import os
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare_kernels  # noqa: E402
import kineto_read  # noqa: E402
from kineto_read import whole  # noqa: E402

logging.disable(logging.CRITICAL)
from torch_tb_profiler.profiler.data import RunProfileData  # noqa: E402
from torch_tb_profiler.profiler.run_generator import RunGenerator  # noqa: E402
from torch_tb_profiler.profiler.trace import NcclOpNameSet  # noqa: E402

TOLERANCE = 0.01
KINETO_SHARED = 48 << 10
FIRST_OWN_ID = 1 << 40
CUDA, HIP = 1, 6	# types of devices: the plugin has not heard of the second
CALLS = ("runtime", "cuda_runtime", "driver", "cuda_driver")


# What a trace is made ready for: to be compared with a replay of it; with our views of it, which
# need less to be repaired; with them by agreement_mended.py, where annotations are owners, too.
REPLAY, VIEWS, MENDED = range(3)


def for_plugin(path, folder, purpose=REPLAY):
    """The trace in the words that the plugin knows: path of a copy, and how many kernels there
    are whose occupancy Kineto does not know."""
    trace = kineto_read.load(path)
    kineto_read.canonical_names(trace["traceEvents"])
    kept, n_unsure = [], 0
    for event in trace["traceEvents"]:
        cat = (event.get("cat") or "").lower()
        if cat == "gpu_user_annotation" or (event.get("ph") == "X" and event.get("dur") is None):
            continue
        if cat in CALLS and purpose == REPLAY and \
                kineto_read.NOT_RECORDED.match(event["name"]):
            continue
        if cat in CALLS:
            event["cat"] = "Runtime"
        elif cat == "fwdbwd":
            event["cat"] = "forward_backward"
        args = event.get("args") or {}
        if args.get("Device Type") == HIP:
            args["Device Type"] = CUDA
        if cat == "kernel" and whole(args.get("shared memory"), 0) > KINETO_SHARED:
            args.pop("est. achieved occupancy %", None)
            n_unsure += 1
        kept.append(event)
    trace["traceEvents"] = kept
    link_by_time(trace, purpose)
    zero = min((e["ts"] for e in kept if isinstance(e.get("ts"), (int, Decimal))), default=0)
    for event in kept:
        if isinstance(event.get("ts"), (int, Decimal)):
            event["ts"] -= zero
    out = os.path.join(folder, "worker0.pt.trace.json")
    with open(out, "w", encoding="utf-8") as file:
        json.dump(trace, file, default=float)
    return out, n_unsure


def is_linked_to(event, purpose):
    """Ranges whose External id the plugin takes for the owner of a call."""
    if purpose == MENDED or event.name.startswith("ProfilerStep#"):
        return True
    if purpose == VIEWS:
        return compare_kernels.is_operator(event)
    return event.name != "record_param_comms" and (
        compare_kernels.is_operator(event) or event.name in NcclOpNameSet)


def is_doubtful(call, names, purpose):
    """The External id names no owner, or one that the plugin does not take for one."""
    name = names.get(call.external())
    return not name or (name == "record_param_comms" and purpose == REPLAY)


def link_by_time(trace, purpose):
    """External ids of calls and device work become those of the ranges around the calls."""
    events, _, _ = kineto_read.events_of(trace)
    calls = [e for e in events if e.kind == "api"]
    is_correlation = sum(e.external() == e.correlation() for e in calls) > 0.9 * len(calls)
    threads = {}
    for event in events:
        if event.kind != "range" or not is_linked_to(event, purpose):
            continue
        if purpose == MENDED:
            event.args["External id"] = FIRST_OWN_ID + event.at
        threads.setdefault(kineto_read.thread_of(event), []).append(event)
    ranges = {thread: compare_kernels.Ranges(of) for thread, of in threads.items()}
    names = {e.external(): e.name for e in events if e.kind == "range"}
    owner = {}
    for call in calls:
        of = ranges.get(kineto_read.thread_of(call))
        found = of.at(call.start) if of else None
        if is_correlation or purpose == MENDED or is_doubtful(call, names, purpose):
            owner[call.correlation()] = found.external() if found else 0
    for event in events:
        if event.kind in ("api",) + kineto_read.DEVICE_KINDS and event.correlation() in owner:
            args = trace["traceEvents"][event.at]["args"]
            args.pop("external id", None)
            args["External id"] = owner[event.correlation()]


class Shown:
    """What the plugin's pages show of one file."""

    def __init__(self, path, is_as_it_is=False, purpose=REPLAY):
        with tempfile.TemporaryDirectory() as folder:
            path, self.n_unsure = (path, 0) if is_as_it_is else \
                for_plugin(path, folder, purpose)
            data = RunProfileData.parse("worker0", None, path, folder)
        run = RunGenerator("worker0", None, data).generate_run_profile()
        self.overview = run.overview
        self.devices = {}
        for row in run.gpu_summary or ():
            title, value = row["title"], row["value"]
            if title.startswith("GPU ") and title.endswith(":"):
                device = self.devices.setdefault(title[:-1], {})
            elif title != "<hr/>":
                device[title] = value
        self.kernels = {row[0]: row[1:] for row in table(run.kernel_table)}
        self.by_operator = {}
        for row in table(run.kernel_op_table):
            key = tuple(row[:8])
            calls, total = self.by_operator.get(key, (0, 0))
            self.by_operator[key] = (calls + row[8], total + row[9])
        self.operators = {row["name"]: row for row in run.operation_table_by_name["data"]}
        self.kernel_table = run.kernel_table
        self.kernel_op_table = run.kernel_op_table
        self.by_shape = run.operation_table_by_name_input
        self.run = run
        self.data = data
        self.operation_table = run.operation_table_by_name


def table(view):
    return view["data"]["rows"] if view else ()


def near(a, b, total=0.0):
    return abs(a - b) <= TOLERANCE * max(abs(a), abs(b), abs(total))


def percent(text):
    return float(str(text).split()[0])


def devices(was, now):
    wrong = []
    if set(was.devices) != set(now.devices):
        wrong.append("devices %s, were %s" % (sorted(now.devices), sorted(was.devices)))
    for name, facts in was.devices.items():
        for title, value in facts.items():
            other = now.devices.get(name, {}).get(title)
            is_same = other is not None and (
                near(percent(value), percent(other)) or abs(percent(value) - percent(other)) < 0.02
                if "%" in str(value) else str(value) == str(other))
            if not is_same:
                wrong.append("%s %s: %s, was %s" % (name, title, other, value))
    return wrong


def steps(was, now):
    wrong = []
    titles = [c["name"] for c in was.overview["steps"]["columns"] if "name" in c]
    other_titles = [c["name"] for c in now.overview["steps"]["columns"] if "name" in c]
    if titles != other_titles:
        return ["columns %s, were %s" % (other_titles, titles)]
    rows, others = was.overview["steps"]["rows"], now.overview["steps"]["rows"]
    if len(rows) != len(others):
        return ["%d steps, were %d" % (len(others), len(rows))]
    for row, other in zip(rows, others):
        costs, other_costs = row[1::2], other[1::2]
        total = sum(costs)
        if not near(total, sum(other_costs)):
            wrong.append("step %s: %.0f us, was %.0f" % (row[0], sum(other_costs), total))
        for title, a, b in zip(titles[1:], costs, other_costs):
            if not near(a, b, total):
                wrong.append("step %s, %s: %.0f us, was %.0f" % (row[0], title, b, a))
    return wrong


def kernels(was, now):
    wrong = ["missing: %s" % name for name in was.kernels if name not in now.kernels]
    wrong += ["not in the original: %s" % name for name in now.kernels if name not in was.kernels]
    titles = [c["name"] for c in was.kernel_table["data"]["columns"]][1:] if was.kernels else []
    for name, row in was.kernels.items():
        for title, a, b in zip(titles, row, now.kernels.get(name, row)):
            if title == "Calls" or isinstance(a, str):
                is_same = a == b
            elif "Duration" in title:
                is_same = abs(a - b) <= max(1, TOLERANCE * a)
            else:
                is_same = near(a, b) or abs(a - b) <= 0.011
            if not is_same:
                wrong.append("%s of %.80s: %s, was %s" % (title, name, b, a))
    return wrong


def by_operator(was, now):
    wrong = []
    for key in sorted(set(was.by_operator) | set(now.by_operator), key=str):
        a, b = was.by_operator.get(key), now.by_operator.get(key)
        if a is None or b is None:
            wrong.append("%s: %s, was %s" % (key, b, a))
        elif a[0] != b[0] or abs(a[1] - b[1]) > max(1, TOLERANCE * a[1]):
            wrong.append("%s: %s, was %s" % (key, b, a))
    return wrong


def operators(was, now):
    wrong = ["missing: %s" % name for name in was.operators if name not in now.operators]
    wrong += ["not in the original: %s" % n for n in now.operators if n not in was.operators]
    host = sum(row["host_self_duration"] for row in was.operators.values())
    for name, a in was.operators.items():
        b = now.operators.get(name, a)
        for title, value in a.items():
            other = b.get(title)
            if other is None:
                is_same = False
            elif title.startswith("host_"):
                is_same = near(value, other, host)
            elif title.startswith("device_"):
                is_same = abs(value - other) <= max(2, TOLERANCE * value)
            elif isinstance(value, float):
                is_same = abs(value - other) <= 1
            else:
                is_same = title == "has_call_stack" or value == other
            if not is_same:
                wrong.append("%s of %s: %s, was %s" % (title, name, other, value))
    return wrong


def golden(was, path):
    """Lines of the file: overview, pies, operator table, kernel table, of several traces."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    rows = [row[:1] + row[1::2] for row in was.overview["steps"]["rows"]]
    for at, line in enumerate(lines):
        if "steps" not in line or [r[:1] + r[1::2] for r in line["steps"]["rows"]] != rows:
            continue
        wrong = []
        if lines[at + 2]["data"] != was.operation_table["data"]:
            wrong.append("the operator table differs")
        ours = [row[1:] for row in table(was.kernel_table)]
        if sorted(map(str, ours)) != sorted(str(row[1:]) for row in lines[at + 3]["data"]["rows"]):
            wrong.append("the kernel table differs")
        return wrong
    return None


def main():
    tap = compare_kernels.Tap()
    was, now = Shown(sys.argv[1]), Shown(sys.argv[2])
    if len(sys.argv) > 3:
        wrong = golden(Shown(sys.argv[1], is_as_it_is=True), sys.argv[3])
        if wrong is not None:
            tap.ask("the plugin here says of the original what its own result file says", wrong)
    tap.ask("utilisation, SM efficiency, occupancy, tensor cores of %d devices" %
            len(was.devices), devices(was, now), is_of_host=True)
    tap.ask("the breakdown of %d steps" % len(was.overview["steps"]["rows"]), steps(was, now),
            is_of_host=True)
    tap.ask("the table of %d kernels" % len(was.kernels), kernels(was, now))
    tap.ask("%d kernels by operator, grid, block" % len(was.by_operator), by_operator(was, now),
            is_of_host=True)
    tap.ask("the table of %d operators" % len(was.operators), operators(was, now), is_of_host=True)
    sys.exit(tap.n_failed > 0)


if __name__ == "__main__":
    main()
