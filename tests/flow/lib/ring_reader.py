#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ring_reader.py - reads the ring of a dead process, independently of the merge

usage: ring_reader.py RUN_FOLDER

A second implementation of runtime/trace/ring_layout.h, from its text, to test the merge
against. Prints JSON, one object a ring found in the folder (or behind a link there):

  events      {"name": count} of every record that a merge must show: those in the trace
              files of the ring's process and those still in the ring, each once
  files       how many of them are in trace files, by path
  heap        how many of the events are of host memory
  open        [[tid, depth, name], ...]: what each thread was inside of, in a window that is not written
  steps       finished steps of the run
"""

import collections
import glob
import json
import os
import struct
import sys

RING_MAGIC = 0x31474E5250545054
FILE_MAGIC = 0x0A1A0A0D31545054
BLOCK_MAGIC = 0x4B4C4254
SPANS = {1: "op", 2: "range", 3: "step"}
KINDS = {1: "op", 2: "range", 3: "step", 4: "alloc", 5: "free", 6: "totals", 7: "counter",
         8: "mark", 18: "heapalloc", 19: "heapfree", 20: "map", 21: "unmap", 22: "frame"}
FRAME = 22
HEAP_KINDS = [KINDS[kind] for kind in range(18, 23)]
STRING_OP = 2
CHUNK_BYTES, SLOT_BYTES, WINDOWS, OPEN_SPANS = 65536, 1024, 8, 56
META, STRINGS, THREADS, EVENTS, LONG, END, HEAP = range(1, 8)


class Fields:
    """Reads a C struct in order, aligned as a 64-bit compiler does."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, code, n=1):
        size = struct.calcsize(code)
        self.at = (self.at + size - 1) // size * size
        values = struct.unpack_from("<%d%s" % (n, code), self.data, self.at)
        self.at += size * n
        return values[0] if n == 1 else values

    def text(self, n):
        self.at += n
        return self.data[self.at - n:self.at].split(b"\0")[0].decode("utf-8", "replace")


def read_head(data):
    f, head = Fields(data), {}
    head["magic"], head["version"] = f.take("Q"), f.take("I")
    head["n_slots"], head["n_steps"], head["n_chunks"] = f.take("I", 3)
    head["slots_at"], head["steps_at"], head["names_at"], head["chunks_at"] = f.take("Q", 4)
    head["names_bytes"], head["file_bytes"] = f.take("Q", 2)
    f.take("Q", 2)
    head["run_id"], head["process_start"] = f.take("Q", 2)
    head["pid"], head["ppid"] = f.take("I", 2)
    head["rank"], _, _, _ = f.take("i", 4)
    f.take("I", 2)
    f.take("Q", 8)
    head["names_used"], head["names_lost"], head["dropped"] = f.take("Q", 3)
    head["steps_done"], head["steps_drained"], head["chunk_sequence"] = f.take("Q", 3)
    head["pass_done"] = f.take("Q")
    head["pass_bytes"] = f.take("Q", 2)
    head["pass_window"] = f.take("I", 2)
    head["windows_begun"], head["windows_written"] = f.take("I", 2)
    head["windows"] = []
    for _ in range(WINDOWS):
        begin, end, _, _ = f.take("Q", 4)
        f.take("I", 2)
        f.take("Q")
        head["windows"].append((begin, end))
    head["phase"], head["is_closed"] = f.take("I", 2)
    f.take("I", 2)
    f.take("Q")
    f.take("I", 2)
    head["trace_path"], head["ledger_path"] = f.text(512), f.text(512)
    return head


def name_of(data, head, name_id):
    if name_id == 0 or 8 * name_id + 8 > head["names_used"]:
        return "" if name_id == 0 else "(bad id %d)" % name_id
    at = head["names_at"] + 8 * name_id
    n_bytes, kind = struct.unpack_from("<II", data, at)
    raw = data[at + 8:at + 8 + n_bytes]
    if kind == STRING_OP:
        name, _, overload = raw.partition(b"\0")
        raw = name
    return raw.split(b"\0")[0].decode("utf-8", "replace")


def window_of(head, end_time, kind):
    """The window that a record which ended then belongs to, or None: thrown away."""
    for w in range(head["windows_written"], head["windows_begun"]):
        begin, end = head["windows"][w % WINDOWS]
        if (begin <= end_time or kind == FRAME) and (end == 0 or end_time <= end):
            return w
    return None


