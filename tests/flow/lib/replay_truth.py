# SPDX-License-Identifier: Apache-2.0
"""replay_truth.py FILE ROWS - what a replay file says of its kernels, found another way, against the rows of
the views kernel and overview (jsonl, --by-operator): by name and operator how often and for how long each ran,
and how many have a call."""
import bisect
import json
import sys
from collections import defaultdict


def read(path):
    lines = defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            kind, *fields = line.rstrip("\n").split("\t")
            if not kind.startswith("#"):
                lines[kind].append(dict(field.split("=", 1) for field in fields))
    for kind in ("api", "kernel", "range"):
        for line in lines[kind]:
            line["start"], line["end"] = int(line["start"]), int(line["end"])
    return lines


class Ranges:
    """The innermost one at a time: what is open, at each place where one begins or ends."""

    def __init__(self, ranges):
        edges = sorted([(r["start"], 1, -r["end"], r) for r in ranges] + [(r["end"], 0, -r["start"], r) for r in ranges],
                       key=lambda edge: edge[:3])
        self.times, self.names, is_open = [], [], []
        for time, begins, _, r in edges:
            if begins:
                is_open.append(r)
            else:
                is_open.remove(r)
            self.times.append(time)
            self.names.append(is_open[-1]["name"] if is_open else "")

    def at(self, time):
        return self.names[bisect.bisect_right(self.times, time) - 1]


def main():
    lines = read(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    ranges = {}
    for tid in {r["tid"] for r in lines["range"]}:
        ranges[tid] = Ranges([r for r in lines["range"] if r["tid"] == tid])
    calls = {call["corr"]: call for call in lines["api"]}
    wanted, n_joined = defaultdict(lambda: [0, 0]), 0
    for kernel in lines["kernel"]:
        call = calls.get(kernel["corr"])
        n_joined += call is not None
        operator = ranges[call["tid"]].at(call["start"]) if call else ""
        sums = wanted[kernel["name"], operator]
        sums[0] += 1
        sums[1] += kernel["end"] - kernel["start"]
    got = {(r["kernel"], "" if r["operator"] == "-" else r["operator"]): [r["calls"], r["total_ns"]] for r in rows if r["table"] == "kernel"}
    # Each time goes through the trace's clock: a length may be a nanosecond off.
    differences = [(key, wanted.get(key), got.get(key)) for key in {*wanted, *got}
                   if key not in wanted or key not in got or wanted[key][0] != got[key][0] or
                   abs(wanted[key][1] - got[key][1]) > wanted[key][0]]
    for difference in differences[:10]:
        print("wanted, got:", *difference, file=sys.stderr)
    gpu, = (r for r in rows if r["table"] == "gpu_time")
    print("%d differences in %d kernels, %d of %d calls have work" % (
        len(differences), sum(sums[0] for sums in wanted.values()), gpu["launches"], n_joined))


main()
