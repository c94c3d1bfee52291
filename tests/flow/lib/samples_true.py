#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""samples_true.py DUMP... - do samples name the functions that ran? By dumps of tptdump

A function whose name is made_NNNN runs in a range of that name (tests/progs/sampled_hard.py). A sample of its
thread that was taken in the range, not within a fifth of a millisecond of its ends, and names such a function,
names that one. Prints how many did, and those that did not, at most ten.
"""
import re
import sys

RANGE, FRAME, SAMPLE = "2", "22", "31"
EDGE_NS = 200000


def read_dump(path):
    ranges, frames, samples, tids = {}, {}, [], {}
    with open(path, errors="surrogateescape") as dump:
        for line in dump:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "THREAD":
                tids[fields[1]] = int(fields[2])
            if fields[0] != "EVENT":
                continue
            kind, begin, length, thread = fields[1], int(fields[2]), int(fields[3]), fields[5]
            made = re.search(r"made_\d{4}", fields[6])
            if kind == FRAME:
                frames[fields[-3]] = (str(length), made and made[0])
            elif kind == SAMPLE:
                samples.append((int(fields[-2], 16) & 0xffffffff, begin, fields[-3]))
            elif kind == RANGE and made:
                ranges.setdefault(thread, []).append((begin, begin + length, made[0]))
    return {tids.get(thread): found for thread, found in ranges.items()}, frames, samples


def name_of(frames, stack):
    while stack in frames:
        stack, made = frames[stack]
        if made:
            return made
    return None


def main():
    n_right, wrong = 0, []
    for path in sys.argv[1:]:
        ranges, frames, samples = read_dump(path)
        for tid, time_ns, stack in samples:
            name = name_of(frames, stack)
            for begin, end, wanted in ranges.get(tid, []):
                if not name or not begin + EDGE_NS < time_ns < end - EDGE_NS:
                    continue
                n_right += name == wanted
                if name != wanted:
                    wrong.append("%s, and %s ran" % (name, wanted))
    print("%d right, %d wrong" % (n_right, len(wrong)))
    for text in wrong[:10]:
        print("#", text)


main()
