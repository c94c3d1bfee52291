#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kineto_scale.py - a Kineto trace with all times multiplied

usage: kineto_scale.py IN.json[.gz] OUT.json.gz FACTOR

A replay at --speed 0.25 takes four times as long as its file; so that it can be compared with
the original, its result is scaled by 0.25.
"""
import gzip
import json
import os
import sys
from decimal import Decimal

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kineto_read  # noqa: E402


def main():
    trace, factor = kineto_read.load(sys.argv[1]), Decimal(sys.argv[3])
    for event in trace["traceEvents"]:
        for key in ("ts", "dur"):
            if isinstance(event.get(key), (int, Decimal)):
                event[key] = event[key] * factor
    trace.pop("baseTimeNanoseconds", None)
    with gzip.open(sys.argv[2], "wt", encoding="utf-8", compresslevel=1) as file:
        # Fractions of a nanosecond are of no use; readers want plain numbers.
        json.dump(trace, file, default=lambda number: round(float(number), 3))


if __name__ == "__main__":
    main()
