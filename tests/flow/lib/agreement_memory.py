# SPDX-License-Identifier: Apache-2.0
"""agreement_memory.py - the plugin's memory view beside ours: see agreement.py

What is allocated at most of each device, the seven columns of its table of operators, and its
events: blocks with size and lifetime.
"""
import collections
import functools

from torch_tb_profiler.profiler.memory_parser import MemoryMetrics

from agreement import Rows

US = 1000.0
NEAR = 1.0		# microseconds; and a part: sums of fractions
NEAR_PART = 1e-6
COLUMNS = (("calls", 6, "calls"), ("size increase", MemoryMetrics.IncreaseSize, "increase_bytes"),
           ("self increase", MemoryMetrics.SelfIncreaseSize, "self_increase_bytes"),
           ("allocations", MemoryMetrics.AllocationCount, "allocations"),
           ("self allocations", MemoryMetrics.SelfAllocationCount, "self_allocations"),
           ("allocation size", MemoryMetrics.AllocationSize, "allocated_bytes"),
           ("self allocation size", MemoryMetrics.SelfAllocationSize, "self_allocated_bytes"))


def device_of(row):
    """Ours as the plugin says it."""
    return row["device"].replace("GPU ", "GPU") if row["device"].startswith("GPU") else "CPU"


def compare(report, merge, trace, shown, names, calls, whole):
    """calls: of each operator, as the plugin's own operator view says. whole(): shown, had it not lost
    backward nodes."""
    snapshot = shown.run.memory_snapshot
    if not snapshot or not any(record.addr is not None for record in snapshot.memory_records):
        return
    views = Rows(merge, [trace], "memory")
    peaks(report, snapshot, views)
    stats(report, snapshot.get_memory_statistics(shown.run.tid2tree), views, names, calls, whole)
    events(report, snapshot, views)


def peaks(report, snapshot, views):
    theirs, ours, reserved, our_reserved = ({}, {}, {}, {})
    for record in snapshot.memory_records:
        if record.total_allocated == record.total_allocated:
            device = record.device_name
            theirs[device] = max(theirs.get(device, 0), record.total_allocated)
            reserved[device] = max(reserved.get(device, 0), record.total_reserved)
    for row in views.table("tensor_curve"):
        device = device_of(row)
        ours[device] = max(ours.get(device, 0), row["bytes"])
        if row.get("reserved_bytes") not in (None, "", "-", "?"):
            our_reserved[device] = max(our_reserved.get(device, 0), row["reserved_bytes"])
    if not theirs:
        return
    report.compare("plugin", "memory", "peak", theirs, ours)
    if our_reserved:
        report.compare("plugin", "memory", "reserved at most",
                       {device: reserved[device] for device in reserved if device in our_reserved},
                       our_reserved)


def stats(report, statistics, views, names, calls, whole):
    theirs, ours = {}, {}

    @functools.cache
    def all_of():
        shown = whole()
        return shown.run.memory_snapshot.get_memory_statistics(shown.run.tid2tree)

    for device, operators in statistics.items():
        for name, row in operators.items():
            theirs[device, name] = row
    for row in views.table("tensor_operators"):
        if row["operator"] in names:
            ours[device_of(row), row["operator"]] = row
    # Their own part differs, too.
    of_own = {key for key, row in theirs.items() if key not in ours or
              row[MemoryMetrics.SelfAllocationCount] != ours[key]["self_allocations"]}
    for figure, at, field in COLUMNS:
        rows = {key: row[at] for key, row in theirs.items()}
        our_rows = {key: row[field] for key, row in ours.items()}
        own = figure.startswith("self") or figure == "size increase"
        is_moved = own and sum(rows.values()) == sum(our_rows.values())

        def known(key, a, b, figure=figure, is_moved=is_moved, at=at):
            """An operator and the overload of its name that it calls are two there; and a block
            freed in the very microsecond in which an operator ends is that one's for us."""
            if figure == "calls" and a is not None and a == calls.get(key[1]):
                return "overload-calls"
            if "increase" in figure and (is_moved or key in moved):
                return "end-of-operator"
            if not figure.startswith("self") and a == 2 * (b or 0) and key not in of_own:
                return "nested"
            row = all_of().get(key[0], {}).get(key[1])
            if row and row[at] != b and figure == "calls" and \
                    b == whole().operators.get(key[1], {}).get("calls"):
                return "idle-calls"
            return "lost-backward" if row and row[at] == b else None

        if figure == "self increase" and is_moved:
            moved = {key for key in rows if rows[key] != our_rows.get(key)}
        elif figure == "size increase":
            moved = {key for key, row in theirs.items() if key in ours and
                     row[MemoryMetrics.SelfIncreaseSize] != ours[key]["self_increase_bytes"]}
        report.compare("plugin", "memory statistics", figure, rows, our_rows, known=known)


def events(report, snapshot, views):
    """Blocks by device and size: how many, and how long those that were freed lived."""
    count, life = collections.Counter(), collections.Counter()
    alive = {}
    for record in snapshot.memory_records:
        if record.addr is None:
            continue
        if record.is_allocation:
            count[record.device_name, record.bytes] += 1
            alive[record.device_name, record.addr] = record
        elif (record.device_name, record.addr) in alive:
            made = alive.pop((record.device_name, record.addr))
            life[made.device_name, made.bytes] += record.ts - made.ts
    our_count, our_life = collections.Counter(), collections.Counter()
    for row in views.table("tensor_blocks"):
        if row["allocated_ns"] in (None, "", "-"):
            continue
        key = device_of(row), row["bytes"]
        our_count[key] += 1
        if isinstance(row["freed_ns"], int):
            our_life[key] += row["lifetime_ns"] / US
    report.compare("plugin", "memory events", "blocks", dict(count), dict(our_count))
    report.compare("plugin", "memory events", "lifetime", dict(life), dict(our_life), NEAR,
                   NEAR_PART)
