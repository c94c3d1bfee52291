#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agreement_comm.py - collectives of several ranks beside TensorBoard's distributed view and HTA

usage: agreement_comm.py MERGE FIGURES.txt NAME TRACE.json[.gz]...

The traces are those of the ranks of one job. As agreement.py: FIGURES.txt gets a line for each
figure, TAP is printed without the plan.

Compared are, of the plugin, where a step of each worker goes (computation, both at once,
communication, other), what it waited and what it transferred, and of each collective calls,
bytes, time and transfer; of HTA, the time of communication of each rank, and its share beside
computation.

Where ours differ from the plugin's they must be those that the plugin's own events say by our
definitions (mended_figures): nothing else passes for known.
"""
import contextlib
import gzip
import json
import logging
import math
import os
import re
import sys
import tempfile
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
logging.disable(logging.CRITICAL)
import compare_tb  # noqa: E402
import kineto_read  # noqa: E402
from agreement import Report, Rows, is_number  # noqa: E402
from torch_tb_profiler.profiler import event_parser, node, trace  # noqa: E402
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData  # noqa: E402
from torch_tb_profiler.profiler.loader import RunLoader  # noqa: E402

try:
    import agreement_hta
    import compare_hta
    from hta.trace_analysis import TraceAnalysis
except ImportError:
    agreement_hta = None

US = 1000.0
WHOLE = 1.001		# microseconds: means are cut to whole ones
HUNDREDTH = 0.0051	# of a percentage with two digits
SHARES = ("computation", "overlapping", "communication", "other")
FIELDS = ("compute_ns", "overlapped_ns", "communication_ns", "other_ns")
WAITS = ("transferring", "synchronising")
OPS = ("calls", "total size", "average size", "total latency", "average latency",
       "total transfer", "average transfer")
BYTES = {"unsigned char": 1, "signed char": 1, "int": 4, "long int": 8, "long": 8, "float": 4,
         "double": 8, "c10::Half": 2, "c10::BFloat16": 2}
TYPES = {"Byte": "unsigned char", "Char": "signed char", "Int": "int", "Long": "long int",
         "Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16"}
KINDS = (("all_reduce", "all_?reduce"), ("all_gather", "all_?gather"),
         ("reduce_scatter", "reduce_?scatter"), ("broadcast", "broadcast"),
         ("all_to_all", "all_?to_?all"), ("reduce", "reduce"), ("gather", "gather"),
         ("scatter", "scatter"), ("barrier", "barrier"))


def kind_of(name):
    """"nccl:_all_gather_base": ("nccl", "all_gather")"""
    library = "nccl" if name.startswith("nccl") else "gloo"
    return next(((library, kind) for kind, words in KINDS if re.search(words, name, re.I)),
                (library, "send/recv"))


# ---- the plugin's ----

def parsed(traces, purpose):
    """Of each worker what the plugin keeps for its distributed view."""
    found = []
    raws = [kineto_read.load(path) for path in traces]
    zero = min(event["ts"] for raw in raws for event in raw["traceEvents"] if "ts" in event)
    for at, (path, raw) in enumerate(zip(traces, raws)):
        is_old = any(event.get("cat") == "Operator" for event in raw["traceEvents"])
        with tempfile.TemporaryDirectory() as folder:
            if purpose == compare_tb.MENDED:
                path = without_inner(raw, zero, folder)
            if purpose == compare_tb.MENDED or not is_old:
                path, _ = compare_tb.for_plugin(path, folder, purpose)
            found.append(DistributedRunProfileData(
                RunProfileData.parse("worker%05d" % at, None, path, folder)))
            found[-1].unasked = list(unasked)
            unasked.clear()
    return found


def without_inner(raw, zero, folder):
    """What was launched in record_param_comms is the range's around it, whose tensors are also
    those of c10d's operator and of record_param_comms. All ranks have one zero."""
    asked = [event for event in raw["traceEvents"] if event.get("ph") == "X" and
             str(event.get("name")).startswith(("c10d::", "record_param_comms"))]
    raw["traceEvents"] = [event for event in raw["traceEvents"]
                          if event.get("name") != "record_param_comms"]
    for event in raw["traceEvents"]:
        if str(event.get("name")).startswith("nccl:") and event.get("ph") == "X":
            args = event.setdefault("args", {})
            for by in asked:
                if by["tid"] == event["tid"] and by["ts"] < event["ts"] + event["dur"] and \
                        event["ts"] < by["ts"] + by["dur"]:
                    for field, more in zip(("Input Dims", "Input type"), tensors(by["args"])):
                        args[field] = list(args.get(field) or ()) + more
    for event in raw["traceEvents"]:
        if "ts" in event:
            event["ts"] -= zero
    raw["traceEvents"].append({"ph": "i", "name": "zero", "ts": 0, "pid": 0, "tid": 0})
    path = os.path.join(folder, "whole.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(raw, file, default=float)
    return path


def tensors(args):
    """Shapes and types."""
    if args.get("dtype") in TYPES:
        return [[int(args["In msg nelems"])]], [TYPES[args["dtype"]]]
    is_inner = "Collective name" in args
    return [] if is_inner else list(args.get("Input Dims") or ()), \
        [] if is_inner else list(args.get("Input type") or ())


def figures(workers, ranks):
    """{figure: ({row: number}, how near)}; None: the plugin shows no distributed view."""
    shown = RunLoader("ranks", "", None)._process_distributed_profiles(workers, None)
    if shown is None:
        return None
    found = {}
    for titles, by_worker in ((SHARES, shown.steps_to_overlap["data"]["all"]),
                              (WAITS, shown.steps_to_wait["data"]["all"])):
        for at, title in enumerate(titles):
            found["step: " + title] = ({rank: by_worker[one.worker][at]
                                        for rank, one in zip(ranks, workers)}, WHOLE)
    ops = {}
    for table in shown.comm_ops["data"].values():
        for row in table["rows"]:
            of = ops.setdefault(kind_of(row[0]), dict.fromkeys(OPS, 0))
            for title, value in zip(OPS, row[1:]):
                of[title] += 0 if title.startswith("average") else value
    put_ops(found, ops)
    return found


def put_ops(found, ops):
    for of in ops.values():
        for title in ("size", "latency", "transfer"):
            of["average " + title] = of["total " + title] / max(1, of["calls"])
    for title in OPS:
        near = 0 if title in ("calls", "total size", "average size") else WHOLE
        found["collective: " + title] = ({" ".join(key): of[title]
                                          for key, of in sorted(ops.items())}, near)


# ---- the plugin's events, by our definitions ----

class Names:
    """All collectives of a library, not five."""

    def __init__(self, library):
        self.library = library

    def __contains__(self, name):
        return name.startswith(self.library)


unasked = []		# kernels of NCCL, of a trace that begins behind what asked for them


def update_node(self, event):
    """A collective of NCCL is its kernels; the range on the host only asks for them."""
    found = self.communication_data.get(event.external_id)
    if found is None and event.name.startswith("nccl"):
        unasked.append((event.name, (event.ts, event.ts + event.duration)))
    if found is not None:
        if not getattr(found, "kernels", None):
            found.kernels = found.kernel_ranges
            found.kernel_ranges.clear()
        found.kernel_ranges.append((event.ts, event.ts + event.duration))
    return found is not None


def parse_step(self, event, comm_nodes):
    """Kernels of NCCL are communication whoever asked for them, and ranges of gloo; annotations
    are no computation, nor are the operators that ask for collectives."""
    role, types = event_parser.ProfileRole, trace.EventTypes
    span = (event.ts, event.ts + event.duration)
    if event.type == types.KERNEL:
        is_comm = event.name.startswith("nccl")
        self.role_ranges[role.Communication if is_comm else role.Kernel].append(span)
    elif event.type in (types.OPERATOR, types.USER_ANNOTATION):
        if event.name.startswith("gloo:"):
            self.role_ranges[role.Communication].append(span)
        elif event.type == types.OPERATOR and not event.name.startswith(("nccl:", "c10d::")):
            self.role_ranges[role.CpuOp].append(span)
    else:
        plain_step(self, event, comm_nodes)
        return
    self.cpu_min_ts, self.cpu_max_ts = min(self.cpu_min_ts, span[0]), max(self.cpu_max_ts, span[1])
    self.global_min_ts = min(self.global_min_ts, span[0])
    self.global_max_ts = max(self.global_max_ts, span[1])


plain_step = event_parser.StepParser._parse_step


@contextlib.contextmanager
def mended(has_own_steps):
    """Without what differs on purpose; steps: the program's own."""
    with contextlib.ExitStack() as stack:
        for where in (event_parser, node, trace):
            stack.enter_context(mock.patch.object(where, "NcclOpNameSet", Names("nccl:")))
            stack.enter_context(mock.patch.object(where, "GlooOpNameSet", Names("gloo:")))
        for where, name, what in (
                (event_parser.NodeParserMixin, "_update_communication_node", update_node),
                (event_parser.StepParser, "_parse_step", parse_step),
                (event_parser.StepParser, "update_device_steps", lambda self, nodes: None)):
            if has_own_steps or name != "update_device_steps":
                stack.enter_context(mock.patch.object(where, name, what))
        yield


def mended_figures(traces, ranks):
    """By the plugin's own rule, and by ours."""
    with mended(has_own_steps=False):
        by_steps = shares(parsed(traces, compare_tb.MENDED), ranks)
    with mended(has_own_steps=True):
        workers = parsed(traces, compare_tb.MENDED)
    for one in workers:
        # What asked for no kernel exchanged nothing on a device.
        one.comm_node_list = [each for each in one.comm_node_list
                              if each.name.startswith("gloo:") or getattr(each, "kernels", None)]
    by_rule = dict(figures(workers, ranks) or {}, **by_steps)
    found = shares(workers, ranks)
    ops, waited = waits(workers, ranks)
    moved = {rank: of[0] for rank, of in waited.items()}
    for title, rows in zip(WAITS, (moved, {rank: of[1] for rank, of in waited.items()})):
        found["step: " + title] = ({rank: rows[rank] / max(1, len(one.steps_names))
                                    for rank, one in zip(ranks, workers)}, WHOLE)
    put_ops(found, ops)
    return by_rule, found


def shares(workers, ranks):
    found = {}
    for at, title in enumerate(SHARES):
        rows = {}
        for rank, one in zip(ranks, workers):
            parts = [(costs.computation - costs.overlap, costs.overlap,
                      costs.communication - costs.overlap, costs.other)[at]
                     for costs in one.comm_overlap_costs]
            rows[rank] = sum(parts) / max(1, len(parts))
        found["step: " + title] = (rows, WHOLE)
    return found


def bytes_of(each):
    """Of the greatest of its tensors."""
    sizes = [0]
    for dims, dtype in zip(each.input_shape or (), each.input_type or ()):
        if dtype in BYTES and all(is_number(dim) for dim in dims):
            sizes.append(math.prod(dims) * BYTES[dtype])
    return max(sizes)


def waits(workers, ranks):
    """A rank waits until the last one has come. Bytes are the greatest of all ranks'."""
    meetings, ops, waited = {}, {}, {rank: [0, 0] for rank in ranks}
    for rank, one in zip(ranks, workers):
        n_of = {}
        for name, span in one.unasked:
            key = (kind_of(name), None)
            n_of[key] = n_of.get(key, 0) + 1
            meetings.setdefault((key, n_of[key]), []).append((rank, span, 0))
        for each in one.comm_node_list:
            for span in each.kernel_ranges:
                key = (kind_of(each.name), each.step_name)
                n_of[key] = n_of.get(key, 0) + 1
                meetings.setdefault((key, n_of[key]), []).append(
                    (rank, span, bytes_of(each)))
    for ((kind, _), _), of in meetings.items():
        last = max(span[0] for _, span, _ in of)
        row = ops.setdefault(kind, dict.fromkeys(OPS, 0))
        row["total size"] += len(of) * max(size for _, _, size in of)
        for rank, (begin, end), _ in of:
            wait = min(last, end) - begin
            row["calls"] += 1
            row["total latency"] += end - begin
            row["total transfer"] += end - begin - wait
            waited[rank][0] += end - begin - wait
            waited[rank][1] += wait
    return ops, waited


# ---- ours ----

def our_figures(merge, traces, ranks):
    views = Rows(merge, traces, "comm")
    found = {}
    by_rank = {row["rank"]: row for row in views.table("comm_ranks")}
    for title, field in zip(SHARES, FIELDS):
        found["step: " + title] = {rank: by_rank[rank][field] / US for rank in ranks}
    ops = {}
    for row in views.table("collectives"):
        name = row["collective"]
        key = kind_of(name if name.startswith("nccl") else "gloo:" + name)
        of = ops.setdefault(key, dict.fromkeys(OPS, 0))
        of["calls"] += row["calls"]
        of["total size"] += whole(row["bytes"]) * row["calls"]
        of["total latency"] += row["mean_ns"] * row["calls"] / US
        of["total transfer"] += (row["mean_ns"] - whole(row["wait_ns"])) * row["calls"] / US
    rows = {}
    put_ops(rows, ops)
    found.update((figure, of) for figure, (of, _) in rows.items())
    found["step: synchronising"] = {rank: by_rank[rank]["waited_ns"] / US for rank in ranks}
    return found


def whole(value):
    return value if is_number(value) else 0


def compare_tb_plugin(report, merge, traces, ranks):
    theirs = figures(parsed(traces, compare_tb.VIEWS), ranks)
    if theirs is None:
        print("ok - %s: plugin: communication # SKIP it shows no distributed view" % report.trace)
        return
    by_rule, by_ours = mended_figures(traces, ranks)
    ours = our_figures(merge, traces, ranks)
    for figure, (rows, near) in theirs.items():
        if figure == "step: transferring":
            continue

        def known(row, a, b, figure=figure):
            if "size" in figure:
                return "greatest" if is_near(by_ours, figure, row, b) else None
            if is_near(by_rule, figure, row, b):
                return "collectives" if a is None else "host-ranges"
            if not is_near(by_ours, figure, row, b):
                return None
            if figure.split(": ")[1] in SHARES:
                return "own-steps"
            # The plugin counts time of two at once only once.
            is_time_alone = "latency" in figure or len(ranks) == 1
            if "calls" in figure:
                return "unasked"
            return "at-once" if is_time_alone else "last-to-come"

        report.compare("plugin", "communication", figure, rows, ours[figure], near, known=known)


def is_near(figures_of, figure, row, ours):
    theirs = figures_of.get(figure, ({}, 0))[0].get(row)
    return is_number(theirs) and is_number(ours) and abs(theirs - ours) <= WHOLE


# ---- HTA ----

def compare_hta_ranks(report, merge, traces):
    """Communication of all ranks, without steps, at whose edges HTA leaves out work."""
    with tempfile.TemporaryDirectory() as folder:
        ranks, cut = {}, []
        for at, path in enumerate(traces):
            inside = os.path.join(folder, str(at))
            os.mkdir(inside)
            cut.append(agreement_hta.Cut(path, inside).path)
            rank = (kineto_read.load(path).get("distributedInfo") or {}).get("rank", at)
            ranks[rank] = os.path.join(inside, "hta.json.gz")
            compare_hta.for_hta(cut[-1], ranks[rank])
        ours = {int(re.match(r"rank (\d+)", row["gpu"]).group(1)): row
                for row in Rows(merge, cut, "overview").table("gpu_time")}
        if not any(row["communication_ns"] for row in ours.values()):
            return
        analysis = compare_hta.quietly(lambda: TraceAnalysis(
            trace_files=ranks, include_last_profiler_step=True))
        overlap = compare_hta.quietly(lambda: analysis.get_comm_comp_overlap(visualize=False))
        types = compare_hta.quietly(lambda: analysis.get_gpu_kernel_breakdown(
            visualize=False, num_kernels=1000000))[0]
    report.compare("HTA", "communication", "beside computing (%)",
                   {rank: float(overlap[overlap["rank"] == rank]["comp_comm_overlap_pctg"].iloc[0])
                    for rank in ranks},
                   {rank: 100 * ours[rank]["compute_communication_ns"] /
                    ours[rank]["communication_ns"] for rank in ranks}, HUNDREDTH)
    pieces = [float(row["sum"]) for _, row in types.iterrows()
              if "COMMUNICATION" in row["kernel_type"].split(" overlapping ")]
    report.compare("HTA", "communication", "time of all ranks", {"": sum(pieces)},
                   {"": sum(row["communication_ns"] for row in ours.values()) / US}, WHOLE)


def main():
    merge, figures_path, name, *traces = sys.argv[1:]
    report = Report(name)
    ranks = ["rank %d" % (kineto_read.load(path).get("distributedInfo") or {}).get("rank", at)
             for at, path in enumerate(traces)]
    compare_tb_plugin(report, merge, traces, ranks)
    if len(traces) == 1:
        pass	# agreement_hta.py
    elif agreement_hta:
        compare_hta_ranks(report, merge, traces)
    else:
        print("ok - %s: HTA: communication # SKIP no HolisticTraceAnalysis" % name)
    with open(figures_path, "w", encoding="utf-8") as file:
        file.write("\n%s\n" % report.trace)
        for line in report.lines:
            file.write("  %s\n" % "\t".join(map(str, line)))
    report.print_tap()
    sys.exit(any(report.wrong.values()))


if __name__ == "__main__":
    main()
