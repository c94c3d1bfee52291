#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""step_overhead.py - what profiling adds to a training step, inside and outside of windows

usage: step_overhead.py [--rounds N] [--steps N] [--quick] [--device cpu|cuda]
                                                        (LIB, PYTHON, TMP: make bench)

Kinds of run of the same training take turns, in an order that reverses each round, so that a
machine that changes its speed changes it for all: bare; preloaded and waiting; the same with the
flight recorder on; preloaded with a window of ten steps out of every twenty-one; torch.profiler with the same windows: plain, then
with tensor memory (what we record), then with a file written as well (what we do). Ratios are taken between neighbours (outside) or inside one run (windows), and their
median and spread are printed beside what two bare runs differ by. Where the machine's noise
is larger than the effect, the computed figure tells: cost of one event, measured where nothing
but events happens, times the events of a step. "cpu" is CPU time of all threads, the drain
thread's too; on a busy machine it is steadier than the wall's time.
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
CALLS_A_STEP = 20000
SKIP_STEPS = 5      # of each run: caches, allocator, first calls
TORCH = {"torch.profiler": [], "torch.profiler, memory": ["--memory"],
         "torch.profiler, memory and a file": ["--memory", "--export"]}
WINDOWS = "%d,%d,%d" % (WAIT, WARMUP, ACTIVE)
NEVER = "wait=1000000,warmup=0,active=1,per=run"
SCHEDULES = {"waiting": NEVER, "recorder": NEVER + " recorder",
             "window": "wait=%d,warmup=%d,active=%d,repeat=0,per=run" % (WAIT, WARMUP, ACTIVE)}
AFTER = 3           # steps after a window in which work for it may still be going on


def environment(lib, schedule, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRAINPROF_")}
    env.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    if schedule:
        schedule, _, recorder = schedule.partition(" ")
        env.update(LD_PRELOAD=lib, TRAINPROF_SCHEDULE=schedule, TRAINPROF_DIR=folder,
                   TRAINPROF_RECORDER="steps=8" if recorder else "off")
    return env


def run_steps(work, n_steps, settings, more=(), schedule=None, lib=None, record=None):
    """Step durations in ns of one run: (by the wall's clock, in CPU time, in that of its thread).

    more: arguments of step_times.py; schedule: a name of SCHEDULES, None: not preloaded."""
    with tempfile.TemporaryDirectory(dir=settings.tmp) as tmp:
        out = os.path.join(tmp, "ends.json")
        argv = [settings.python, os.path.join(HERE, "step_times.py"), out,
                "--work", work, "--steps", str(n_steps), "--device", settings.device, *more]
        env = environment(lib or settings.lib, SCHEDULES.get(schedule), os.path.join(tmp, "run"))
        if record:
            env["TRAINPROF_RECORD"] = record
        done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                              env=env)
        if done.returncode:
            sys.exit("'%s' ended with status %d: %s" %
                     (" ".join(argv), done.returncode, done.stderr.decode()[-500:]))
        with open(out) as file:
            clocks = json.load(file)
    return tuple([b - a for a, b in zip(ends, ends[1:])] for ends in clocks)


def step_times(kind, work, n_steps, settings):
    more = ["--torch-profiler", WINDOWS, *TORCH[kind]] if kind in TORCH else []
    return run_steps(work, n_steps, settings, more, kind)


