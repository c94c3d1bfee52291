#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kineto_check.py - is everything of a Kineto trace in its replay file, once, with its times?

usage: kineto_check.py TRACE.json[.gz] FILE.replay

Reads both, and compares operators, calls, kernels, copies, sets, synchronisations and memory
events as multisets: times to the nanosecond, and what the kind has besides. Also checks the
order of the lines. A range of the trace that crosses the one around it is legally cut in the
replay file: those are counted apart. Exit status 1 and the first differences where the rest
is not equal.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kineto_read  # noqa: E402
import replay_file  # noqa: E402
from kineto_read import whole  # noqa: E402

HOST = ("range", "api")


def of_trace(trace, zero):
    events, memory, _ = kineto_read.events_of(trace)
    rows = collections.Counter()
    calls = {event.correlation(): event for event in events if event.kind == "api"}
    for event in events:
        start, end = event.start - zero, event.end - zero
        if event.kind in HOST:
            rows[event.kind, event.name, start, end,
                 event.correlation() if event.kind == "api" else
                 whole(event.args.get("Sequence number"), None)] += 1
        elif event.kind in kineto_read.DEVICE_KINDS:
            rows[event.kind, event.name if event.kind == "kernel" else "", start, end,
                 event.correlation(), event.device(), event.stream(),
                 bytes_of(event, calls),
                 tuple(map(int, event.args.get("grid") or grid_of_call(calls, event)))] += 1
    for event in memory:
        rows["mem", event.start - zero, whole(event.args.get("Bytes"), 0)] += 1
    return rows


def grid_of_call(calls, event):
    """AMD's traces hold the grid with the call."""
    if event.kind != "kernel" or event.correlation() not in calls:
        return ()
    return calls[event.correlation()].args.get("grid") or ()


def bytes_of(event, calls):
    call = calls.get(event.correlation())
    return whole(event.args.get("bytes"), whole(call and call.args.get("size"), 0))


def take_cuts(missing, extra):
    """Removes from both what is a range and its cut version; how many those were."""
    ends = {row[:3] + row[4:]: row for row in extra if row[0] in HOST}
    n_cut = 0
    for row in list(missing):
        other = ends.get(row[:3] + row[4:]) if row[0] in HOST else None
        if other and other[3] < row[3]:
            n_cut += missing[row]
            del missing[row], extra[other]
    return n_cut


def of_replay(path):
    rows = collections.Counter()
    zero, last, wrong = 0, None, []
    with open(path, encoding="utf-8") as file:
        for text in file:
            if text.startswith("# zero_ns="):
                zero = int(text.split("=")[1])
                break
    for kind, f in replay_file.read(path):
        start, end = int(f.get("start", f.get("at", 0))), int(f.get("end", f.get("at", 0)))
        if kind in HOST or kind in kineto_read.DEVICE_KINDS or kind == "mem":
            order = (start, start - end)
            if last is not None and order < last:
                wrong.append("out of order: %s %r" % (kind, f))
            last = order
        if kind in HOST:
            seq = f.get("seq")
            rows[kind, f["name"], start, end, int(f["corr"]) if kind == "api" else
                 (int(seq) if seq else None)] += 1
        elif kind in kineto_read.DEVICE_KINDS:
            rows[kind, f.get("name", ""), start, end, int(f["corr"]), int(f["device"]),
                 int(f["stream"]), int(f.get("bytes", 0)),
                 tuple(map(int, f["grid"].split(","))) if "grid" in f else ()] += 1
        elif kind == "mem":
            rows["mem", start, int(f["bytes"]) * (1 if f["op"] == "alloc" else -1)] += 1
    return rows, zero, wrong


def main():
    got, zero, wrong = of_replay(sys.argv[2])
    wanted = of_trace(kineto_read.load(sys.argv[1]), zero)
    missing, extra = wanted - got, got - wanted
    n_cut = take_cuts(missing, extra)
    wrong += ["missing: %r" % (row,) for row in missing]
    wrong += ["not in the trace: %r" % (row,) for row in extra]
    for text in wrong[:10]:
        print(text)
    print("%d events, %d cut, %d differences" % (sum(wanted.values()), n_cut, len(wrong)))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
