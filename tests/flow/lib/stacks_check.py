# SPDX-License-Identifier: Apache-2.0
"""stacks_check.py - what a dump (tests/progs/tptdump) says of native stacks

usage: stacks_check.py DUMP...

Each stack that an event names is made of frames that were recorded before it on the same thread; all
end in the same two places, where programs and threads begin, but for the few that are cut, as many as the
trace tells of. Prints how many.
"""

import sys

CUT, PYTHON, JOINED = 16, 1, 2


def main():
    stacks, ends, n_events, wrong, n_cut, n_told = {}, {}, 0, [], 0, 0
    for name in sys.argv[1:]:
        stacks.clear()
        for line in open(name, errors="replace"):
            cell = line.rstrip("\n").split("\t")
            if cell[0] == "END" and cell[1].startswith("stack.cut="):
                n_told += int(cell[1].split("=")[1])
            if cell[0] != "EVENT":
                continue
            kind, length, flags, slot = int(cell[1]), int(cell[3]), int(cell[4], 16), cell[5]
            link, arg = int(cell[7]), cell[8]
            if kind == 22:
                if flags & (PYTHON | JOINED):
                    continue
                if length and length not in stacks:
                    wrong.append(f"stack {link} is inside of {length}, which is not there")
                # (slot, outermost frame, is it cut)
                outer = stacks.get(length)
                stacks[link] = (slot, outer[1] if outer else arg,
                                outer[2] if outer else flags & CUT)
            elif kind == 18 and link:
                n_events += 1
                if link not in stacks:
                    wrong.append(f"an event has stack {link}, which is not there")
                    continue
                owner, end, cut = stacks[link]
                if owner != slot:
                    wrong.append(f"stack {link} is another thread's")
                if cut:
                    n_cut += 1
                    continue
                ends[end] = ends.get(end, 0) + 1
    # A malloc does not wait for a fork that another thread is in: its stack is cut, and told of.
    if n_cut > n_told or n_cut > n_events / 1000:
        wrong.append(f"{n_cut} stacks are cut, {n_told} are told of")
    for text in wrong[:20]:
        print(text)
    print(f"{n_events} stacks, {len(ends)} ends, {len(wrong)} wrong")
    return 1 if wrong or not n_events or len(ends) > 2 else 0


sys.exit(main())
