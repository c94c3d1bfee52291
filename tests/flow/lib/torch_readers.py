#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_readers.py - what the readers of torch.profiler's files make of the formats torch, torch:tb

usage: torch_readers.py ranks TRACE FOLDER      two ranks of a Kineto trace, with collectives
       torch_readers.py hta FOLDER TRACE...     HolisticTraceAnalysis on a folder
       torch_readers.py plugin FOLDER TRACE...  TensorBoard's plugin on a folder

FOLDER holds one file a rank, made of the TRACEs (Kineto JSON), which say what must be found.
Prints one line a difference, or what was compared. HTA 0.5.0 and torch-tb-profiler 0.4.3 need
pandas < 3; the plugin needs setuptools < 81.
"""

import collections
import contextlib
import gzip
import io
import json
import logging
import os
import sys
import warnings

DEVICE_CATS = {"kernel", "gpu_memcpy", "gpu_memset"}


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def events_of(path, cats):
    return [e for e in load(path)["traceEvents"] if e.get("ph") == "X" and e.get("cat") in cats]


def make_ranks(source, folder):
    """Each step gets an all-reduce: an annotation, its launch and its kernel on a stream apart."""
    os.makedirs(folder, exist_ok=True)
    for rank in (0, 1):
        trace = load(source)
        steps = [e for e in trace["traceEvents"]
                 if e.get("ph") == "X" and e["name"].startswith("ProfilerStep#")]
        top = max(e["args"].get("External id", 0) for e in trace["traceEvents"] if e.get("args"))
        host = steps[0]["pid"]
        for n, step in enumerate(steps):
            # Behind all that the step does, inside it.
            start = 1 + max(e["ts"] + e["dur"] for e in trace["traceEvents"]
                            if e.get("ph") == "X" and e["pid"] == host and e is not step and
                            step["ts"] <= e["ts"] < step["ts"] + step["dur"])
            step["dur"] = max(step["dur"], start + 50 - step["ts"])
            external, correlation = top + 1 + n, 900000 + n
            common = {"ph": "X", "pid": host, "tid": step["tid"]}
            trace["traceEvents"] += [
                {**common, "cat": "cpu_op", "name": "nccl:all_reduce", "ts": start, "dur": 40,
                 "args": {"External id": external, "Input Dims": [[1024, 256]],
                          "Input type": ["float"]}},
                {**common, "cat": "cuda_runtime", "name": "cudaLaunchKernelExC",
                 "ts": start + 10, "dur": 10,
                 "args": {"External id": external, "correlation": correlation}},
                {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                 "pid": 0, "tid": 30, "ts": start + 25, "dur": 200 + 50 * rank,
                 "args": {"External id": external, "correlation": correlation, "device": 0,
                          "context": 1, "stream": 30, "registers per thread": 96,
                          "shared memory": 0, "grid": [16, 1, 1], "block": [512, 1, 1]}}]
        trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
        for e in trace["traceEvents"]:
            if e.get("pid") == host:
                e["pid"] += 1000 * rank
                e["tid"] += 1000 * rank
        with open(os.path.join(folder, f"rank{rank}.pt.trace.json"), "w", encoding="utf-8") as out:
            json.dump(trace, out)


def rank_of(path):
    return load(path).get("distributedInfo", {}).get("rank", 0)


# ---- HTA ----

def check_hta(folder, sources):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis

    wrong = []
    analysis = TraceAnalysis(trace_dir=folder)
    wanted = {rank_of(path): events_of(path, DEVICE_CATS) for path in sources}
    if sorted(analysis.t.traces) != sorted(wanted):
        return [f"HTA finds the ranks {sorted(analysis.t.traces)}, not {sorted(wanted)}"]

    def ask(what, call):
        try:
            return call()
        except Exception as error:  # pylint: disable=broad-except
            wrong.append(f"{what}: {type(error).__name__}: {error}")
            return None

    names = {i: s for s, i in analysis.t.symbol_table.get_sym_id_map().items()}
    for rank, events in wanted.items():
        frame = analysis.t.get_trace(rank)
        found = collections.Counter(names[n] for n, s in zip(frame["name"], frame["stream"])
                                    if s > 0)
        for event in events:
            found[event["name"]] -= 1
        # HTA leaves out the last step: nothing of it, but nothing else, may be missing.
        if any(n > 0 for name, n in found.items() if "Sync" not in name and "Wait" not in name):
            wrong.append(f"rank {rank}: HTA has work that is not in the source")
        if sum(-n for n in found.values() if n < 0) > len(events) / 3:
            wrong.append(f"rank {rank}: HTA misses {sum(-n for n in found.values() if n < 0)} of "
                         f"{len(events)} pieces of work")
    breakdown = ask("temporal breakdown", lambda: analysis.get_temporal_breakdown(visualize=False))
    if breakdown is not None:
        for row in breakdown.to_dict("records"):
            if not 0 < row["compute_time(us)"] <= row["kernel_time(us)"]:
                wrong.append(f"no compute time: {row}")
    ask("kernel breakdown", lambda: analysis.get_gpu_kernel_breakdown(visualize=False))
    ask("idle time", lambda: analysis.get_idle_time_breakdown(ranks=sorted(wanted),
                                                              visualize=False))
    overlap = ask("overlap", lambda: analysis.get_comm_comp_overlap(visualize=False))
    if overlap is not None and len(wanted) > 1 and overlap["comp_comm_overlap_pctg"].isna().any():
        wrong.append("HTA finds no communication")
    launches = ask("launches", lambda: analysis.get_cuda_kernel_launch_stats(
        ranks=sorted(wanted), visualize=False))
    for rank, frame in (launches or {}).items():
        if len(frame) < len(wanted[rank]) / 2:
            wrong.append(f"rank {rank}: HTA links {len(frame)} of {len(wanted[rank])} pieces of "
                         "work to their launches")
    ask("bandwidth", analysis.get_memory_bw_summary)
    ask("queue length", analysis.get_queue_length_summary)
    graph = ask("critical path", lambda: analysis.critical_path_analysis(
        rank=0, annotation="ProfilerStep", instance_id=1))
    if graph is not None and (not graph[1] or len(graph[0].critical_path_nodes) < 10):
        wrong.append("HTA finds no critical path")
    return wrong or [f"same: {sum(map(len, wanted.values()))} pieces of work of "
                     f"{len(wanted)} ranks"]


# ---- the plugin ----

def table(of, key, value):
    """Sums of a column of a page's table, by another one."""
    columns = [column["name"] for column in of["data"]["columns"]]
    found = collections.Counter()
    for row in of["data"]["rows"]:
        found[row[columns.index(key)]] += row[columns.index(value)]
    return dict(found)


