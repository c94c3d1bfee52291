#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_modules.py SAID ROWS [--names | --bounds BLOCKS]

Memory of modules, MemTracker's and ours. SAID: what tests/progs/categories.py wrote. ROWS: of
trainprof-merge -f jsonl -v module, of a window of one step. Prints the table; names and calls must be
equal, bytes of each category, and of all, within 2 % of all that is alive.

--bounds: operators use much inside themselves (convolutions, LSTM), which MemTracker cannot see, so our
peak is another moment. Of the forward pass the peak without that is looked up in the rows BLOCKS (of
-v memory) and must be theirs within 2 % (LSTM: 5 %, for under a dispatch mode its head adds the bias to a copy). Of the
backward pass ours must not be less than theirs by over 5 %: they hold what an operator was given until it
has returned, and a call ends elsewhere. So what is there after a call is shown, not judged.
--names: names and calls only.
"""
import json
import sys

from tensor_blocks import replay

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


def peak_of_tensors(moments, begin, end):
    """The most of all between two times."""
    before = [total for ns, total, _ in moments if ns <= begin][-1:]
    return max(before + [total for ns, total, _ in moments if begin <= ns <= end])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        theirs = json.load(file)["modules"]
    ours, calls = {}, {}
    with open(sys.argv[2], encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["table"] == "module_memory":
                ours[row["module"], row["pass"], row["moment"]] = row
                calls[row["module"], row["pass"]] = row["calls"]
    moments = []
    if "--bounds" in sys.argv:
        with open(sys.argv[4], encoding="utf-8") as file:
            moments = replay(row for row in map(json.loads, file)
                             if row["table"] == "tensor_blocks" and not row["internal"]
                             and row["category"] != "unknown")
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
                if moment == "peak" and way == "forward":
                    mine = peak_of_tensors(moments, ours[name, way, "entry"]["when_ns"],
                                           ours[name, way, "exit"]["when_ns"])
                    off["all"] = (mine - total) / total
                    good = abs(off["all"]) <= (BOUND if name.startswith("LSTM") else LIMIT)
                    most = "all"
            else:
                worst = max(worst, abs(off[most]))
            bad += not good
            print(f"# {name:32}{state:16}{total:12,}{mine:12,}{100 * off['all']:8.2f}%  "
                  f"{most} {100 * off[most]:.2f}%{'' if good else '  <---'}")
    print(f"# {len(theirs)} modules, off by {100 * worst:.2f}% at most")
    return 1 if bad or not theirs else 0


sys.exit(main())
