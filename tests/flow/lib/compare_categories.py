#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_categories.py SAID ROWS [--only-tracker]

Memory by category at a step's peak, theirs and ours. SAID: what tests/progs/categories.py wrote.
ROWS: of trainprof-merge -f jsonl -v memory, of a window of one step. Prints the confusion
matrices; each category, and all, must agree within 2 % of all that is alive.
"""
import json
import sys

from tensor_blocks import replay

LIMIT = 0.02
# Ours, and which of theirs count as it. MemTracker: all that forward makes is an activation, also
# its inputs; all that backward makes is temporary, a parameter's gradient until somebody takes it.
TRACKER = [
    (("parameter", "sharded_parameter"), ("Parameter", "Sharded Param")),
    (("unsharded_parameter",), ("Unsharded Param",)),
    (("buffer",), ("Buffer",)),
    (("gradient", "sharded_gradient"), ("Gradient", "Sharded Grad")),
    (("unsharded_gradient",), ("Unsharded Grad",)),
    (("all_gather",), ("All Gather",)),
    (("reduce_scatter",), ("Reduce Scatter",)),
    (("activation", "input"), ("Activation", "Inputs", "Other")),
    (("temporary",), ("Temp",)),
    (("optimizer_state",), ("Optstate", "OptState")),
]
# The timeline: gradients of activations are gradients, what it cannot tell is autograd's detail.
TIMELINE = [
    (("parameter", "buffer"), ("parameter",)),
    (("optimizer_state",), ("optimizer_state",)),
    (("activation", "input"), ("activation", "input")),
    (("gradient", "temporary"), ("gradient", "temporary", "autograd_detail", "unknown")),
]


def off_by(theirs, ours, pairs):
    """How far each is off, in parts of everything; the last is everything."""
    everything = sum(theirs.values())
    rows = []
    for own, other in pairs:
        mine, his = sum(ours.get(c, 0) for c in own), sum(theirs.get(c, 0) for c in other)
        if mine or his:
            rows.append(("+".join(own), his, mine, (mine - his) / everything))
    rows.append(("all", everything, sum(ours.values()), sum(ours.values()) / everything - 1))
    return rows


def compare(name, theirs, moments, pairs):
    rows = min((off_by(theirs, ours, pairs) for ours in moments),
               key=lambda rows: max(abs(row[3]) for row in rows))
    print(f"# {name:34}{'theirs':>14}{'ours':>14}{'off by':>10}")
    for what, his, mine, off in rows:
        print(f"# {what:34}{his:14,}{mine:14,}{100 * off:9.2f}%"
              f"{'' if abs(off) <= LIMIT else '  <---'}")
    return all(abs(row[3]) <= LIMIT for row in rows)


with open(sys.argv[1], encoding="utf-8") as file:
    said = json.load(file)
said["tracker"].pop("Total", None)
steps, blocks = [], []
with open(sys.argv[2], encoding="utf-8") as file:
    for line in file:
        row = json.loads(line)
        if row.get("device") == "CPU" and row["table"] in ("tensor_steps", "tensor_blocks"):
            (steps if row["table"] == "tensor_steps" else blocks).append(row)
if len(steps) != 1:
    sys.exit(f"{len(steps)} steps, not 1")
# In one pass, and from all blocks: the same, to the byte; what is older has no block.
one_pass = {key[:-len("_bytes")]: n for key, n in steps[0].items() if key.endswith("_bytes") and n}
one_pass.pop("unknown", None)
known = [block for block in blocks if block["category"] != "unknown"]
_, _, from_blocks = max(replay(known), key=lambda moment: moment[1])
good = one_pass == from_blocks
print(f"# at the peak, in one pass: {one_pass}\n# from all blocks:          {from_blocks}")
# What operators use inside themselves is no tensor that they could see. Two moments may be the
# peak all but equally: theirs is one of ours.
moments = replay(block for block in known if not block["internal"])
most = max(total for _, total, _ in moments)
moments = [alive for _, total, alive in moments if total >= (1 - LIMIT) * most]
good &= compare("MemTracker", said["tracker"], moments, TRACKER)
# The timeline has some of that, too: only where operators use little it is the same.
if "timeline" in said:
    is_same = compare("memory timeline", said["timeline"], moments, TIMELINE)
    good &= is_same or "--only-tracker" in sys.argv
sys.exit(0 if good else 1)
