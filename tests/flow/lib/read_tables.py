# SPDX-License-Identifier: Apache-2.0
"""read_tables.py RUN PAGE: tables of the library alone, against each other, the text and the manual."""

import re
import sys

import trainprof
from read_rows import fields, stream_rows


def main(path, page):
    run, other = trainprof.open(path), trainprof.open(path, ranks="1")
    told, table = {}, None
    for line in open(page).read().partition(".Sh TABLES")[2].splitlines():
        table = line[4:] if line.startswith(".Ss ") else table
        found = re.match(r"\.It Li (\w+) Pq (\w+)", line)
        if found:
            told.setdefault(table, []).append(found.groups())
    rows = {}
    for name in [name for name in run.tables if not run[name].view]:
        columns, rows[name] = fields(run[name])
        assert told.pop(name) == [(field, unit) for field, _, unit in columns], (name, columns)
    assert not told, told
    # Spans: the parent is a span of the same thread that began before and holds this one's begin.
    spans = {row["id"]: row for row in rows["spans"]}
    children = [row for row in rows["spans"] if row["parent"] is not None]
    assert len(spans) == len(rows["spans"]) > 100 and children
    for row in children:
        parent = spans[row["parent"]]
        assert (parent["pid"], parent["tid"], parent["depth"] + 1) == (row["pid"], row["tid"], row["depth"])
        assert parent["begin_ns"] <= row["begin_ns"] <= parent["begin_ns"] + parent["dur_ns"]
    # Each has its step, its line, and less time of its own than in all.
    assert {row["step"] for row in children} - {None} and {row["line"] for row in children} - {None}
    assert all(0 <= row["self_ns"] <= row["dur_ns"] for row in children if not row["merged"])
    # Operators: as the view counts them.
    told_of = {row["operator"]: (row["calls"], row["self_ns"], row["total_ns"], row["self_bytes"])
               for row in fields(run["operator"])[1]}
    found = {}
    for row in rows["spans"]:
        if not row["merged"]:
            figures = (1, row["self_ns"] or 0, row["dur_ns"], row["self_bytes"] or 0)
            found[row["name"]] = tuple(map(sum, zip(found.get(row["name"], (0, 0, 0, 0)), figures)))
    assert found == told_of, {name for name in found.keys() | told_of if found.get(name) != told_of.get(name)}
    # Device work: as often and as long as the view says, each with its call.
    kernels = [row for row in rows["kernels"] if row["kind"] == "kernel"]
    _, view = fields(run["kernel"])
    assert len(kernels) == sum(row["calls"] for row in view) > 10
    assert sum(row["dur_ns"] for row in kernels) == sum(row["total_ns"] for row in view)
    assert all(row["launch"] and row["operator"] == spans[row["span"]]["name"] for row in kernels)
    assert all(row["step"] == spans[row["span"]]["step"] for row in kernels)
    # Blocks of tensors: lives that do not begin before their window, in bytes that were allocated.
    assert rows["tensors"] and all(row["bytes"] > 0 and row["dur_ns"] >= 0 for row in rows["tensors"])
    # What others name by number is there: stacks with their innermost frame.
    frames = {(row["stack"], row["depth"]): row for row in rows["stacks"]}
    named = [row for name in ("spans", "tensors") for row in rows[name] if row["stack"] is not None]
    assert named
    for row in named:
        frame = frames[row["stack"], 0]
        assert (frame["function"], frame["file"], frame["line"]) == (row["function"], row["file"], row["line"])
    assert {row["name"] for row in rows["spans"]} <= {row["text"] for row in rows["strings"]}
    assert {row["name"] for row in rows["counters"]} >= {"core"}
    # Events: all that the ranks have; of a column alone the same.
    assert {row["rank"] for row in rows["events"]} == {0, 1}
    _, alone = fields(run["events"].select("dur_ns", "name"))
    assert alone == [{"dur_ns": row["dur_ns"], "name": row["name"]} for row in rows["events"]]
    _, few = fields(run["steps"].select("step"))
    assert few == [{"step": row["step"]} for row in fields(run["steps"])[1]] and few
    _, ours = fields(other["events"])
    theirs = [dict(row, process_at=0) for row in rows["events"] if row["rank"] == 1]
    # What is chosen has a time 0 of its own.
    later = theirs[0]["begin_ns"] - ours[0]["begin_ns"]
    assert ours == [dict(row, begin_ns=row["begin_ns"] - later) for row in theirs]
    # Of steps that are chosen, in order of time: the same events as all that lie in them.
    step = fields(run["steps"])[1][1]["step"]
    chosen = trainprof.open(path, steps=str(step))
    assert 0 < len(fields(chosen["events"])[1]) < len(rows["events"])
    assert {row["step"] for row in fields(chosen["spans"])[1]} <= {step, None}
    zero = [fields(it["processes"])[1][0]["zero_real_ns"] for it in (run, other)]
    assert later == zero[1] - zero[0], (later, zero)
    shown = run._repr_html_()
    assert run.text("operator").strip() and shown.count("<table>") == shown.count("</table>") > 2
    for row in fields(run["step_breakdown"])[1][:5]:
        assert "title='%d'" % row["time_ns"] in shown, row
    # A stream that was got before the run is closed may be read, or dropped unread or half read.
    capsule, unread = run["spans"].__arrow_c_stream__(), run["spans"].__arrow_c_stream__()
    run.close()
    assert stream_rows(capsule)[1] == rows["spans"]
    del capsule, unread
    for wrong in (lambda: run["events"].__arrow_c_stream__(), lambda: other["spans"].select("x").__arrow_c_stream__(), lambda: trainprof.open("/nothing/there"),
                  lambda: trainprof.open(path, ranks="x")):
        try:
            wrong()
        except trainprof.Error as error:
            assert path in str(error) or "/nothing/there" in str(error), error
        else:
            raise AssertionError("no error")


if __name__ == "__main__":
    main(*sys.argv[1:])
