#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_hta.py - HolisticTraceAnalysis on a Kineto trace, and on our result of it

usage: compare_hta.py [--device-only] ORIGINAL.json[.gz] RESULT.json[.gz]

Needs HolisticTraceAnalysis 0.5.0 with pandas < 3. Compares the temporal breakdown, the kernel
breakdown, idle time by cause, the launch statistics, bandwidth and queue lengths: counts must
be equal, times and percentages within 1 % (of their column's total where they are parts of
one). --device-only: as in compare_kernels.py. Prints one TAP line a question, without the plan.
An analysis that HTA itself cannot do on the original is skipped, with its error.

Both are given HTA's own words first (old categories renamed, ranges repeated on the device's
row left out: HTA takes those for kernels; bandwidth is bytes by length, which a trace of whole
microseconds does not hold), and its rounding to whole microseconds is off.
"""
import contextlib
import gzip
import io
import json
import logging
import os
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
import compare_kernels  # noqa: E402
import kineto_read  # noqa: E402
import pandas  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402

TOLERANCE = 0.01
OF_HOST = ("idle time by cause", "launches", "queue lengths")
NO_STREAM = 0xFFFFFFFF
WORDS = {"operator": "cpu_op", "runtime": "cuda_runtime", "kernel": "kernel",
         "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


def for_hta(path, out):
    with open(path, "rb") as file:
        packed = file.read()
    text = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    trace = json.loads(text.decode("utf-8", "replace"), strict=False)
    kineto_read.canonical_names(trace["traceEvents"])
    kept = []
    for event in trace["traceEvents"]:
        cat = event.get("cat")
        if cat == "gpu_user_annotation":
            continue
        if cat in ("Operator", "Runtime", "Kernel", "Memcpy", "Memset"):
            event["cat"] = WORDS[cat.lower()]
            if event["name"].startswith("ProfilerStep#"):
                event["cat"] = "user_annotation"
        args = event.get("args") or {}
        if args.get("stream") == NO_STREAM:
            args["stream"] = -1     # of a whole context; HTA takes it for a kernel on that stream
        if "memory bandwidth (GB/s)" in args and event.get("dur"):
            args["memory bandwidth (GB/s)"] = args["bytes"] / float(event["dur"]) / 1e3
        if event.get("ph") == "X" and "args" in event and isinstance(event.get("tid"), str):
            event["tid"] = event["args"].get("stream", event["tid"])
        kept.append(event)
    info = trace.get("distributedInfo") or {}
    with gzip.open(out, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write('{"schemaVersion": 1, "distributedInfo": {"rank": %d},\n"traceEvents": ' %
                   info.get("rank", 0))
        json.dump(kept, file)
        file.write("}")
    return info.get("rank", 0)


class Run:
    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory()
        out = os.path.join(self.folder.name, "rank.json.gz")
        self.rank = for_hta(path, out)
        self.analysis = quietly(lambda: TraceAnalysis(trace_files={self.rank: out},
                                                      include_last_profiler_step=True))

    def tables(self):
        """name, columns that name a row, function that gives the table."""
        a, ranks = self.analysis, [self.rank]
        yield "temporal breakdown", ["rank"], lambda: a.get_temporal_breakdown(visualize=False)
        yield ("kernel types", ["kernel_type"],
               lambda: a.get_gpu_kernel_breakdown(visualize=False)[0])
        yield ("kernels", ["name", "rank", "kernel_type"],
               lambda: a.get_gpu_kernel_breakdown(visualize=False, num_kernels=100000)[1])
        yield ("idle time by cause", ["rank", "stream", "idle_category"],
               lambda: a.get_idle_time_breakdown(ranks, visualize=False)[0])
        yield ("launches", [],
               lambda: summed(a.get_cuda_kernel_launch_stats(ranks, visualize=False)[self.rank]))
        yield "bandwidth", None, lambda: flat(a.get_memory_bw_summary(ranks))
        yield "queue lengths", None, lambda: flat(a.get_queue_length_summary(ranks))


def quietly(function):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return function()


def summed(frame):
    """Launches are many and their ids are ours: how many, and the sums of each column."""
    total = frame[["cpu_duration", "gpu_duration", "launch_delay"]].sum().to_frame().T
    total.insert(0, "count", len(frame))
    return total


def flat(frame):
    return None if frame is None else frame.reset_index()


def rows_of(frame, keys):
    if frame is None:
        return {}, []
    if keys is None:
        keys = [c for c in frame.columns if not pandas.api.types.is_float_dtype(frame[c])
                and str(c) != "count"]
    values = [c for c in frame.columns if c not in keys]
    return {tuple(str(row[k]) for k in keys): [row[c] for c in values]
            for _, row in frame.iterrows()}, values


def compare(frame, other, keys):
    rows, titles = rows_of(frame, keys)
    others, _ = rows_of(other, keys)
    wrong = ["missing: %s" % (key,) for key in rows if key not in others]
    wrong += ["not in the original: %s" % (key,) for key in others if key not in rows]
    for place, title in enumerate(titles):
        numbers = [row[place] for row in rows.values() if not isinstance(row[place], str)]
        # The lesser numbers of a column are parts of its total, and may be off by its 1 %.
        total = sum(abs(n) for n in numbers if n == n)
        for key, row in rows.items():
            a, b = row[place], others.get(key, row)[place]
            if isinstance(a, str) or "count" in str(title):
                is_same = a == b
            else:
                # Sums of whole microseconds are rounded to them once more.
                is_same = (a != a and b != b) or abs(a - b) <= TOLERANCE * max(
                    abs(a), total if is_part(title) else 0) + (2 if title == "sum" else 0.002)
            if not is_same:
                wrong.append("%s of %s: %s, was %s" % (title, key, b, a))
    return wrong


def is_part(title):
    return any(word in str(title) for word in ("time", "ratio", "pctg", "percentage"))


def main():
    tap = compare_kernels.Tap()
    was, now = Run(sys.argv[1]), Run(sys.argv[2])
    for (name, keys, table), (_, _, our_table) in zip(was.tables(), now.tables()):
        try:
            frame = quietly(table)
        except Exception as error:
            print("ok - %s # SKIP HTA cannot do it on the original: %s: %s" % (
                name, type(error).__name__, str(error).split("\n")[0]))
            continue
        try:
            wrong = compare(frame, quietly(our_table), keys)
        except Exception as error:
            wrong = ["%s: %s" % (type(error).__name__, error)]
        n_rows = 0 if frame is None else len(frame)
        tap.ask("%s: %d rows" % (name, n_rows), wrong, is_of_host=name in OF_HOST)
    sys.exit(tap.n_failed > 0)


if __name__ == "__main__":
    main()
