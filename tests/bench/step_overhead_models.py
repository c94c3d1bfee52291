#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""step_overhead_models.py - what each source of records adds to the steps of three models

usage: step_overhead_models.py [--work gpt,tiny,conv] [--most CYCLES] [--until PERCENT]
                                                        (LIB, DRIVER, PYTHON, TMP: make bench)

Kinds of run take turns, in an order that reverses each round. Each has windows of ten steps out
of every twenty-one (step_overhead.py), and a window is compared with the waiting steps around it
in the same run: what it added, its end included, as a share of as many steps; first in CPU time of
the training's thread, then of all threads, our drain thread and the file with it. Rounds go on
until the 95 % interval of the mean of every kind but torch's profiler is narrower than --until to
both sides, or --most cycles are measured. "empty callback" is torch's own part: a callback that does
nothing in the same steps. Means, with a tenth of the cycles left out at both ends: what somebody
else's program did to one of them is no cost of ours.
"""

import argparse
import os
import random
import statistics
import sys

import step_overhead as base

CYCLES_A_RUN = 8
STEPS = CYCLES_A_RUN * base.CYCLE + base.AFTER + 2
# What TRAINPROF_RECORD is set to; None: as it comes.
OURS = {"steps and host": "host", "operators": "ops", "operators, shapes": "ops,shapes",
        "operators, tensors": "ops,tensors", "operators, Python stacks": "ops,pystacks",
        "operators, modules": "ops,modules", "the default": None}
TORCH = {"torch.profiler": [], "torch.profiler, memory": ["--memory"],
         "torch.profiler, memory, stacks": ["--memory", "--stacks"]}
CLOCKS = ("the training's thread", "all threads")
EMPTY, NOISE = "empty callback", "nothing (noise)"


def run(kind, work, settings):
    """ns of CPU of each step of one run: of the thread, of all."""
    how = {}
    if kind in TORCH:
        how = {"more": ["--torch-profiler", base.WINDOWS, *TORCH[kind]]}
    elif kind == EMPTY:
        # The library waits for a step that never comes: its hooks are there, as in ours.
        how = {"more": ["--empty-callback", base.WINDOWS], "schedule": "waiting",
               "lib": settings.driver}
    elif kind != NOISE:
        how = {"schedule": "window", "record": OURS[kind]}
    _, everywhere, own = base.run_steps(work, STEPS, settings, **how)
    return own, everywhere


def added(times):
    """For each window of one run: ns that a step of it took beyond a waiting one."""
    for quiet, _, touched in base.cycles_of(times):
        wait = statistics.mean(quiet)
        yield (sum(touched) - len(touched) * wait) / base.ACTIVE, wait


def trimmed(values):
    values = sorted(values)
    cut = len(values) // 10
    return statistics.mean(values[cut:len(values) - cut])


def interval(values, seed=1):
    """Middle, and half of the 95 % interval, by resampling."""
    source = random.Random(seed)
    means = sorted(trimmed(source.choices(values, k=len(values))) for _ in range(400))
    return trimmed(values), (means[389] - means[10]) / 2


def measure(work, settings):
    """For each clock and kind: (share in percent, us added) of each window; and a waiting step."""
    kinds = [NOISE, EMPTY, *OURS, *TORCH]
    found = [{kind: [] for kind in kinds} for _ in CLOCKS]
    waits = []
    while True:
        for kind in kinds:
            for clock, times in enumerate(run(kind, work, settings)):
                for ns, wait in added(times):
                    found[clock][kind].append((100 * ns / wait, ns / 1e3))
                    waits.append(wait)
        kinds.reverse()
        widths = [interval([share for share, _ in found[0][kind]])[1]
                  for kind in kinds if kind not in TORCH]
        if max(widths) <= settings.until or len(found[0][EMPTY]) >= settings.most:
            return found, statistics.median(waits)


def show(work, settings):
    found, wait = measure(work, settings)
    print("%s: a step of %.1f ms, %d windows of each kind; added to a step of a window, mean +- 95 %%"
          % (work, wait / 1e6, len(found[0][EMPTY])))
    for clock, name in enumerate(CLOCKS):
        print(" CPU time of %s" % name)
        us = {kind: interval([us for _, us in found[clock][kind]])[0] for kind in found[clock]}
        for kind in found[clock]:
            share, width = interval([share for share, _ in found[clock][kind]])
            more = ""
            if kind == "the default":
                more = "   %.2f times the empty callback's (goal 1.6)" % (us[kind] / us[EMPTY])
            elif kind in TORCH:
                more = "   ours is 1/%.1f of it (goal 1/%d)" % (
                    us[kind] / us["the default"], 40 if "memory" in kind else 15)
            print("  %-32s %+7.2f %% +- %.2f  %+9.0f us%s" % (kind, share, width, us[kind], more),
                  flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", default="gpt,tiny,conv")
    parser.add_argument("--most", type=int, default=96, help="windows of each kind")
    parser.add_argument("--until", type=float, default=0.25, help="half of the interval, percent")
    settings = parser.parse_args()
    settings.device = "cpu"
    settings.lib = os.path.abspath(os.environ.get("LIB", "build/libtrainprof.so"))
    settings.driver = os.path.abspath(os.environ.get("DRIVER",
                                                     "build/tests/progs/torch_driver.so"))
    settings.python = os.environ.get("PYTHON", sys.executable)
    settings.tmp = os.environ.get("TMP") or None
    for work in settings.work.split(","):
        show(work, settings)


main()