class Complaints(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        text = record.getMessage()
        # Its list of tensor core operators is of 2021.
        if not text.startswith("New Tensor Cores eligible operator"):
            self.lines.append(text)


def check_plugin(folder, sources):
    from torch_tb_profiler import io as tb_io
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.loader import RunLoader
    from torch_tb_profiler.profiler.run_generator import RunGenerator

    wrong, complaints = [], Complaints()
    logging.getLogger().addHandler(complaints)
    for name in ("torch_tb_profiler", "pytorch_profiler", "absl"):
        logging.getLogger(name).addHandler(complaints)
    by_rank = {rank_of(path): path for path in sources}
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        source = by_rank[rank_of(path)]
        events = events_of(source, DEVICE_CATS)
        data = RunProfileData.from_json("w", "1", load(path))
        profile = RunGenerator("w", "1", data).generate_run_profile()
        views = [view.display_name for view in profile.views]
        for view in ("Overview", "Operator", "Kernel", "Trace"):
            if view not in views:
                wrong.append(f"{entry}: no view '{view}'")
        wanted = collections.Counter(e["name"] for e in events if e["cat"] == "kernel")
        rows = table(profile.kernel_table, "Name", "Calls")
        if rows != dict(wanted):
            wrong.append(f"{entry}: the kernel table has {sum(rows.values())} calls of "
                         f"{len(rows)} names, not {sum(wanted.values())} of {len(wanted)}")
        linked = sum(n for op, n in table(profile.kernel_op_table, "Operator", "Calls").items()
                     if op != "CallTreeRoot")
        # Nodes of the backward pass, copies of loaders: most work belongs to operators.
        if linked < 0.8 * sum(wanted.values()):
            wrong.append(f"{entry}: {linked} of {sum(wanted.values())} kernels have an operator")
        metrics = data.gpu_metrics_parser
        if not any(metrics.gpu_utilization[i] for i in metrics.gpu_ids):
            wrong.append(f"{entry}: no GPU utilisation")
        if not metrics.has_blocks_per_sm or not metrics.has_occupancy:
            wrong.append(f"{entry}: no SM efficiency or occupancy")
        steps = sum(1 for e in load(source)["traceEvents"]
                    if e.get("ph") == "X" and e["name"].startswith("ProfilerStep#"))
        # It leaves out a last step whose work was cut.
        if not steps - 1 <= len(data.steps_names) <= steps:
            wrong.append(f"{entry}: {len(data.steps_names)} of {steps} steps")
        costs = dict(zip(("Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader"),
                         data.avg_costs.costs))
        for part, cost in costs.items():
            if not cost and (part != "Communication" or len(sources) > 1):
                wrong.append(f"{entry}: no time of {part}")
    run = RunLoader(os.path.basename(folder), folder, tb_io.Cache()).load()
    workers = sorted(w for w, _ in run.profiles if w != "All")
    if len(workers) != len(sources):
        wrong.append(f"the plugin lists {workers}")
    if len(sources) > 1 and not any(w == "All" for w, _ in run.profiles):
        wrong.append("no distributed view")
    wrong += [f"the plugin complains: {line}" for line in complaints.lines[:5]]
    return wrong or [f"same: {len(workers)} workers"]


def main():
    what, *rest = sys.argv[1:]
    if what == "ranks":
        make_ranks(*rest)
        return 0
    warnings.simplefilter("ignore")
    check = {"hta": check_hta, "plugin": check_plugin}[what]
    with contextlib.redirect_stdout(io.StringIO()):
        lines = check(rest[0], rest[1:])
    print("\n".join(lines))
    return 0 if lines[0].startswith("same") else 1


if __name__ == "__main__":
    sys.exit(main())
