#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stacks_whole.py DUMP... - are the stacks in dumps of tptdump whole?

Every stack that an event names was made before by FRAMEs of the same thread and file, down to an
outermost one, and (nearly) every native frame lies in a module. Prints what is not so, at most ten
lines, and a line of counts. FRAMEs that lead nowhere are counted only: a window has some from before
its begin. Exit status 1 when a stack is not whole.
"""
import bisect
import sys

ALLOC, FREE, MAP, UNMAP, FRAME = "18", "19", "20", "21", "22"
PYTHON, JOINED = 1, 2


class File:
    def __init__(self):
        self.made, self.modules, self.addresses, self.troubles = {}, [], [], []
        self.counts = {"events": 0, "frames": 0, "stacks": 0, "lost": 0, "outside": 0}

    def trouble(self, text):
        if len(self.troubles) < 10:
            self.troubles.append(text)

    def has(self, stack, thread):
        return not stack or self.made.get(stack) == thread

    def need(self, stack, thread, line):
        self.counts["stacks"] += stack != 0
        if not self.has(stack, thread):
            self.trouble("stack %d is not there: %s" % (stack, line.strip()))

    def frame(self, outer, flags, thread, stack, arg):
        self.counts["frames"] += 1
        if not flags & (PYTHON | JOINED):
            self.addresses.append(arg)
        if self.has(outer, thread) and (not flags & JOINED or self.has(arg, thread)):
            self.made[stack] = thread
        else:
            self.counts["lost"] += 1

    def event(self, line):
        # The name may hold anything, tabs too.
        fields = line.rstrip("\n").split("\t")
        kind, length, flags, thread = fields[1], int(fields[3]), int(fields[4], 16), fields[5]
        link, arg = int(fields[-3]), int(fields[-2], 16)
        if kind == FRAME:
            self.frame(length, flags, thread, link, arg)
        elif kind in (ALLOC, FREE, MAP, UNMAP):
            self.counts["events"] += 1
            self.need(link, thread, line)

    def finish(self):
        self.modules.sort()
        begins = [m[0] for m in self.modules]
        for address in self.addresses:
            i = bisect.bisect_right(begins, address) - 1
            while i >= 0 and address >= self.modules[i][1] and address - begins[i] < 1 << 32:
                i -= 1
            if i < 0 or address >= self.modules[i][1]:
                self.counts["outside"] += 1


def read_dump(path):
    whole = File()
    with open(path, errors="surrogateescape") as dump:
        for line in dump:
            if line.startswith("EVENT\t"):
                whole.event(line)
            elif line.startswith("MODULE\t"):
                begin, end = line.split("\t")[1:3]
                whole.modules.append((int(begin, 16), int(end, 16)))
    whole.finish()
    return whole


def main():
    is_whole = True
    for path in sys.argv[1:]:
        whole = read_dump(path)
        for text in whole.troubles:
            print(text)
        print(" ".join("%s=%d" % item for item in whole.counts.items()),
              "modules=%d" % len(whole.modules))
        is_whole &= not whole.troubles and whole.counts["outside"] * 100 <= whole.counts["frames"]
    sys.exit(not is_whole)


if __name__ == "__main__":
    main()
