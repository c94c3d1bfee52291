# SPDX-License-Identifier: Apache-2.0
"""read_rows.py RUN ROWS.jsonl: every table of every view by the library, all rows, as -f jsonl has them.

Read through the C structs alone, so that it needs no package.
"""

import decimal
import json
import math
import sys

import trainprof
from trainprof.rows import stream_rows


def fields(table):
    """(name, format, unit) of each, and the rows."""
    return stream_rows(table.__arrow_c_stream__())


def is_same(ours, theirs, unit):
    if unit in ("text", "place"):
        return str(theirs) == (ours or "")
    if isinstance(theirs, str) or theirs is None:
        return ours is None
    if unit in ("real", "percent", "bar"):
        # jsonl has six figures of percent, and as many decimals of a real number as people are shown.
        exponent = theirs.as_tuple().exponent if isinstance(theirs, decimal.Decimal) else 0
        return ours is not None and math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=0.51 * 10**exponent)
    return ours == theirs


def main(path, rows):
    theirs = {}
    for line in open(rows):
        row = json.loads(line, parse_float=decimal.Decimal)
        theirs.setdefault(row.pop("table"), []).append(row)
    run, n_rows = trainprof.open(path), 0
    for name in run.tables:
        columns, ours = fields(run[name])
        if not run[name].view:
            continue
        wanted = theirs.pop(name, [])
        assert len(ours) == len(wanted), (name, len(ours), len(wanted))
        for a, b in zip(ours, wanted):
            assert b.keys() <= a.keys(), (name, b.keys() - a.keys())
            for field, _, unit in columns:
                if field in b:
                    assert is_same(a[field], b[field], unit), (name, field, a[field], b[field])
                else:
                    assert a[field] is None, (name, field, a[field])
        n_rows += len(ours)
    assert not theirs, theirs.keys()
    assert n_rows > 20, n_rows
    print(n_rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
