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


def rows(text, slots_a_ns):
    """Lane, row, and the spans of each row: begin, end, word (merge/page/page_spans.h)."""
    it = numbers(text)
    for lane in it:
        row, n, begin, spans = next(it), next(it), 0, []
        for _ in range(n):
            begin += next(it)
            head = next(it)
            slots = next(it) if head & 1 else None
            if head & 1:
                next(it)  # how many
            longest = next(it)
            next(it)  # where it comes from
            if head & 2:  # the lane of what launched it, and when
                next(it), next(it)
            end = begin + (max(1, longest * slots_a_ns) if slots is None else slots)
            spans.append((begin, end, head >> 2))
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
        for at, _, spans in rows(step["spans"], data["slots"] / step["time_ns"]):
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
