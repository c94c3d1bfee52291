#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_kernels.py - do two profilers' Kineto traces of the same steps hold the same device work?

usage: count_kernels.py TORCH.json[.gz] OURS.json[.gz]

Counts kernels, copies and sets by name; prints the names whose counts differ, and exits with
1 where any does. Times are two runs' and are not compared; the median kernel's ratio is shown.
"""
import collections
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "flow", "lib"))
import kineto_read  # noqa: E402


def work_of(path):
    events, _, _ = kineto_read.events_of(kineto_read.load(path))
    lengths = collections.defaultdict(list)
    for event in events:
        if event.kind in ("kernel", "memcpy", "memset"):
            lengths[event.name].append(event.end - event.start)
    return lengths


def main():
    theirs, ours = work_of(sys.argv[1]), work_of(sys.argv[2])
    n_other = 0
    for name in sorted(set(theirs) | set(ours)):
        a, b = len(theirs.get(name, ())), len(ours.get(name, ()))
        if a != b:
            n_other += 1
            print("%d by torch.profiler, %d by us: %.100s" % (a, b, name))
    ratios = [statistics.median(ours[n]) / max(statistics.median(theirs[n]), 1)
              for n in theirs if n in ours]
    print("%d pieces of work of %d names; length by us / by torch.profiler: %.3f (median)" % (
        sum(map(len, theirs.values())), len(theirs),
        statistics.median(ratios) if ratios else float("nan")))
    sys.exit(n_other > 0 or not theirs)


if __name__ == "__main__":
    main()
