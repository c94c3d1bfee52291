#!/usr/bin/env python3
"""step_overhead.py - what profiling adds to a training step, inside and outside of windows

usage: step_overhead.py [--rounds N] [--steps N] [--quick]      (LIB, PYTHON, TMP: make bench)

Four kinds of run of the same training take turns, in an order that reverses each round, so
that a machine that changes its speed changes it for all: bare; preloaded and waiting;
preloaded with a window of ten steps out of every twenty-one; torch.profiler with the same
windows. Ratios are taken between neighbours (outside) or inside one run (windows), and their
median and spread are printed beside what two bare runs differ by. Where the machine's noise
is larger than the effect, the computed figure tells: cost of one event, measured where nothing
but events happens, times the events of a step.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WAIT, WARMUP, ACTIVE = 10, 1, 10
CYCLE = WAIT + WARMUP + ACTIVE
OPS_A_STEP = 20000
SKIP_STEPS = 5      # of each run: caches, allocator, first calls
AFTER = 3           # steps after a window in which work for it may still be going on


def environment(lib, schedule, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRAINPROF_")}
    env.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    if schedule:
        env.update(LD_PRELOAD=lib, TRAINPROF_SCHEDULE=schedule, TRAINPROF_DIR=folder)
    return env


def step_times(kind, work, n_steps, settings):
    """Step durations in ns of one run, the first steps left out."""
    schedule = {"waiting": "wait=1000000,warmup=0,active=1,per=run",
                "window": "wait=%d,warmup=%d,active=%d,repeat=0,per=run" %
                          (WAIT, WARMUP, ACTIVE)}.get(kind)
    with tempfile.TemporaryDirectory(dir=settings.tmp) as tmp:
        out = os.path.join(tmp, "ends.json")
        argv = [settings.python, os.path.join(HERE, "step_times.py"), out,
                "--work", work, "--steps", str(n_steps)]
        if kind == "torch":
            argv += ["--torch-profiler", "%d,%d,%d" % (WAIT, WARMUP, ACTIVE)]
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                              env=environment(settings.lib, schedule, os.path.join(tmp, "run")))
        if done.returncode:
            sys.exit("'%s' ended with status %d: %s" %
                     (" ".join(argv), done.returncode, done.stderr.decode()[-500:]))
        with open(out) as file:
            ends = json.load(file)
    return [b - a for a, b in zip(ends, ends[1:])]


def spread(values):
    """median, and the middle half."""
    values = sorted(values)
    return (statistics.median(values), values[len(values) // 4], values[-1 - len(values) // 4])


def show(what, values, form="%.4f", goal=""):
    print("%-58s %s   [%s - %s]%s" % ((what,) + tuple(form % v for v in spread(values)) +
                                      (("   goal " + goal) if goal else "",)))


def cycles_of(times):
    """For each whole cycle: (waiting steps, active steps, all that the window can touch).

    times[i] is of step i + 1. Steps beside an edge are in neither of the first two: whose step
    the edge belongs to differs by one between the two profilers. The third has them, the
    warm-up, and the steps after the window, in which its file is still being finished.
    """
    for begin in range(0, len(times) - CYCLE - AFTER, CYCLE):
        at = begin - 1
        quiet = times[max(at + AFTER, SKIP_STEPS):at + WAIT - 1]
        active = times[at + WAIT + WARMUP + 1:at + CYCLE - 1]
        yield quiet, active, times[at + WAIT - 1:at + CYCLE + AFTER]


def measure(settings):
    runs = {kind: [] for kind in ("bare", "waiting", "window", "torch")}
    order = list(runs)
    for at in range(settings.rounds):
        for kind in order if at % 2 == 0 else reversed(order):
            runs[kind].append(step_times(kind, "gpt", settings.steps, settings))
    return runs


def outside(runs):
    medians = {kind: [statistics.median(times[SKIP_STEPS:]) for times in runs[kind]]
               for kind in ("bare", "waiting")}
    bare = medians["bare"]
    print("a step of the bare run: %.2f ms" % (statistics.median(bare) / 1e6))
    if len(bare) > 1:
        show("noise: one bare run over the next", [b / a for a, b in zip(bare, bare[1:])])
    show("outside windows: preloaded and waiting / bare",
         [w / b for w, b in zip(medians["waiting"], bare)], goal="<= 1.003")
    return statistics.median(bare)


def added_ns(times):
    """What each window of one run added: all it can touch, less as many waiting steps. (Means,
    not medians: the few steps that something else disturbed must weigh the same on both.)"""
    return [sum(touched) - len(touched) * statistics.mean(quiet)
            for quiet, _, touched in cycles_of(times)]


def windows(runs):
    ratios = [statistics.median(active) / statistics.median(wait)
              for times in runs["window"] for wait, active, _ in cycles_of(times)]
    show("in a window: active / waiting steps of the same run", ratios)
    show("torch.profiler: active / waiting steps of the same run",
         [statistics.median(active) / statistics.median(wait)
          for times in runs["torch"] for wait, active, _ in cycles_of(times)])
    ours = [ns for times in runs["window"] for ns in added_ns(times)]
    theirs = [ns for times in runs["torch"] for ns in added_ns(times)]
    show("added to a window of %d steps, ms" % ACTIVE, [ns / 1e6 for ns in ours], "%.2f")
    show("added by torch.profiler, its stop() included, ms", [ns / 1e6 for ns in theirs], "%.2f")
    print("%-58s 1/%.1f   goal 1/20" % ("ours over theirs",
                                        spread(theirs)[0] / max(spread(ours)[0], 1)))


def computed(bare_ns, settings):
    """Cost of one event from steps of nothing but events; what that makes of a real step."""
    n_steps = 4 * CYCLE + AFTER + 2
    waiting, bare, event = [], [], []
    for _ in range(settings.rounds):
        bare.append(min(step_times("bare", "ops", n_steps, settings)[SKIP_STEPS:]))
        waiting.append(min(step_times("waiting", "ops", n_steps, settings)[SKIP_STEPS:]))
        for wait, active, _ in cycles_of(step_times("window", "ops", n_steps, settings)):
            event.append((statistics.median(active) - statistics.median(wait)) / OPS_A_STEP)
    show("one operator event in a window, torch's part included, ns", event, "%.0f")
    quiet = [(w - b) / OPS_A_STEP for w, b in zip(waiting, bare)]
    show("one operator outside of windows, ns", quiet, "%.2f")
    n_events = settings.events_a_step
    if n_events:
        print("%-58s %.4f" % ("computed: window, %d events a step" % n_events,
                              1 + spread(event)[0] * n_events / bare_ns))
        print("%-58s %.4f   goal <= 1.003" % ("computed: outside",
                                              1 + max(spread(quiet)[0], 0) * n_events / bare_ns))


def count_events(settings):
    """Operators of one step of the same model, as torch.profiler counts them."""
    code = ("import sys, torch; sys.path.insert(0, %r); import step_times as s\n"
            "torch.manual_seed(1); step = s.gpt_step(); step(0); step(1)\n"
            "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:\n"
            "    step(2)\n"
            "print(sum(1 for e in p.events()))" % HERE)
    said = subprocess.run([settings.python, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, env=environment("", "", ""))
    return int(said.stdout.split()[-1]) if said.returncode == 0 else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4 * CYCLE + AFTER + 2)
    parser.add_argument("--quick", action="store_true", help="two rounds")
    settings = parser.parse_args()
    settings.rounds = 2 if settings.quick else settings.rounds
    settings.lib = os.path.abspath(os.environ.get("LIB", "build/libtrainprof.so"))
    settings.python = os.environ.get("PYTHON", sys.executable)
    settings.tmp = os.environ.get("TMP") or None
    settings.events_a_step = count_events(settings)
    runs = measure(settings)
    bare_ns = outside(runs)
    windows(runs)
    computed(bare_ns, settings)


if __name__ == "__main__":
    main()
