#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""html_lanes.py - the page's timeline has spans of a name and kind on lanes of a name.

usage: html_lanes.py PAGE LANE NAME KIND STEPS: regular expressions; on so many steps at least
"""
import base64
import json
import re
import sys


def numbers(text):
    """The numbers of a step's spans: seven bits a byte, low ones first (merge/page/page_spans.c)."""
    value = shift = 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def rows(text):
    """Lane, row, and the spans of each row: begin, end, word."""
    it = numbers(text)
    for lane in it:
        row, n, end, spans = next(it), next(it), 0, []
        for _ in range(n):
            begin = end + next(it)
            end = begin + next(it)
            spans.append((begin, end, next(it)))
            for _ in range(3):  # how many, the longest, where it comes from
                next(it)
            if next(it):  # the lane of what launched it, and when
                next(it)
        yield lane, row, spans


def main(page, lane, name, kind, steps):
    with open(page, encoding="utf-8") as file:
        text = re.search(r'<script[^>]*id="data-timeline"[^>]*>(.*?)</script>', file.read(), re.S).group(1)
    data = json.loads(text)
    titles = ["worker %d: %s" % (one["worker"], one["title"]) if "worker" in one else one["title"]
              for one in data["lanes"]]
    found = 0
    for step in data["steps"]:
        hits = 0
        for at, _, spans in rows(step["spans"]):
            # In one row nothing crosses, but for what the slots round.
            for one, other in zip(spans, spans[1:]):
                assert one[1] <= other[0] + 1, (one, other)
            if re.fullmatch(lane, titles[at]):
                hits += sum(1 for span in spans if re.fullmatch(name, data["names"][span[2]]) and
                            re.fullmatch(kind, data["kinds"][span[2]]))
        found += hits > 0
        print(step["proc"], step["step"], hits)
    return found >= int(steps)


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
