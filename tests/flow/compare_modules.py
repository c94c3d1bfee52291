#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_modules.py SAID ROWS [--names | --bounds]

Memory of modules, MemTracker's and ours. SAID: what tests/progs/categories.py wrote. ROWS: of
trainprof-merge -f jsonl -v module, of a window of one step. Prints the table; names and calls must be
equal, bytes of each category, and of all, within 2 % of all that is alive.

--bounds: operators use much inside themselves (convolutions, LSTM), which MemTracker cannot see: our peak is another moment
then, and must not be less than theirs by over 5 % (under it operators are others); and its hooks run while what the call
was given, or its last gradient, is still held: what is there after a call is shown, not judged.
--names: names and calls only.
"""
import json
import sys

LIMIT, BOUND = 0.02, 0.05
STATES = {"Pre-Forward": ("forward", "entry"), "Peak-Forward": ("forward", "peak"),
          "Post-Forward": ("forward", "exit"), "Pre-Backward": ("backward", "entry"),
          "Peak-Backward": ("backward", "peak"), "Post-Backward": ("backward", "exit"),
          # Of FSDP2's modules, and of these only: with what its hooks gather and free.
          "Before Pre-Forward": ("forward", "entry"), "Peak Forward": ("forward", "peak"),
          "After Post-Forward": ("forward", "exit"), "Peak Backward": ("backward", "peak")}
# As in compare_categories.py.
CATEGORIES = [
    ("parameters", ("parameter", "sharded_parameter"), ("Parameter", "Sharded Param")),
    ("unsharded parameters", ("unsharded_parameter",), ("Unsharded Param",)),
    ("all-gather", ("all_gather",), ("All Gather",)),
    ("reduce-scatter", ("reduce_scatter",), ("Reduce Scatter",)),
    ("buffers", ("buffer",), ("Buffer",)),
    ("activations", ("activation", "input"), ("Activation", "Other", "Inputs")),
    ("gradients", ("gradient", "sharded_gradient"), ("Gradient", "Sharded Grad")),
    ("unsharded gradients", ("unsharded_gradient",), ("Unsharded Grad",)),
    ("temporary", ("temporary",), ("Temp",)),
    ("optimizer state", ("optimizer_state",), ("Optstate", "OptState")),
]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        theirs = json.load(file)["modules"]
    ours, calls = {}, {}
    with open(sys.argv[2], encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["table"] == "module_memory":
                ours[row["module"], row["pass"], row["moment"]] = row
                calls[row["module"], row["pass"]] = row["calls"]
    is_fsdp = any("Peak Forward" in states for states in theirs.values())
    calls_are_in = "Peak Forward" if is_fsdp else "Pre-Forward"
    bad, worst = 0, 0
    print(f"# {'module':32}{'state':16}{'theirs':>12}{'ours':>12}{'off by':>9}  the worst")
    for name in sorted(set(theirs) | {module for module, _, _ in ours if not is_fsdp}):
        states = theirs.get(name, {})
        wanted = len(states.get(calls_are_in, []))
        if calls.get((name, "forward"), 0) != wanted:
            print(f"# {name}: {calls.get((name, 'forward'), 0)} calls, not {wanted}  <---")
            bad += 1
        for state, (way, moment) in STATES.items():
            if state not in states or "--names" in sys.argv:
                continue
            row = ours.get((name, way, moment))
            if not row:
                print(f"# {name}: no {way}  <---")
                bad += 1
                continue
            snapshot = states[state][-1]
            total = snapshot["Total"]
            # What operators use inside themselves is no tensor that they could see.
            mine = row["bytes"] - row["internal_bytes"] - row["unknown_bytes"]
            off = {"all": (mine - total) / total}
            for what, own, other in CATEGORIES:
                n = sum(row[f"{category}_bytes"] for category in own)
                n -= row["internal_bytes"] if "temporary" in own else 0
                off[what] = (n - sum(snapshot.get(category, 0) for category in other)) / total
            most = max(off, key=lambda what: abs(off[what]))
            good = abs(off[most]) <= LIMIT
            if "--bounds" in sys.argv and moment != "entry":
                most_of_all = row["bytes"] - row["unknown_bytes"]
                good = moment == "exit" or most_of_all >= (1 - BOUND) * total
            else:
                worst = max(worst, abs(off[most]))
            bad += not good
            print(f"# {name:32}{state:16}{total:12,}{mine:12,}{100 * off['all']:8.2f}%  "
                  f"{most} {100 * off[most]:.2f}%{'' if good else '  <---'}")
    print(f"# {len(theirs)} modules, off by {100 * worst:.2f}% at most")
    return 1 if bad or not theirs else 0


sys.exit(main())
