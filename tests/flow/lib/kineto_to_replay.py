#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kineto_to_replay.py - a Kineto trace of a GPU training -> a replay file for tests/progs/replay

usage: kineto_to_replay.py [--cupti VERSION] TRACE.json[.gz] OUT.replay

What was carried, and what could not be, is printed on standard error, a line each. What a
replay file holds is told in man/trainprof-replay.5.

Not carried because it follows from what is: flows (correlation, sequence numbers), ranges
repeated on the device's row (gpu_user_annotation), External ids (nesting in time), bandwidth,
occupancy.
"""
import argparse
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kineto_read  # noqa: E402
import replay_file  # noqa: E402
from kineto_read import whole  # noqa: E402

DEFAULT_CUPTI = 130000
OLDEST_CUPTI = 18
SYNC = {"Context Sync": "context", "Stream Sync": "stream", "Event Sync": "event",
        "Stream Wait Event": "stream_wait"}
# Where a trace tells no properties of its devices, the number of multiprocessors follows from
# its kernels (grid / blocks per SM), and names the architecture.
KNOWN_SMS = {56: "6.0", 80: "7.0", 108: "8.0", 132: "9.0"}
DERIVED = {"ac2g", "fwdbwd", "forward_backward", "async", "async_gpu", "async_cpu_to_gpu",
           "gpu_user_annotation", "Trace", "critical_path", "Record Window End"}


class Counts:
    def __init__(self):
        self.carried = collections.Counter()
        self.left = collections.Counter()
        self.changed = collections.Counter()

    def __str__(self):
        lines = []
        for title, counts in (("carried", self.carried), ("changed", self.changed),
                              ("not carried", self.left)):
            lines += ["%s: %d %s" % (title, n, what) for what, n in sorted(counts.items())]
        return "\n".join(lines)


def compact(value):
    """A JSON array as Kineto wrote it, on one line; None where there is none."""
    if value is None or value == "" or value == []:
        return None
    return json.dumps(value, separators=(",", ":"), default=float, ensure_ascii=False)


def triple(values):
    return ",".join(str(whole(v, 1)) for v in values) if values else None


class Threads:
    """Small distinct numbers for threads: their own tid, unless two processes use the same."""

    def __init__(self, events):
        self.numbers = {}
        taken = set()
        for event in sorted(events, key=lambda e: e.start):
            key = kineto_read.thread_of(event)
            if key in self.numbers:
                continue
            number = key[1] if isinstance(key[1], int) and key[1] > 0 else 1
            while number in taken:
                number += 1
            taken.add(number)
            self.numbers[key] = number

    def of(self, event):
        return self.numbers[kineto_read.thread_of(event)]


def nest(events, counts):
    """Ends of ranges and calls of one thread, so that they nest: {event.at: end}."""
    threads = collections.defaultdict(list)
    for event in events:
        threads[kineto_read.thread_of(event)].append(event)
    ends = {}
    for of_thread in threads.values():
        of_thread.sort(key=host_order)
        open_ends = []
        for event in of_thread:
            while open_ends and open_ends[-1] <= event.start:
                open_ends.pop()
            end = event.end
            if open_ends and end > open_ends[-1]:
                counts.changed["%s that crossed its parent, cut to it" % event.kind] += 1
                end = open_ends[-1]
            ends[event.at] = end
            open_ends.append(end)
    return ends


def host_order(event):
    external = event.external() if event.kind == "range" else None
    return (event.start, event.start - event.end, 0 if event.kind == "range" else 1,
            external if isinstance(external, int) else 0, event.at)


def devices(trace, kernels):
    """Lines of the devices: told by the trace, else what its kernels tell."""
    told = trace.get("deviceProperties") or []
    for device in told:
        cc = "%s.%s" % (device.get("computeMajor", 0), device.get("computeMinor", 0))
        yield replay_file.line(
            "device", id=device.get("id", 0), name=device.get("name"), sms=device.get("numSms"),
            cc=cc, mem=device.get("totalGlobalMem"), warp=device.get("warpSize"),
            max_threads_sm=device.get("maxThreadsPerMultiprocessor"),
            max_regs_sm=device.get("regsPerMultiprocessor"),
            max_smem_sm=device.get("sharedMemPerMultiprocessor",
                                   device.get("maxSharedMemoryPerMultiProcessor")),
            max_threads_block=device.get("maxThreadsPerBlock"),
            max_regs_block=device.get("regsPerBlock"),
            max_smem_block=device.get("sharedMemPerBlock"),
            max_smem_optin=device.get("sharedMemPerBlockOptin"))
    known = {whole(device.get("id"), 0) for device in told}
    for number in sorted({event.device() for event in kernels} - known):
        of_device = [event for event in kernels if event.device() == number]
        sms = multiprocessors(of_device)
        yield replay_file.line("device", id=number, name="GPU %d" % number, sms=sms,
                               cc=KNOWN_SMS.get(sms), warp=32, max_threads_sm=2048,
                               max_threads_block=1024, max_regs_sm=65536, max_regs_block=65536,
                               max_smem_block=49152)


def multiprocessors(kernels):
    for event in kernels:
        per_sm = float(event.args.get("blocks per SM") or 0)
        grid = event.args.get("grid")
        if per_sm >= 1 and grid:
            return round(whole(grid[0], 1) * whole(grid[1], 1) * whole(grid[2], 1) / per_sm)
    return None


def range_line(event, tid, start, end):
    args = event.args
    cat = event.cat.lower()
    if cat == "operator":
        cat = "user_annotation" if event.name.startswith("ProfilerStep#") else "cpu_op"
    return replay_file.line(
        "range", tid=tid, start=start, end=end, name=event.name, cat=cat,
        seq=whole(args.get("Sequence number"), None),
        fwd_tid=whole(args.get("Fwd thread id"), None),
        shapes=compact(args.get("Input Dims")), dtypes=compact(args.get("Input type")),
        strides=compact(args.get("Input Strides")), values=compact(args.get("Concrete Inputs")),
        stack=args.get("Call stack") or None)


def memory_line(event, tid, at):
    args = event.args
    size = whole(args.get("Bytes"), 0)
    on_device = whole(args.get("Device Type"), 0) == 1
    return replay_file.line(
        "mem", at=at, tid=tid, op="alloc" if size >= 0 else "free", level="framework",
        addr=whole(args.get("Addr"), None), bytes=abs(size),
        kind="device" if on_device else "host",
        device=whole(args.get("Device Id"), 0) if on_device else None,
        total_allocated=whole(args.get("Total Allocated"), None),
        total_reserved=whole(args.get("Total Reserved"), None))


def copy_line(event, start, end, calls):
    args = event.args
    said = re.match(r"Memcpy (\w+)(?: \((\w+) -> (\w+)\))?", event.name)
    kind, source, target = said.groups() if said else (args.get("kind"), None, None)
    call = calls.get(event.correlation())
    return replay_file.line(
        "memcpy", start=start, end=end, corr=event.correlation(), device=event.device(),
        context=whole(args.get("context"), 1), stream=event.stream(),
        bytes=whole(args.get("bytes"), whole(call and call.args.get("size"), 0)),
        kind=kind or "HtoD", src=source and source.lower(), dst=target and target.lower(),
        **{"async": int(bool(call) and "Async" in call.name)})


def set_line(event, start, end):
    args = event.args
    kind = re.match(r"Memset \((\w+)\)", event.name)
    return replay_file.line(
        "memset", start=start, end=end, corr=event.correlation(), device=event.device(),
        context=whole(args.get("context"), 1), stream=event.stream(),
        bytes=whole(args.get("bytes"), 0), value=whole(args.get("value"), 0),
        memkind=kind.group(1).lower() if kind else None)


def kernel_line(event, start, end, calls):
    args = event.args
    call = calls.get(event.correlation())
    launch = args if "grid" in args else call.args if call else {}     # AMD's: with the call
    graph = whole(args.get("graph id"), 0)
    return replay_file.line(
        "kernel", start=start, end=end, corr=event.correlation(), device=event.device(),
        context=whole(args.get("context"), 1), stream=event.stream(), name=event.name,
        grid=triple(launch.get("grid")), block=triple(launch.get("block")),
        regs=whole(args.get("registers per thread"), None), smem_static=0,
        smem_dynamic=whole(launch.get("shared memory"), 0),
        graph=graph or None, graph_node=whole(args.get("graph node id"), None),
        queued=whole(args.get("queued"), 0) or None)


def sync_line(event, start, end):
    args = event.args
    return replay_file.line(
        "sync", start=start, end=end, corr=event.correlation(), device=event.device(),
        context=whole(args.get("context"), 1), stream=event.stream(),
        kind=SYNC.get(args.get("cuda_sync_kind", event.name), "context"),
        event=whole(args.get("wait_on_cuda_event_id"), None),
        event_corr=whole(args.get("wait_on_cuda_event_record_corr_id"), None),
        wait_stream=whole(args.get("wait_on_stream"), None))


def convert(trace, cupti=None):
    """(lines, counts) of a loaded trace."""
    counts = Counts()
    events, memory, others = kineto_read.events_of(trace)
    for what, n in others.items():
        if what not in DERIVED and not what.startswith("Iteration Start:"):
            counts.left[what] += n
    host = [e for e in events if e.kind in ("range", "api")]
    on_device = [e for e in events if e.kind in kineto_read.DEVICE_KINDS]
    zero = min((e.start for e in events + memory), default=0)
    threads = Threads(host + memory)
    ends = nest(host, counts)
    calls = {e.correlation(): e for e in host if e.kind == "api"}

    rows = []       # (start, -length, order, order within), line
    for event in host:
        tid, start, end = threads.of(event), event.start - zero, ends[event.at] - zero
        text = (range_line(event, tid, start, end) if event.kind == "range" else
                replay_file.line("api", tid=tid, start=start, end=end, corr=event.correlation(),
                                 name=event.name,
                                 domain="driver" if "driver" in event.cat.lower() else "runtime"))
        order = host_order(event)
        rows.append(((start, start - end) + order[2:], text))
        counts.carried[event.kind] += 1
    for event in memory:
        start = event.start - zero
        rows.append(((start, 0, 2, 0, event.at), memory_line(event, threads.of(event), start)))
        counts.carried["mem"] += 1
    for event in on_device:
        start, end = event.start - zero, event.end - zero
        text = {"kernel": lambda: kernel_line(event, start, end, calls),
                "memcpy": lambda: copy_line(event, start, end, calls),
                "memset": lambda: set_line(event, start, end),
                "sync": lambda: sync_line(event, start, end)}[event.kind]()
        rows.append(((start, start - end, 3, 0, event.at), text))
        counts.carried[event.kind] += 1
        if event.correlation() not in calls:
            counts.carried["... of these without a call"] += 1
    for event in events:
        if event.kind == "overhead":
            start, end = event.start - zero, event.end - zero
            rows.append(((start, start - end, 4, 0, event.at), replay_file.line(
                "overhead", start=start, end=end, kind=event.name.lower().replace(" ", "_"))))
            counts.carried["overhead"] += 1
    rows.sort(key=lambda row: row[0])

    info = trace.get("distributedInfo") or {}
    rank = whole(info.get("rank"), 0)
    version = cupti or whole(trace.get("cupti_version"), 0)
    if version < OLDEST_CUPTI:
        version = DEFAULT_CUPTI
    pids = collections.Counter(whole(e.pid, 0) for e in host)
    lines = [
        replay_file.FIRST_LINE,
        "# zero_ns=%d" % zero,
        replay_file.line("run", rank=rank,
                         world_size=max(whole(info.get("world_size"), 1), rank + 1),
                         backend=info.get("backend"),
                         pid=pids.most_common(1)[0][0] if pids else None,
                         host=trace.get("host_name")),
        replay_file.line("cupti", version=version,
                         runtime=whole(trace.get("cuda_runtime_version"), None),
                         driver=whole(trace.get("cuda_driver_version"), None)),
    ]
    lines += devices(trace, [e for e in on_device if e.kind == "kernel"])
    names = thread_names(trace)
    lines += [replay_file.line("thread", tid=number, name=names.get(key))
              for key, number in threads.numbers.items()]
    lines += [text for _, text in rows]
    return lines, counts


def thread_names(trace):
    return {(whole(raw.get("pid"), raw.get("pid")), whole(raw.get("tid"), raw.get("tid"))):
            (raw.get("args") or {}).get("name")
            for raw in trace.get("traceEvents", ())
            if raw.get("ph") == "M" and raw.get("name") == "thread_name"}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][len("usage: "):])
    parser.add_argument("--cupti", type=int)
    parser.add_argument("trace")
    parser.add_argument("out")
    options = parser.parse_args()
    try:
        lines, counts = convert(kineto_read.load(options.trace), options.cupti)
    except (OSError, ValueError) as error:
        sys.exit("kineto_to_replay: cannot read '%s': %s" % (options.trace, error))
    with open(options.out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print(counts, file=sys.stderr)


if __name__ == "__main__":
    main()
