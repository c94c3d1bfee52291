# SPDX-License-Identifier: Apache-2.0
"""cupti_books.py - do the books of CUPTI's records in a trace add up to what was offered?

usage: tptdump FILE | cupti_books.py OFFERED

OFFERED: how many records the stand-in made. Each must be an event of the file, or be counted as
lost for a reason. Prints the sums; exit status 1 where they are not equal.
"""
import collections
import re
import sys

# Records of CUPTI that become events, by number in records.def.
OF_CUPTI = range(9, 16)


def main():
    events, ends = 0, collections.Counter()
    for line in sys.stdin:
        fields = line.rstrip("\n").split("\t")
        if fields[0] == "EVENT" and int(fields[1]) in OF_CUPTI:
            events += 1
        elif fields[0] == "END":
            key, value = fields[1].split("=", 1)
            if value.isdigit():
                ends[key] += int(value)
    emitted = sum(n for key, n in ends.items() if re.fullmatch(r"cupti\.[a-z]+", key) and
                  key.split(".")[1] in ("call", "kernel", "memcpy", "memset", "sync", "graph",
                                        "overhead"))
    lost = {key: n for key, n in ends.items() if n and (
        re.fullmatch(r"cupti\.[a-z]+\.(no_time|outside|late|no_room)", key) or key == "cupti.dropped")}
    offered = int(sys.argv[1])
    print("offered %d, in the file %d (counted %d), lost %d %s" % (
        offered, events, emitted, sum(lost.values()), lost))
    sys.exit(events != emitted or offered != events + sum(lost.values()))


if __name__ == "__main__":
    main()
