#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_dead.py - is the merge of a killed run what its files and its ring hold?

usage: compare_dead.py RING.json MERGED.json.gz TEXT

RING.json is ring_reader.py's output, TEXT what the merge printed (-v health). Says each
difference on a line of its own; exit status 1 when there is one. For runs that recorded
operators only (TRAINPROF_RECORD=ops): then each record is one slice.
"""

import collections
import json
import sys

from chrome_counts import events_of


def main():
    with open(sys.argv[1]) as file:
        rings = json.load(file)
    with open(sys.argv[3], encoding="utf-8") as file:
        text = file.read()
    if len(rings) != 1:
        sys.exit("%d rings found, wanted 1" % len(rings))
    ring, wrong = rings[0], []

    slices = [event for event in events_of(sys.argv[2]) if event.get("ph") == "X"]
    # Spans that were open at the end are slices too; they say so, and are in no record.
    unfinished = [event for event in slices if event.get("args", {}).get("Unfinished")]
    if len(slices) != ring["events"] + len(ring["open"]):
        wrong.append("%d slices; %d records published (%d in trace files, %d in the ring), "
                     "%d spans open" %
                     (len(slices), ring["events"], sum(ring["files"].values()),
                      ring["in_ring"], len(ring["open"])))
    names = collections.Counter(event["name"] for event in slices)
    for name, n in ring["ring_names"].items():
        if names[name] < n:
            wrong.append("'%s': %d in the ring, %d shown" % (name, n, names[name]))
    for tid, _, name in ring["open"]:
        if name not in text:
            wrong.append("thread %d was inside '%s': the text does not say so" % (tid, name))
        if not any(event["name"] == name and event["tid"] == tid for event in unfinished):
            wrong.append("thread %d was inside '%s': no unfinished slice" % (tid, name))
    print("%d records in files, %d in the ring, %d spans open" %
          (sum(ring["files"].values()), ring["in_ring"], len(ring["open"])))
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