def spread(values):
    """median, and the middle half."""
    values = sorted(values)
    return (statistics.median(values), values[len(values) // 4], values[-1 - len(values) // 4])


def show(what, values, form="%.4f", goal=""):
    print("%-70s %s   [%s - %s]%s" % ((what,) + tuple(form % v for v in spread(values)) +
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
    runs = {kind: [] for kind in ("bare", "waiting", "recorder", "window", *TORCH)}
    order = list(runs)
    for at in range(settings.rounds):
        for kind in order if at % 2 == 0 else reversed(order):
            runs[kind].append(step_times(kind, "gpt", settings.steps, settings))
    return runs


def outside(runs):
    """Preloaded, waiting or with the flight recorder, against bare; returns the median bare step in ns."""
    for at, clock in enumerate(("wall", "cpu")):
        bare, waiting, recorder = ([statistics.median(times[at][SKIP_STEPS:]) for times in runs[kind]]
                                   for kind in ("bare", "waiting", "recorder"))
        print("a step of the bare run, %s: %.2f ms" % (clock, statistics.median(bare) / 1e6))
        if len(bare) > 1:
            show("noise: one bare run over the one before, " + clock,
                 [b / a for a, b in zip(bare, bare[1:])])
        show("outside windows: preloaded and waiting / bare, " + clock,
             [w / b for w, b in zip(waiting, bare)], goal="<= 1.003")
        show("flight recorder of 8 steps: preloaded / bare, " + clock,
             [r / b for r, b in zip(recorder, bare)])
    return statistics.median(bare)


def added_ns(times):
    """What each window of one run added: all it can touch, less as many waiting steps. (Means,
    not medians: the few steps that something else disturbed must weigh the same on both.)"""
    return [sum(touched) - len(touched) * statistics.mean(quiet)
            for quiet, _, touched in cycles_of(times)]


def windows(runs):
    for at, clock in enumerate(("wall", "cpu")):
        added = {}
        for kind in ("window", *TORCH):
            name = "ours" if kind == "window" else kind
            cycles = [cycle for times in runs[kind] for cycle in cycles_of(times[at])]
            show("active / waiting steps of one run, %s, %s" % (name, clock),
                 [statistics.median(active) / statistics.median(quiet)
                  for quiet, active, _ in cycles])
            added[kind] = [ns / 1e6 for times in runs[kind] for ns in added_ns(times[at])]
            show("added to a window of %d steps, %s, ms, %s" % (ACTIVE, name, clock),
                 added[kind], "%.2f")
        for kind in TORCH:
            print("%-70s 1/%.1f   goal 1/20" % ("ours over %s, %s" % (kind, clock),
                  spread(added[kind])[0] / max(spread(added["window"])[0], 1e-6)))


def cost_of_call(work, settings):
    """ns of CPU that a window, waiting and the flight recorder add to one call: three lists."""
    n_steps = 3 * CYCLE + AFTER + 2
    window, waiting, recorder = [], [], []
    for _ in range(settings.rounds):
        bare = min(step_times("bare", work, n_steps, settings)[1][SKIP_STEPS:])
        quiet = min(step_times("waiting", work, n_steps, settings)[1][SKIP_STEPS:])
        waiting.append((quiet - bare) / CALLS_A_STEP)
        kept = min(step_times("recorder", work, n_steps, settings)[1][SKIP_STEPS:])
        recorder.append((kept - bare) / CALLS_A_STEP)
        times = step_times("window", work, n_steps, settings)[1]
        for quiet, active, _ in cycles_of(times):
            window.append((statistics.median(active) - statistics.median(quiet)) / CALLS_A_STEP)
    return window, waiting, recorder


def computed(bare_ns, settings):
    """Cost of one event from steps of nothing but events; what that makes of a real step."""
    relu, waiting, recorder = cost_of_call("relu", settings)
    empty, _, _ = cost_of_call("empty", settings)
    # relu_ is two operator events; empty is one, and a tensor allocated and freed.
    operator = [ns / 2 for ns in relu]
    tensor = [(ns - spread(operator)[0]) / 2 for ns in empty]
    show("one operator event in a window, all threads, torch's part too, ns", operator, "%.0f")
    show("one tensor allocated or freed in a window, all threads, ns", tensor, "%.0f")
    show("one operator outside of windows, ns", [ns / 2 for ns in waiting], "%.2f")
    show("one operator with the flight recorder, all threads, torch's part too, ns",
         [ns / 2 for ns in recorder], "%.0f")
    n_operators, n_tensors = settings.events_a_step
    inside = n_operators * spread(operator)[0] + n_tensors * spread(tensor)[0]
    kept = (n_operators * spread(recorder)[0] / 2 + n_tensors * spread(tensor)[0]) / bare_ns
    beside = n_operators * max(spread(waiting)[0] / 2, 0)
    print("computed, %d operators and %d tensor events a step: in a window %.4f, with the flight "
          "recorder %.4f, outside %.4f (goal <= 1.003)" %
          (n_operators, n_tensors, 1 + inside / bare_ns, 1 + kept, 1 + beside / bare_ns))


def count_events(settings):
    """Operators and tensor events of one step of the same model, as torch.profiler sees them."""
    code = ("import sys, torch; sys.path.insert(0, %r); import step_times as s\n"
            "torch.manual_seed(1); step = s.gpt_step(); step(0); step(1)\n"
            "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],\n"
            "                            profile_memory=True) as p:\n"
            "    step(2)\n"
            "names = [e.name() for e in p.profiler.kineto_results.events()]\n"
            "print(len(names) - names.count('[memory]'), names.count('[memory]'))" % HERE)
    said = subprocess.run([settings.python, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True, env=environment("", "", ""))
    return tuple(map(int, said.stdout.split()[-2:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4 * CYCLE + AFTER + 2)
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
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
