#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chrome_counts.py - how many slices of a Chrome trace have a name that begins so

usage: chrome_counts.py FILE.json.gz PREFIX

A slice is one X event or one B event.
"""

import gzip
import json
import sys


def events_of(path):
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    with (gzip.open if is_gzip else open)(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    return trace["traceEvents"] if isinstance(trace, dict) else trace


if __name__ == "__main__":
    print(sum(1 for event in events_of(sys.argv[1])
              if event.get("ph") in ("X", "B") and event.get("name", "").startswith(sys.argv[2])))