def ring_events(data, head):
    """Records that are only in the ring: Counter of (kind, name)."""
    events = collections.Counter()
    for at in range(head["chunks_at"], head["chunks_at"] + head["n_chunks"] * CHUNK_BYTES,
                    CHUNK_BYTES):
        _, state, _, published, drained, _, taken, pass_no = struct.unpack_from(
            "<IIQIIIIQ", data, at)
        if state == 0:
            continue
        first = taken if pass_no and pass_no <= head["pass_done"] else drained
        for i in range(first, published):
            time, lo, hi, kind, _, name, _, _ = struct.unpack_from(
                "<QIHBBIIQ", data, at + 64 + 32 * i)
            end = time + (lo | hi << 32 if kind in SPANS else 0)
            if window_of(head, end, kind) is not None:
                events[KINDS.get(kind, "?"), name_of(data, head, name)] += 1
    return events


def blocks_of(data):
    """(offset, type, n_items, end offset) of each whole block of a trace file."""
    at = struct.unpack_from("<I", data, 12)[0]
    while at + 128 <= len(data):
        magic, kind, _, head_bytes, n_items, _, stored = struct.unpack_from("<IBBHIII", data, at)
        if magic != BLOCK_MAGIC or at + head_bytes + stored > len(data):
            return
        yield at, kind, n_items, at + head_bytes + stored
        at += head_bytes + stored


def file_events(path, head, types=(EVENTS, LONG, HEAP)):
    """How many events of the file count, by the rules at the top of ring_layout.h."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 128 or struct.unpack_from("<Q", data)[0] != FILE_MAGIC:
        return 0
    run_id, _, window = struct.unpack_from("<QII", data, 32)
    if run_id != head["run_id"]:
        return 0
    blocks = list(blocks_of(data))
    limit = len(data)
    if window >= head["windows_written"] and not any(b[1] == END for b in blocks):
        at = head["pass_done"] & 1
        limit = head["pass_bytes"][at] if head["pass_window"][at] == window + 1 else 0
    return sum(n for _, kind, n, end in blocks if kind in types and end <= limit)


def read_ring(path, folder):
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 4096 or struct.unpack_from("<Q", data)[0] != RING_MAGIC:
        return None
    head = read_head(data)
    in_ring = ring_events(data, head)
    files, heap = {}, sum(n for (kind, _), n in in_ring.items() if kind in HEAP_KINDS)
    for trace in sorted(glob.glob(os.path.join(folder, "**", "*.tpt*"), recursive=True)):
        if os.path.realpath(trace) != os.path.realpath(path):
            n = file_events(trace, head)
            if n:
                files[trace] = n
            heap += file_events(trace, head, (HEAP,))
    still_open = []
    for slot in range(head["n_slots"]):
        at = head["slots_at"] + slot * SLOT_BYTES
        tid, is_dead, _, depth = struct.unpack_from("<IIII", data, at)
        # Between windows nobody follows them.
        if not tid or is_dead or head["windows_begun"] == head["windows_written"]:
            continue
        for d in range(min(depth, OPEN_SPANS)):
            time, name, kind = struct.unpack_from("<QII", data, at + 128 + 16 * d)
            if time:
                still_open.append([tid, d, name_of(data, head, name)])
    return {
        "path": path, "pid": head["pid"], "rank": head["rank"], "steps": head["steps_done"],
        "closed": head["is_closed"], "dropped": head["dropped"],
        "windows": [head["windows_begun"], head["windows_written"]],
        "in_ring": sum(in_ring.values()),
        "ring_kinds": collections.Counter(kind for (kind, _), n in in_ring.items()
                                          for _ in range(n)),
        "ring_names": collections.Counter(name for (kind, name), n in in_ring.items()
                                          if kind in ("op", "range") for _ in range(n)),
        "files": files, "heap": heap,
        "events": sum(in_ring.values()) + sum(files.values()),
        "open": still_open,
    }


def find_rings(folder):
    for path in sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True)):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read(8) == struct.pack("<Q", RING_MAGIC):
                    yield path


def main():
    folder = sys.argv[1]
    rings = [read_ring(path, folder) for path in find_rings(folder)]
    json.dump([ring for ring in rings if ring], sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
