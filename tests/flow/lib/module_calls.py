# SPDX-License-Identifier: Apache-2.0
"""module_calls.py REFERENCE ROWS - are calls of modules as many as torch counts?

REFERENCE is of tests/progs/train_modules.py, ROWS of trainprof-merge -v module -f jsonl. Prints what
differs; exit status 1 then.
"""
import collections
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        wanted = json.load(file)
    got = {"hooks": collections.Counter(), "profiler": collections.Counter()}
    with open(sys.argv[2], encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["table"] == "module" and row["calls"]:
                got["hooks"][row["name"] + "/" + row["class"]] += row["calls"]
                got["profiler"][row["class"]] += row["calls"]
    bad = 0
    for who in wanted:
        for name in sorted(set(wanted[who]) | set(got[who])):
            if wanted[who].get(name, 0) != got[who][name]:
                bad += 1
                print("%s: %s: %d for %d" % (who, name, got[who][name], wanted[who].get(name, 0)))
    n = sum(got["hooks"].values())
    print("%d calls, %d names" % (n, len(got["hooks"])))
    return bad > 0 or n < 200


sys.exit(main())
