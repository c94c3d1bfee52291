# SPDX-License-Identifier: Apache-2.0
"""sql_rows.py RUN [QUERY...]: every ready query by DuckDB, all its rows as the views have them; the queries
that are named have some."""

import sys

import duckdb

import trainprof


def ask(run, name):
    cursor = run.query(name)
    fields = [it[0] for it in cursor.description]
    return [dict(zip(fields, row)) for row in cursor.fetchall()]


def view(run, table, *fields):
    connection = duckdb.connect()
    connection.register("t", run[table])
    rows = connection.execute("SELECT * FROM t").fetchall()
    names = [it[0] for it in connection.description]
    return [{field: row[names.index(field)] for field in fields or names} for row in rows]


def sort(rows):
    return sorted(rows, key=repr)


def check(name, ours, theirs):
    """All rows, in any order; figures to the nanosecond and byte."""
    ours, theirs = sort(ours), sort(theirs)
    differ = [(a, b) for a, b in zip(ours, theirs) if a != b]
    assert not differ and len(ours) == len(theirs), (name, len(ours), len(theirs), differ[:2])
    print("%s: %d rows" % (name, len(ours)))


def main(path, *with_rows):
    run = trainprof.open(path)
    asked = {name: ask(run, name) for name in run.queries}
    for name in with_rows:
        assert asked[name], name + ": no rows"

    def same(name, table, *fields, keep=lambda row: True, zero=()):
        theirs = view(run, table, *fields)
        for row in theirs:
            row.update((field, 0) for field in zero if row[field] is None)
            row.update((field, None) for field in fields if row[field] == "?")
        check(name, [{field: row[field] for field in fields} for row in asked.pop(name)],
              [row for row in theirs if keep(row)])

    same("breakdown", "step_breakdown", "process", "step", "time_ns", "kernel_ns", "memcpy_ns", "memset_ns",
         "communication_ns", "runtime_ns", "data_ns", "cpu_ns", "other_ns")
    same("operators", "operator", "operator", "calls", "self_ns", "total_ns", "self_bytes", "device_self_ns",
         "device_total_ns", zero=("self_bytes", "device_self_ns", "device_total_ns"))
    same("kernels", "kernel", "kernel", "calls", "total_ns", "mean_ns", "min_ns", "max_ns")
    same("collectives", "collectives", "collective", "bytes", "dtype", "group", "for", "ranks", "calls",
         "matched", "mean_ns", "wait_ns", "move_ns")
    same("ranks", "comm_ranks", "rank", "steps", "waited_ns", "late_max_ns")
    memory(run, asked.pop("memory"))
    assert not asked, asked.keys()


def memory(run, ours):
    """The view: a row for each category of each device; the process and device are texts of it."""
    theirs = view(run, "tensor_categories")
    check("memory", [{"category": row["category"], "bytes": row["peak_bytes"]} for row in ours],
          [{"category": row["category"], "bytes": row["peak_bytes"]} for row in theirs if row["peak_bytes"]])


if __name__ == "__main__":
    main(*sys.argv[1:])
