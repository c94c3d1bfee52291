#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_events.py - what we add to one operator and to one block of tensor memory

usage: LD_PRELOAD=torch_driver.so TRAINPROF_SCHEDULE=always ... torch_events.py [ROUNDS]

All variants take turns in one process, a few milliseconds each; a figure is the median over the
rounds of the difference to its rival in the same round, per event, with the quartiles; CPU
time of the thread, so that other programs disturb less. The rival of our callback is one that does nothing: torch leaves its fast path for either.
"""
import ctypes
import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

NOTHING, EMPTY, EMPTY_INPUTS, OURS, SHAPES, COUNT, STACKS, MODULES, BOTH = range(9)


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return "%6.1f [%.1f..%.1f]" % (middle, low, high)


def measure_step(driver, rounds):
    """The same in a real step, where caches are cold: what is torch's own part, what ours."""
    from step_times import gpt_step

    step, at = gpt_step(), 0
    variants = {"an empty callback": (EMPTY, 0), "operators": (OURS, 0),
                "operators and tensors": (OURS, 1), "operators and Python stacks": (STACKS, 0),
                "operators and modules": (MODULES, 0), "operators and both": (BOTH, 0),
                "nothing": (NOTHING, 0)}
    best = {name: [] for name in variants}
    for i in range(rounds):
        order = list(variants)
        for name in order[i % len(order):] + order[:i % len(order)]:
            mode, tensors = variants[name]
            driver.driver_tensors(tensors)
            driver.driver_mode(mode)
            times = []
            for _ in range(3):      # the first one only warms up
                start = time.thread_time_ns()
                step(at)
                at += 1
                times.append(time.thread_time_ns() - start)
            best[name].append(min(times[1:]) / 1e3)
    driver.driver_mode(NOTHING)
    driver.driver_tensors(0)
    print("a step of the demo's GPT, %.1f ms; us a step beyond nothing, median [quartiles]"
          % (statistics.median(best["nothing"]) / 1e3))
    for name in list(variants)[:-1]:
        print("  %-33s %s" % (name, quartiles([a - b for a, b in
                                               zip(best[name], best["nothing"])])))


def call_deep(depth, call, calls):
    """Time of calls from two places in turns, some frames further in."""
    if depth:
        return call_deep(depth - 1, call, calls)
    call()
    start = time.thread_time_ns()
    for _ in range(calls // 2):
        call()
        call()
    return time.thread_time_ns() - start


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    torch.set_num_threads(1)
    driver = ctypes.CDLL(os.environ["LD_PRELOAD"])
    for name in ("driver_blocks", "driver_clock"):
        getattr(driver, name).restype = ctypes.c_double
    driver.driver_count.restype = driver.driver_dropped.restype = ctypes.c_uint64

    if not driver.driver_is_recording():
        sys.exit("not valid: nothing is being recorded")

    bias, x, y = torch.zeros(8), torch.ones(8, 8), torch.ones(8, 8)
    small = torch.ones(4)
    modules = torch.nn.Sequential(*(torch.nn.ReLU() for _ in range(3)))
    with torch.no_grad():
        cases = {"relu_": lambda: small.relu_(), "add": lambda: small + small,
                 "addmm": lambda: torch.addmm(bias, x, y),
                 "4 calls of modules": lambda: modules(small)}
        calls = 4000
        print("reading the clock: %.1f ns" % driver.driver_clock(1000000))
        driver.driver_tensors(0)
        for name, call in cases.items():
            before = driver.driver_count()
            driver.driver_mode(COUNT)
            for _ in range(100):
                call()
            events = (driver.driver_count() - before) / 100
            times = {mode: [] for mode in (NOTHING, EMPTY, EMPTY_INPUTS, OURS, SHAPES, STACKS,
                                           MODULES, BOTH)}
            for i in range(rounds):
                order = list(times)
                for mode in order[i % len(order):] + order[:i % len(order)]:
                    driver.driver_mode(mode)
                    took = call_deep(12, call, calls)
                    times[mode].append(took / calls / events)
                time.sleep(0.02)  # the drain thread keeps up
            driver.driver_mode(NOTHING)

            def added(mode, rival):
                return quartiles([a - b for a, b in zip(times[mode], times[rival])])

            print("%s, %g events a call; ns an event, median [quartiles]" % (name, events))
            print("  an empty callback beyond none     %s" % added(EMPTY, NOTHING))
            print("  ours beyond an empty one          %s   (goal 80)" % added(OURS, EMPTY))
            print("  with shapes, beyond an empty one  %s   (goal 170)" % added(SHAPES, EMPTY))
            print("  with shapes, beyond an empty one that is handed the inputs %s"
                  % added(SHAPES, EMPTY_INPUTS))
            # The next operator is always called from elsewhere: each outermost one makes a record.
            print("  with Python stacks of 15, beyond ours without %s   (goal 60)"
                  % added(STACKS, OURS))
            print("  with modules, beyond ours without %s   (goal 60)" % added(MODULES, OURS))
            print("  with both, beyond ours without    %s   (goal 60)" % added(BOTH, OURS))

    print("a block made and given back, ns for each of the two events")
    for armed, words, goal in ((0, "outside windows", ""), (1, "in a window", "   (goal 30)")):
        added = []
        for _ in range(rounds):
            driver.driver_tensors(armed)
            bare = driver.driver_blocks(20000, 0)
            added.append((driver.driver_blocks(20000, 1) - bare) / 2)
            driver.driver_tensors(0)
            time.sleep(0.02)
        print("  %-33s %s%s" % (words, quartiles(added), goal))
    measure_step(driver, rounds)
    if driver.driver_dropped():
        print("not valid: %d records found no room" % driver.driver_dropped())


main()
