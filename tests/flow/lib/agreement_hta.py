# SPDX-License-Identifier: Apache-2.0
"""agreement_hta.py - the figures of HolisticTraceAnalysis beside ours: see agreement.py

HTA leaves out what lies at the edges of the profiler's steps by rules of its own, and takes waits
of streams for kernels, so both are given the trace without these (and HTA in its words, by
compare_hta.py). Compared is what means
the same: time of computing, of communication, of both at once and of any work; times of each
kernel; of each kind of launch how long it took, how long its work waited then and ran, and how
often that was less; speeds of each kind of copy; how many launches waited in a stream at most.
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
NEAR_SPEED = 1e-6	# GB/s, and as a part

WORK = ("kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset")


class Cut:
    """The trace without steps and waits, as a file."""

    def __init__(self, trace, folder):
        loaded = kineto_read.load(trace)
        self.known, self.calls = reasons(loaded)
        work = [event for event in loaded["traceEvents"]
                if (event.get("cat") or "").lower() in WORK]
        self.n_work = len(work)
        self.speeds = {}	# of each kind of copy
        for event in work:
            if event["name"].startswith("Mem") and event["dur"]:
                self.speeds.setdefault(kind_of_copy(event["name"]), []).append(
                    event["args"].get("bytes", 0) / float(event["dur"]) / US)
        loaded["traceEvents"] = [event for event in loaded["traceEvents"]
                                 if not str(event.get("name")).startswith("ProfilerStep#") and
                                 event.get("cat") != "cuda_sync"]
        self.path = os.path.join(folder, "rank.json.gz")
        with gzip.open(self.path, "wt", encoding="utf-8", compresslevel=1) as file:
            json.dump(loaded, file, default=float)


def compare(report, merge, trace):
    with tempfile.TemporaryDirectory() as folder:
        cut = Cut(trace, folder)
        try:
            run = compare_hta.Run(cut.path)
        except Exception as error:
            print("ok - %s: HTA # SKIP HTA cannot read it: %s" % (
                report.trace, str(error).split("\n")[0]))
            return
        views = Rows(merge, [cut.path], "overview,kernel")
    rank = run.rank
    analysis = run.analysis
    devices = views.table("gpu_time")
    if len(devices) != 1:
        return
    ours, known = dict(devices[0], pieces=cut.n_work), cut.known

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
    frame = ask(lambda: analysis.get_cuda_kernel_launch_stats([rank], visualize=False)[rank])
    if frame is not None and len(frame):
        launches(report, frame, views.table("launches"), cut.calls, known)
    frame = ask(lambda: analysis.get_memory_bw_summary([rank]))
    if frame is not None and len(frame):
        copies(report, frame["memory_bw_gbps"], views.table("copies"), cut.speeds)
    frame = ask(lambda: analysis.get_queue_length_summary([rank]))
    if frame is not None and len(frame):
        queues(report, frame["queue_length"], views.table("gpu_streams"), known)


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
        if row.startswith("stream ") and has_others:
            return "launch-names"
        return "same-moment" if row.startswith("stream ") and has_ties and \
            theirs == ours + 1 else None
    return known, {call.correlation(): call.name for call in calls}


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


# The calls that its table of launches is of.
TIMED = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync")


def launches(report, frame, rows, calls, known):
    """By name of the call. Ours are means: of whole nanoseconds."""
    rows = {row["call"]: row for row in rows if row["call"] in TIMED}
    names = frame["correlation"].map(calls)
    by_name = frame.groupby(names)
    shorter = frame["gpu_duration"] < frame["cpu_duration"]
    for figure, theirs, ours in (
            ("calls", by_name.size(), lambda row: row["calls"]),
            ("time of calls", by_name["cpu_duration"].sum(), lambda row: row["call_ns"] / US),
            ("time of work", by_name["gpu_duration"].sum(), lambda row: row["work_ns"] / US),
            ("work shorter than its call", shorter.groupby(names).sum(),
             lambda row: row["shorter"]),
            ("mean delay", by_name["launch_delay"].mean(), lambda row: row["wait_mean_ns"] / US),
            ("greatest delay", by_name["launch_delay"].max(), lambda row: row["wait_max_ns"] / US)):
        report.compare("HTA", "launches", figure, theirs.to_dict(),
                       {name: ours(row) for name, row in rows.items()},
                       NEAR if "time" in figure or "delay" in figure else 0, known=known)


def copies(report, frame, rows, speeds):
    """In GB/s. Ours must be those of single copies, or theirs."""
    ours = {}
    for row in rows:
        ours.setdefault(kind_of_copy(row["copy"]), []).append(row)
    for figure, title, of in (("least", "min", min), ("greatest", "max", max)):
        def known(row, theirs, speed, of=of):
            if speed is not None and abs(of(speeds[row]) - speed) <= NEAR_SPEED * (1 + speed):
                return "copies-at-once"
            return None

        report.compare("HTA", "copies", figure + " GB/s",
                       {name: float(row[title]) for (_, name), row in frame.iterrows()},
                       {name: of(row[title + "_gb_per_s"] for row in of_kind)
                        for name, of_kind in ours.items()}, NEAR_SPEED, NEAR_SPEED, known=known)


def kind_of_copy(name):
    """Of "Memcpy HtoD (Pageable -> Device)" the first two words."""
    return name[:11] if name.startswith("Memcpy") else "Memset"


def queues(report, frame, rows, known):
    report.compare("HTA", "queue length", "most",
                   {"stream %d" % stream: int(row["max"]) for (_, stream), row in frame.iterrows()},
                   {"stream %d" % row["stream"]: row["depth_most"] for row in rows}, known=known)
