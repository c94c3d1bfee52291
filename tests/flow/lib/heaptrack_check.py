#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heaptrack_check.py - folded stacks of trainprof-merge against heaptrack's of another run

usage: heaptrack_check.py OURS THEIRS COST CLOSE [TOP]

OURS: a file of -f folded, THEIRS: heaptrack_print's flame graph of the same cost. The sums differ by
at most the share CLOSE. With TOP, only what main called counts, and the TOP stacks with most are
equal, by the functions between main and malloc: what is outside and inside the two show each
in a way of its own.
"""

import re
import sys


def own_functions(stack):
    """Names of functions between main and the allocation, without files and arguments."""
    names = []
    for frame in stack.split(";"):
        name = re.sub(r" \([^()]*\)$", "", frame)      # heaptrack's file
        names.append(re.sub(r"\(.*", "", name).strip())
    if "main" not in names:
        return None
    return tuple(name for name in names[names.index("main"):]
                 if name and not name.startswith(("0x", "malloc", "realloc")))


def load(path, is_main_only):
    found, total = {}, 0
    with open(path, errors="replace") as file:
        for line in file:
            stack, _, n = line.rstrip("\n").rpartition(" ")
            key = own_functions(stack)
            if is_main_only and not key:
                continue
            total += int(n)
            found[key] = found.get(key, 0) + int(n)
    return found, total


def main():
    cost, close = sys.argv[3], float(sys.argv[4])
    top = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    ours, our_total = load(sys.argv[1], top > 0)
    theirs, their_total = load(sys.argv[2], top > 0)
    difference = abs(our_total - their_total) / max(their_total, 1)
    print("# %s: ours %d, heaptrack's %d, %.3f %% apart" %
          (cost, our_total, their_total, 100 * difference))
    if difference > close:
        sys.exit("%s differs by more than %.1f %%" % (cost, 100 * close))
    bad = []
    for stack, n in sorted(theirs.items(), key=lambda item: (-item[1], item[0]))[:top]:
        if ours.get(stack) != n:
            bad.append("%d, ours %s: %s" % (n, ours.get(stack), ";".join(stack)))
    if bad:
        sys.exit("%s, stacks that differ:\n%s" % (cost, "\n".join(bad[:5])))


main()
