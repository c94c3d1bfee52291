#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""host_memory_rows.py - figures of the memory view's rows

usage: host_memory_rows.py FILE between TABLE KEY VALUE FIELD LEAST MOST

The greatest FIELD of the rows of TABLE whose KEY is VALUE (a number), ends with it (code, ":12 f")
or contains it lies between LEAST and MOST.
"""

import json
import sys


def is_it(got, wanted):
    if not isinstance(got, str):
        return str(got) == wanted
    return got.endswith(wanted) or (":" not in wanted and wanted in got)


def main():
    path, _, table, key, value, field, least, most = sys.argv[1:]
    rows = [json.loads(line) for line in open(path)]
    rows = [row for row in rows if row["table"] == table]
    found = [row for row in rows if is_it(row[key], value)]
    figure = max((row[field] or 0 for row in found), default=None)
    if figure is None or not int(least) <= figure <= int(most):
        print("%s of '%s' in %s: %s, not %s to %s" % (field, value, table, figure, least, most))
        for row in rows[:20]:
            print(row)
        sys.exit(1)


main()
