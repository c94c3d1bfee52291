#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pystack.py - what one Python stack costs, read by its own thread

usage: pystack.py LIBRARY FOLDER [ROUNDS]     (pystack.sh builds the library)

"unchanged": the same stack again. "one line": the innermost function has gone on to another
line. "calls": three functions have returned and three others been called. Each figure is the
least of the rounds, which noise disturbs least, then their median and quartiles; the public API
and the way to the thread's state stand beside. Goal: at most 60 ns for an unchanged stack of 15.
"""
import ctypes
import statistics
import sys
import time

GOAL_NS, GOAL_DEPTH = 60, 15


def load(path, folder):
    lib = ctypes.PyDLL(path)
    lib.start.restype = ctypes.c_char_p
    for name in ("empty", "many", "states", "ns_a_tick"):
        getattr(lib, name).restype = ctypes.c_double
    lib.once.restype = ctypes.c_uint64
    why = lib.start(folder.encode())
    if why:
        sys.exit("nothing to measure: " + why.decode())
    return lib


def nest(depth, then):
    return then() if depth <= 0 else nest(depth - 1, then)


def own_depth():
    frame, depth = sys._getframe(1), 0
    while frame:
        frame, depth = frame.f_back, depth + 1
    return depth


def at_depth(depth, then):
    """Runs it so that it has `depth` frames, itself included."""
    return nest(depth - own_depth() - 2, then)


def least(measure):
    """Of many short ones: another program may have the processor in any longer one."""
    return min(measure(1000) for _ in range(20))


def two_lines(lib, n):
    once, ticks = lib.once, []
    for _ in range(n):
        ticks.append(once())
        ticks.append(once())
    return statistics.median(ticks)


def calls(lib, n):
    def a(next_one):
        return next_one()

    def b(next_one):
        return next_one()

    def c():
        return lib.once()

    def d():
        return lib.once()
    ticks = []
    for _ in range(n):
        ticks.append(a(lambda: a(c)))
        ticks.append(b(lambda: b(d)))
    return statistics.median(ticks)


def by_public_api(n):
    begin = time.perf_counter_ns()
    for _ in range(n):
        frame = sys._getframe()
        while frame:
            frame.f_code, frame.f_lineno
            frame = frame.f_back
    return (time.perf_counter_ns() - begin) / n


def main():
    lib = load(sys.argv[1], sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 21
    tick = lib.ns_a_tick()
    figures = {}
    # What two readings of the clock take lies in each of the shorter figures.
    clock = min(lib.empty(2000) for _ in range(50))

    def note(what, ns):
        figures.setdefault(what, []).append(ns)

    for _ in range(rounds):
        note(("the thread's state", 0), least(lib.states) * tick)
        for depth in (5, GOAL_DEPTH, 40):
            note(("unchanged", depth), at_depth(depth, lambda: least(lib.many)) * tick)
            note(("one line", depth),
                 (at_depth(depth, lambda: two_lines(lib, 500)) - clock) * tick)
            note(("calls", depth), (at_depth(depth, lambda: calls(lib, 500)) - clock) * tick)
        note(("Python's own API", GOAL_DEPTH), at_depth(GOAL_DEPTH, lambda: by_public_api(300)))
    lib.stop()
    print("%-20s %6s %8s %8s" % ("Python %d.%d" % sys.version_info[:2], "frames", "least", "ns"))
    for (what, depth), values in figures.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print("%-20s %6s %8.1f %8.1f [%.1f..%.1f]" % (
            what, depth or "", min(values), middle, low, high))
    deep = [min(figures["unchanged", n]) for n in (GOAL_DEPTH, 40)]
    print("each frame more, unchanged: %.2f ns" % ((deep[1] - deep[0]) / (40 - GOAL_DEPTH)))
    print("goal: %d ns for %d unchanged frames: %s" % (
        GOAL_NS, GOAL_DEPTH, "met" if deep[0] <= GOAL_NS else "MISSED"))


main()
