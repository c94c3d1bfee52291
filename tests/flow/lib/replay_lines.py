# SPDX-License-Identifier: Apache-2.0
"""replay_lines.py - did a replay do what its file says? By what CUPTI delivered (cupti_lines.c)

usage: replay_lines.py FILE.replay LINES [--repeat N] [--graphs]

Device records must be those of the file, moved by one and the same time, to the nanosecond; calls
must be the file's, each thread's in its order and each between its file's times or later.
Prints what differs; exit status 1 then.
"""
import argparse
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import replay_file  # noqa: E402

COPIES = ["unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"]
MEMORY = ["unknown", "pageable", "pinned", "device", "array", "managed"]
SYNCS = ["unknown", "event", "stream_wait", "stream", "context"]
DRIVER = 1 << 31    # ids of calls that the file does not have


def of_file(path, repeat, graphs):
    """(device records, calls by file thread) as tuples without the zero."""
    work, calls, last, most = [], collections.defaultdict(list), 0, 0
    for kind, f in replay_file.read(path):
        start, end = int(f.get("start", f.get("at", 0))), int(f.get("end", f.get("at", 0)))
        last, corr = max(last, end), int(f.get("corr", 0))
        most = max(most, corr)
        place = (f.get("device"), f.get("context"), f.get("stream"))
        if kind == "kernel" and not (graphs and f.get("graph")):
            work.append((kind, start, end, corr, *place, f["name"], f["grid"], f["block"],
                         f.get("regs", "0"), f.get("smem_static", "0"), f.get("smem_dynamic", "0"),
                         f.get("graph", "0"), f.get("graph_node", "0")))
        elif kind == "memcpy":
            work.append((kind, start, end, corr, *place, f["bytes"], str(COPIES.index(f["kind"])),
                         str(MEMORY.index(f["src"])), str(MEMORY.index(f["dst"])), f["async"]))
        elif kind == "memset":
            work.append((kind, start, end, corr, *place, f["bytes"], f["value"]))
        elif kind == "sync":
            work.append((kind, start, end, corr, str(SYNCS.index(f["kind"])), f["context"],
                         f["stream"]))
        elif kind == "overhead":
            work.append((kind, start, end, 0, str(5 << 16)))
        elif kind == "api":
            calls[f["tid"]].append((start, end, corr, f["name"], f.get("ret", "0")))
    span, offset = last + 1, most + 1

    def again(rows, at):
        return [tuple(row[:at]) + (row[at] + n * span, row[at + 1] + n * span,
                                   row[at + 2] + n * offset if row[at + 2] else 0) + row[at + 3:]
                for n in range(repeat) for row in rows]
    return again(work, 1), {tid: again(rows, 0) for tid, rows in calls.items()}


def of_lines(path):
    work, calls = [], collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for text in file:
            kind, *words = text.split()
            if kind in ("kernel", "memcpy", "memset", "sync"):
                work.append((kind, int(words[0]), int(words[1]), int(words[2]), *words[3:]))
            elif kind == "overhead":
                work.append((kind, int(words[0]), int(words[1]), 0, words[2]))
            elif kind == "api":
                start, end, corr, name, tid, ret = words
                calls[tid].append((int(start), int(end), int(corr), re.sub(r"_v\d{4,}$", "", name),
                                   ret))
    return work, calls


def differences(options):
    wanted, wanted_calls = of_file(options.file, options.repeat, options.graphs)
    got, got_calls = of_lines(options.lines)
    if not got:
        return ["nothing was delivered"]
    # The kernel that comes first in both.
    zero = min(row[1] for row in got) - min(row[1] for row in wanted)
    moved = collections.Counter((row[0], row[1] + zero, row[2] + zero) + row[3:] for row in wanted)
    said = ["%+d %s" % (n, " ".join(map(str, row)))
            for row, n in list((moved - collections.Counter(got)).items())]
    said += ["too many: %s" % " ".join(map(str, row))
             for row in (collections.Counter(got) - moved)]

    def order(rows):
        return [(name, ret) for _, _, corr, name, ret in sorted(rows) if corr < DRIVER or
                name.startswith("cudaStream")]
    wanted_orders = sorted(order(rows) for rows in wanted_calls.values())
    got_orders = sorted(order(rows) for rows in got_calls.values())
    if wanted_orders != got_orders:
        said.append("calls: wanted %s, got %s" % (wanted_orders, got_orders))
    starts = {corr: start for rows in wanted_calls.values() for start, _, corr, _, _ in rows if corr}
    for rows in got_calls.values():
        for start, end, corr, name, _ in rows:
            if end < start or (corr in starts and start < starts[corr] + zero):
                said.append("too early: %s %d" % (name, corr))
    return said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("lines")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--graphs", action="store_true")
    said = differences(parser.parse_args())
    print("\n".join(said[:20] + ["%d differences" % len(said)]))
    sys.exit(bool(said))


main()
