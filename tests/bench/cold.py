#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cold.py - what we add to an event when the caches are full of something else

usage: LD_PRELOAD=torch_driver.so TRAINPROF_SCHEDULE=always ... cold.py [ROUNDS [CALLS]]

Before each call something is done that is not timed (torch_driver_cold.c): nothing, data of the
size of a first or second cache is written, code of 256 KiB is run, both, or a product of matrices
of 128 x 128, as in a training. What is recorded takes turns within a round; a figure is the median
over the rounds of the difference to its rival in the same round, per event, with the quartiles. In
a round, a time is the median of its calls. The rival of our callback is one that does nothing:
torch leaves its fast path for either.
"""
import ctypes
import os
import statistics
import sys
import time

import torch

NOTHING, EMPTY, EMPTY_INPUTS, OURS, SHAPES, COUNT, STACKS, MODULES, BOTH = range(9)
BEFORE = ("nothing", "data, 128 KiB", "data, 4 MiB", "code, 256 KiB", "data and code",
          "a matrix product")
DEPTH = 12


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return "%5.0f [%.0f..%.0f]" % (middle, low, high)


def entries():
    """Addresses of what the driver calls: torch's libraries are in no scope that it searches."""
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    library = ctypes.CDLL(os.path.join(folder, "libtorch_cpu.so"))
    try:
        found = [library._ZN2at4_ops5relu_4callERNS_6TensorE,
                 library._ZN2at4_ops6mm_out4callERKNS_6TensorES4_RS2_,
                 ctypes.pythonapi.PyObject_CallNoArgs, ctypes.pythonapi.Py_DecRef]
    except AttributeError as lacking:
        sys.exit("%s: nothing to measure" % lacking)
    return [ctypes.cast(each, ctypes.c_void_p) for each in found]


class Driver:
    def __init__(self, calls):
        library = ctypes.PyDLL(os.environ["LD_PRELOAD"])
        library.driver_tick_ns.restype = ctypes.c_double
        library.driver_dropped.restype = library.driver_count.restype = ctypes.c_uint64
        library.driver_cold_call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.py_object,
                                             ctypes.py_object, ctypes.c_void_p]
        self.library, self.calls = library, calls
        self.ticks = (ctypes.c_uint32 * calls)()
        self.tensors = torch.ones(4), *(torch.ones(128, 128) for _ in range(3))
        if not library.driver_is_recording():
            sys.exit("not valid: nothing is being recorded")
        if not library.driver_cold_ready(*entries(), (ctypes.c_void_p * 4)(
                *(t._cdata for t in self.tensors))):
            sys.exit("out of memory")
        self.tick_ns = library.driver_tick_ns()
        self.small = self.tensors[0]

    def median(self):
        time.sleep(0.005)       # the drain thread keeps up
        return statistics.median(self.ticks) * self.tick_ns

    def operator(self, before):
        self.library.driver_cold_operator(before, self.calls, self.ticks)
        return self.median()

    def block(self, before, is_told):
        self.library.driver_cold_block(before, self.calls, is_told, self.ticks)
        return self.median()

    def call(self, before, depth=DEPTH):
        """From two places in turns, some frames further in: each has a stack of its own."""
        if depth:
            return self.call(before, depth - 1)
        self.library.driver_cold_call(before, self.calls, lambda: self.small.relu_(),
                                      lambda: self.small.relu_(), self.ticks)
        return self.median()

    def events(self, call):
        """Operators of one call."""
        count = self.library.driver_count
        self.library.driver_mode(COUNT)
        begin = count()
        call(0)
        self.library.driver_mode(NOTHING)
        return (count() - begin) / self.calls

    def take(self, mode, call, before):
        self.library.driver_mode(mode)
        took = call(before)
        self.library.driver_mode(NOTHING)
        return took


def measure_operators(driver, rounds):
    """Rows of (added by an empty callback, ours, with shapes), ns an operator."""
    n = driver.events(driver.operator)
    print("an operator, called from C; ns an operator, median [quartiles]")
    print("  %-18s %-10s %-20s %-20s %-20s" % ("before it", "alone", "empty callback",
                                               "ours beyond it", "with shapes"))
    for before, what in enumerate(BEFORE):
        times = {mode: [] for mode in (NOTHING, EMPTY, OURS, SHAPES)}
        for at in range(rounds):
            order = list(times)
            for mode in order[at % 4:] + order[:at % 4]:
                times[mode].append(driver.take(mode, driver.operator, before) / n)
        rows = [[b - a for a, b in zip(times[rival], times[mode])]
                for mode, rival in ((EMPTY, NOTHING), (OURS, EMPTY), (SHAPES, EMPTY))]
        print("  %-18s %-10.0f %-20s %-20s %-20s"
              % ((what, statistics.median(times[NOTHING])) + tuple(map(quartiles, rows))), flush=True)


def measure_python(driver, rounds):
    n = driver.events(driver.call)
    print("an outermost operator called from Python, %d frames deep; ns a call (%g operators)"
          % (DEPTH + 3, n))
    print("  %-18s %-20s %-20s %-20s" % ("before it", "ours beyond empty", "stack beyond ours",
                                         "stack and modules"))
    for before, what in enumerate(BEFORE):
        times = {mode: [] for mode in (EMPTY, OURS, STACKS, BOTH)}
        for at in range(rounds):
            order = list(times)
            for mode in order[at % 4:] + order[:at % 4]:
                times[mode].append(driver.take(mode, driver.call, before))
        rows = [[b - a for a, b in zip(times[rival], times[mode])]
                for mode, rival in ((OURS, EMPTY), (STACKS, OURS), (BOTH, OURS))]
        print("  %-18s %-20s %-20s %-20s" % ((what,) + tuple(map(quartiles, rows))), flush=True)


def measure_blocks(driver, rounds):
    print("a tensor's block made or given back, in a window; ns an event")
    print("  %-18s %-20s" % ("before it", "ours beyond malloc"))
    for before, what in enumerate(BEFORE):
        added = []
        for _ in range(rounds):
            driver.library.driver_tensors(1)
            bare = driver.block(before, 0)
            added.append(driver.block(before, 1) - bare)
            driver.library.driver_tensors(0)
        print("  %-18s %-20s" % (what, quartiles(added)), flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    torch.set_num_threads(1)
    driver = Driver(int(sys.argv[2]) if len(sys.argv) > 2 else 400)
    with torch.no_grad():
        measure_operators(driver, rounds)
        measure_python(driver, rounds)
    measure_blocks(driver, rounds)
    if driver.library.driver_dropped():
        print("not valid: %d records found no room" % driver.library.driver_dropped())


main()
