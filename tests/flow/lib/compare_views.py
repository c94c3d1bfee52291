#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_views.py - our kernel view of a replayed run beside TensorBoard's plugin on the original

usage: compare_views.py ORIGINAL.json[.gz] VIEWS.jsonl [SPEED]

VIEWS.jsonl: trainprof-merge -f jsonl -v kernel --top 0 of the replayed run; SPEED: of the replay.
Calls of each kernel must be equal; times, blocks and occupancy within 1 %. A kernel that the
plugin says uses tensor cores must be one that we say it of. (agreement.py compares the trace
itself, and exactly.) Prints one TAP line, without the plan.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare_kernels  # noqa: E402
import compare_tb  # noqa: E402
import kineto_read  # noqa: E402
from compare_tb import near  # noqa: E402


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    return [row for row in rows if row.get("table") == "kernel"]


def kernels(was, rows, speed):
    """The plugin's row: tensor cores, calls, sum, mean, max, min, blocks per SM, occupancy."""
    for row in rows:
        row["cat"], row["name"] = "kernel", row["kernel"]
    kineto_read.canonical_names(rows)
    ours = {row["name"]: row for row in rows}
    wrong = ["missing: %s" % name for name in was.kernels if name not in ours]
    wrong += ["not in the original: %s" % name for name in ours if name not in was.kernels]
    for name, row in was.kernels.items():
        our = ours.get(name)
        if our is None:
            continue
        if our["calls"] != row[1]:
            wrong.append("calls of %.80s: %s, was %s" % (name, our["calls"], row[1]))
        for key, title, value in (("total_ns", "total", row[2]), ("max_ns", "max", row[4])):
            us = our[key] / 1000 * speed
            if abs(us - value) > max(1, 0.01 * value):
                wrong.append("%s of %.80s: %.1f us, was %s" % (title, name, us, value))
        for key, value in zip(("blocks_per_sm", "occupancy_percent"), row[6:]):
            # Kineto rounds the occupancy of each launch to a whole percent.
            said = our[key] or 0        # "": of a device that the trace does not tell of
            near_enough = 1 if key == "occupancy_percent" else 0.011
            if not near(said, value) and abs(said - value) > near_enough and \
                    (key != "occupancy_percent" or value):
                wrong.append("%s of %.80s: %s, was %s" % (key, name, said, value))
        if row[0] == "Yes" and not our["tensor_cores"]:
            wrong.append("tensor cores of %.80s: not said" % name)
    return wrong


def main():
    tap = compare_kernels.Tap()
    was = compare_tb.Shown(sys.argv[1])
    speed = float(sys.argv[3]) if len(sys.argv) > 3 else 1
    tap.ask("kernel view: %d kernels" % len(was.kernels),
            kernels(was, rows_of(sys.argv[2]), speed))
    sys.exit(tap.n_failed > 0)


if __name__ == "__main__":
    main()
