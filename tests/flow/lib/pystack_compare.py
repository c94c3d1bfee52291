# SPDX-License-Identifier: Apache-2.0
"""pystack_compare.py LOG DUMP - has each block the Python stack that its program had?

LOG is of tests/progs/pystack_blocks.py, DUMP of tptdump. Prints what differs; exit status 1 then.
"""
import json
import sys

PYTHON, JOINED, CUT = 1, 2, 16
HEAPALLOC, FRAME = "18", "22"


def read_dump(path):
    blocks, frames = {}, {}
    with open(path, errors="surrogateescape") as dump:
        for line in dump:
            if not line.startswith("EVENT\t"):
                continue
            _, kind, _, length, flags, _, name, link, arg = line.rstrip("\n").split("\t")[:9]
            if kind == HEAPALLOC:
                blocks.setdefault(int(length), []).append(int(link))
            elif kind == FRAME:
                frames[int(link)] = int(length), int(flags, 16), name, int(arg, 16)
    return blocks, frames


def unfold(frames, stack):
    stack_of = []
    while stack:
        outer, flags, name, arg = frames[stack]
        if flags & JOINED:
            stack = arg
            continue
        assert flags & PYTHON and not flags & CUT, flags
        stack_of.append([*name.split("?"), arg])
        stack = outer
    return stack_of


def main():
    blocks, frames = read_dump(sys.argv[2])
    n = bad = 0
    with open(sys.argv[1]) as log:
        for size, wanted in map(json.loads, log):
            n += 1
            got = [unfold(frames, stack) for stack in blocks.get(size, [])]
            if got == [wanted]:
                continue
            bad += 1
            if bad <= 3:
                print("block of %d bytes: %d times" % (size, len(got)))
                for pair in zip(got[0] if got else [], wanted):
                    if pair[0] != pair[1]:
                        print("  got %s wanted %s" % pair)
    print("%d blocks, %d of them wrong" % (n, bad))
    return bad > 0 or n < 500


sys.exit(main())
