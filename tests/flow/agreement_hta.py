# SPDX-License-Identifier: Apache-2.0
"""agreement_hta.py - the figures of HolisticTraceAnalysis beside ours: see agreement.py

HTA leaves out what lies at the edges of the profiler's steps by rules of its own, and takes waits
of streams for kernels, so both are given the trace without these (and HTA in its words, by
compare_hta.py). Compared is what means
the same: time of computing, of communication, of both at once and of any work; times of each
kernel; how many launches waited in a stream at most.
"""
import gzip
import json
import os
import tempfile

import compare_hta
import kineto_read
from agreement import Rows

US = 1000.0
NEAR = 0.51		# microseconds
HUNDREDTH = 0.0051	# of a percentage with two digits


WORK = ("kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset")


def without_steps(trace, folder):
    loaded = kineto_read.load(trace)
    known = reasons(loaded)
    n_work = sum((event.get("cat") or "").lower() in WORK for event in loaded["traceEvents"])
    loaded["traceEvents"] = [event for event in loaded["traceEvents"]
                             if not str(event.get("name")).startswith("ProfilerStep#") and
                             event.get("cat") != "cuda_sync"]
    path = os.path.join(folder, "rank.json.gz")
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        json.dump(loaded, file, default=float)
    return path, known, n_work


def compare(report, merge, trace):
    with tempfile.TemporaryDirectory() as folder:
        path, known, n_work = without_steps(trace, folder)
        try:
            run = compare_hta.Run(path)
        except Exception as error:
            print("ok - %s: HTA # SKIP HTA cannot read it: %s" % (
                report.trace, str(error).split("\n")[0]))
            return
        views = Rows(merge, [path], "overview,kernel")
    rank = run.rank
    analysis = run.analysis
    devices = views.table("gpu_time")
    if len(devices) != 1:
        return
    ours = dict(devices[0], pieces=n_work)

    def ask(function):
        try:
            return compare_hta.quietly(function)
        except Exception:
            return None

    frame = ask(lambda: analysis.get_temporal_breakdown(visualize=False))
    if frame is not None:
        row = frame[frame["rank"] == rank].iloc[0]
        one(report, "temporal breakdown", "computing", row["compute_time(us)"], ours["compute_ns"],
            known)
        one(report, "temporal breakdown", "any work",
            row["compute_time(us)"] + row["non_compute_time(us)"], ours["busy_ns"], known)
    frame = ask(lambda: analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000000))
    if frame is not None:
        kernel_types(report, frame[0], ours, known)
        kernels(report, frame[1], views.table("kernel"), known)
    frame = ask(lambda: analysis.get_comm_comp_overlap(visualize=False))
    if frame is not None and ours["communication_ns"]:
        row = frame[frame["rank"] == rank].iloc[0]
        report.compare("HTA", "overlap", "communication beside computing (%)",
                       {"": float(row["comp_comm_overlap_pctg"])},
                       {"": 100 * ours["compute_communication_ns"] / ours["communication_ns"]},
                       HUNDREDTH)
    frame = ask(lambda: analysis.get_queue_length_summary([rank]))
    if frame is not None and len(frame):
        report.compare("HTA", "queue length", "most",
                       {"launches waiting": int(frame["queue_length"]["max"].max())},
                       {"launches waiting": ours["depth_most"]}, known=known)


def one(report, view, figure, theirs, ours_ns, known):
    report.compare("HTA", view, figure, {"": float(theirs)}, {"": ours_ns / US}, NEAR,
                   known=known)


LAUNCHES = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync",
            "cudaMemsetAsync", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemsetAsync",
            "hipMemcpyAsync", "hipMemcpyWithStream"}


def reasons(raw):
    """known() of agreement.Report.compare, for what HTA is known to do with such a trace."""
    events, _, _ = kineto_read.events_of(raw)
    has_host_stream = any(event.kind == "range" and "stream" in event.args for event in events)
    work = {event.correlation() for event in events if event.kind in ("kernel", "memcpy", "memset")}
    calls = [event for event in events if event.kind == "api" and event.correlation() in work]
    has_others = any(call.name not in LAUNCHES for call in calls)
    starts = {event.start for event in events if event.kind in ("kernel", "memcpy", "memset")}
    has_ties = any(call.start in starts for call in calls)

    def known(row, theirs, ours):
        if ours is None and row.startswith(("Memcpy", "Memset")):
            return "copies"
        if has_host_stream:
            return "host-stream"
        if row == "launches waiting" and has_others:
            return "launch-names"
        return "same-moment" if row == "launches waiting" and has_ties and \
            theirs == ours + 1 else None
    return known


def kernel_types(report, frame, ours, known):
    """Merged times by what runs at once ("COMPUTATION overlapping MEMORY"), added up by type."""
    said = {"COMPUTATION": ours["compute_ns"] / US, "COMMUNICATION": ours["communication_ns"] / US,
            "MEMORY": ours["copy_ns"] / US}
    rows = {key: sum(float(row["sum"]) for _, row in frame.iterrows()
                     if key in row["kernel_type"].split(" overlapping ")) for key in said}
    def known_part(row, theirs, ours_us):
        """Each piece of the time is cut to whole microseconds."""
        if 0 <= ours_us - theirs <= 2 * ours["pieces"]:
            return "cut-pieces"
        return known(row, theirs, ours_us)

    report.compare("HTA", "kernel types", "time", rows, said, NEAR, known=known_part)


def kernels(report, frame, rows, known):
    for row in rows:
        row["cat"], row["name"] = "kernel", row["kernel"]
    kineto_read.canonical_names(rows)
    rows = {row["name"]: row for row in rows}
    for figure, title, field in (("total", "sum (us)", "total_ns"),
                                 ("mean", "mean (us)", "mean_ns"),
                                 ("max", "max (us)", "max_ns"), ("min", "min (us)", "min_ns")):
        report.compare("HTA", "kernels", figure,
                       {row["name"]: float(row[title]) for _, row in frame.iterrows()},
                       {name: row[field] / US for name, row in rows.items()}, NEAR,
                       known=known)
