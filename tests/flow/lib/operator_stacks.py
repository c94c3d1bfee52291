# SPDX-License-Identifier: Apache-2.0
"""operator_stacks.py LOG DUMP - has each operator the Python stack that it was called with?

LOG is of tests/progs/operator_stacks.py, DUMP of tptdump. Prints what differs; exit status 1 then.
"""
import collections
import json
import sys

PYTHON, JOINED, MODULE, CUT = 1, 2, 3, 16
OP, FRAME, STACK = "1", "22", "25"


def read_dump(path):
    """By thread: (time, order, stack or None for an operator); frames by number."""
    events, frames = collections.defaultdict(list), {}
    with open(path, errors="surrogateescape") as dump:
        for line in dump:
            if not line.startswith("EVENT\t"):
                continue
            _, kind, begin, length, flags, thread, name, link, arg = line.rstrip("\n").split("\t")[:9]
            if kind == STACK:
                events[thread].append((int(begin), len(events[thread]), int(link)))
            elif kind == FRAME:
                frames[int(link)] = int(length), int(flags, 16), name, int(arg, 16)
            elif kind == OP and name.split(".")[0] == "aten::neg":
                events[thread].append((int(begin), len(events[thread]), None))
    return events, frames


def unfold(frames, stack):
    stack_of = []
    while stack:
        outer, flags, name, arg = frames[stack]
        if flags & MODULE != MODULE:
            assert flags & PYTHON and not flags & (JOINED | CUT), flags
            stack_of.append([*name.split("?"), arg])
        stack = outer
    return stack_of


def main():
    wanted = collections.defaultdict(list)
    with open(sys.argv[1]) as log:
        for thread, stack in map(json.loads, log):
            wanted[thread].append(stack)
    events, frames = read_dump(sys.argv[2])
    got = []
    for thread in events:
        now, stacks = 0, []
        for _, _, stack in sorted(events[thread]):
            if stack is None:
                stacks.append(unfold(frames, now))
            else:
                now = stack
        if stacks:
            got.append(stacks)
    n = bad = 0
    # The main thread's are those whose outermost frame is the program's.
    got.sort(key=lambda stacks: stacks[0][-1][0] != "<module>")
    for thread in wanted:
        ours = got[thread] if thread < len(got) else []
        if len(ours) != len(wanted[thread]):
            print("thread %d: %d operators for %d" % (thread, len(ours), len(wanted[thread])))
            bad += 1
        for pair in zip(ours, wanted[thread]):
            n += 1
            if pair[0] == pair[1]:
                continue
            bad += 1
            if bad <= 3:
                print("got    %s\nwanted %s" % pair)
    print("%d stacks, %d of them wrong" % (n, bad))
    return bad > 0 or n < 400


sys.exit(main())
