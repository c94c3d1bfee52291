#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""comm_books.py - the rows of `-v comm` against what a job's ranks booked

usage: comm_books.py ROWS.jsonl BOOKS FIRST LAST     of steps FIRST to LAST, both recorded

Each collective that was booked is in the trace with its kind, group and bytes, as often as it was
booked, and is matched with those of the others, one to one.
"""

import collections
import glob
import json
import os
import sys

rows_path, books, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
calls = collections.Counter()
for path in glob.glob(os.path.join(books, "rank*.json")):
    book = json.load(open(path))
    for step in range(first, last + 1):
        for kind, group, size in book.get(str(step), []):
            kind = "send/recv" if kind in ("send", "recv") else kind
            calls[kind, group, size if kind != "barrier" else "?"] += 1

found = collections.Counter()
trouble = []
for line in open(rows_path):
    row = json.loads(line)
    if row["table"] != "collectives":
        continue
    key = row["collective"], row["group"], row["bytes"]
    found[key] += row["calls"]
    if row["matched"] * row["ranks"] != row["calls"]:
        trouble.append("not matched one to one: %r" % row)
for key in sorted(set(calls) | set(found), key=repr):
    if calls[key] != found[key]:
        trouble.append("%r: booked %d, in the trace %d" % (key, calls[key], found[key]))
print("\n".join(trouble))
print("%d calls of %d sorts" % (sum(calls.values()), len(calls)))
sys.exit(bool(trouble) or not calls)
