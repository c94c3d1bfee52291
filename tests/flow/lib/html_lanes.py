#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""html_lanes.py - the page's timeline has spans of a name and kind on lanes of a name.

usage: html_lanes.py PAGE LANE NAME KIND STEPS: regular expressions; on so many steps at least
"""
import json
import re
import sys


def main(page, lane, name, kind, steps):
    with open(page, encoding="utf-8") as file:
        text = re.search(r'<script[^>]*id="data-timeline"[^>]*>(.*?)</script>', file.read(), re.S).group(1)
    data = json.loads(text)
    found = 0
    for step in data["steps"]:
        spans = [step["spans"][i:i + 8] for i in range(0, len(step["spans"]), 8)]
        hits = [span for span in spans if re.fullmatch(lane, step["lanes"][span[0]]) and
                re.fullmatch(name, data["names"][span[4]]) and re.fullmatch(kind, chr(span[7]))]
        # In one row nothing crosses.
        for one in hits:
            for other in hits:
                assert one is other or one[:2] != other[:2] or one[2] + one[3] <= other[2] or \
                    other[2] + other[3] <= one[2], (one, other)
        found += bool(hits)
        print(step["proc"], step["step"], step["lanes"], len(hits))
    return found >= int(steps)


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
