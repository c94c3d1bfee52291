#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_curve.py - the curves of a device's use beside its kernels, all from one timeline

usage: gpu_curve.py NODE.json.gz NODE.pftrace.gz
       gpu_curve.py without TRACE.json.gz OUT.json	(TRACE without its device)

Between two points of a curve lies the mean of that time: of any kernel running, and of
min(blocks by multiprocessors of those that run, 1). Perfetto's file must have the same points.
Prints TAP lines, without the plan.
"""
import gzip
import json
import sys

CURVES = ("time with a kernel", "SM efficiency (estimated)")
NEAR = 0.011	# percent
PIECES = 1000
DELTA_CLOCK = 64


def load(path):
    with gzip.open(path) as file:
        return json.load(file)


def ns(us):
    return round(us * 1000)


def say(what, wrong):
    print("%sok - %s" % ("not " if wrong else "", what))
    for text in wrong[:6]:
        print("# %s" % (text,))


def load_of(kernels, edges, multiprocessors):
    """[(begin, end, is busy, efficiency)] between all edges."""
    edges = sorted(set(edges) | {t for k in kernels for t in k[:2]})
    waiting = sorted(kernels, reverse=True)
    running, found = [], []
    for a, b in zip(edges, edges[1:]):
        while waiting and waiting[-1][0] <= a:
            running.append(waiting.pop())
        running = [k for k in running if k[1] >= b]
        blocks = sum(k[2] for k in running) / multiprocessors if multiprocessors else 0
        found.append((a, b, bool(running), min(1, blocks)))
    return found


def means(points, load, at):
    """What points should say: the mean between each and the next."""
    wanted, place = [], 0
    for (a, _), (b, _) in zip(points, points[1:]):
        total = 0
        while place < len(load) and load[place][0] < b:
            if load[place][0] >= a:
                total += (load[place][1] - load[place][0]) * load[place][at]
            place += 1
        wanted.append(100 * total / (b - a))
    return wanted


def curves(trace):
    found = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "C" and event["name"] in CURVES:
            found.setdefault((event["pid"], event["name"]), []).append(
                (ns(event["ts"]), event["args"]["%"]))
    return found


def check(trace, found):
    devices = {device["id"]: device for device in trace.get("deviceProperties", ())}
    kernels = {}
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel":
            grid, begin = event["args"].get("grid", (0, 0, 0)), ns(event["ts"])
            of = kernels.setdefault(event["pid"], (event["args"]["device"], []))[1]
            of.append((begin, begin + ns(event["dur"]), grid[0] * grid[1] * grid[2]))
    say("a curve of each device that ran kernels, %d of them" % len(kernels),
        sorted(set(kernels) ^ {pid for pid, name in found if name == CURVES[0]}))
    for (pid, name), points in sorted(found.items()):
        device, of = kernels[pid]
        times = [t for t, _ in points]
        wrong = [] if times == sorted(set(times)) and len(points) > 2 else ["order of points"]
        if len(points) > PIECES + 10 or points[-1][1] != 0:
            wrong.append("%d points, the last one %s" % (len(points), points[-1]))
        load = load_of(of, times, devices.get(device, {}).get("numSms", 0))
        wanted = means(points, load, 2 + CURVES.index(name))
        wrong += ["at %d ns: %s, not %.3f" % (t, value, want)
                  for (t, value), want in zip(points, wanted) if abs(value - want) > NEAR]
        say("%s: %d points, %.2f %% on average" % (
            name, len(points), sum(w * (b - a) for w, a, b in zip(wanted, times, times[1:])) /
            (times[-1] - times[0])), wrong)


def perfetto_points(path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
    trace, names, at, found = pb.Trace(), {}, {}, {}
    with gzip.open(path) as file:
        trace.ParseFromString(file.read())
    for packet in trace.packet:
        sequence, event = packet.trusted_packet_sequence_id, packet.track_event
        for clock in packet.clock_snapshot.clocks:
            if clock.clock_id == DELTA_CLOCK:
                at[sequence] = clock.timestamp
        if packet.HasField("track_descriptor"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event") and not packet.timestamp_clock_id:
            at[sequence] += packet.timestamp
            name = names[event.track_uuid].name if event.track_uuid in names else ""
            if event.type == pb.TrackEvent.TYPE_COUNTER and name in CURVES:
                found.setdefault((event.track_uuid, name), []).append(
                    (at[sequence], event.double_counter_value))
    return found


def main():
    if sys.argv[1] == "without":
        trace = load(sys.argv[2])
        trace["traceEvents"] = [event for event in trace["traceEvents"]
                                if "stream" not in event.get("args", {})]
        with open(sys.argv[3], "w", encoding="utf-8") as file:
            json.dump(trace, file)
        return
    trace = load(sys.argv[1])
    found = curves(trace)
    check(trace, found)
    try:
        theirs = perfetto_points(sys.argv[2])
    except ImportError as error:
        print("ok - Perfetto's points # SKIP %s" % error)
        return
    first = min(points[0][0] for points in theirs.values())
    zero = min(points[0][0] for points in found.values())

    def plain(points, base):
        return sorted((name, [(t - base, value) for t, value in of])
                      for (_, name), of in points.items())

    say("Perfetto's file has the same points",
        [] if plain(found, zero) == plain(theirs, first) else ["others"])


if __name__ == "__main__":
    main()
