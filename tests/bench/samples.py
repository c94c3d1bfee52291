#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""samples.py - what samples of eight threads cost, in processor time of our own threads

usage: samples.py [--seconds S] [--rounds N]                                (LIB, PYTHON, TMP: make bench)

A process with eight threads is recorded all the time, in turns without samples, at 10 and at 100 a
second and as often as the default allows, and tells what its threads named trainprof* used, as a part of
one core. waiting: one thread
runs Python, seven wait; lock: all eight run Python and take turns; torch: all eight multiply matrices,
outside of the lock most of the time. Middle of the rounds, without what no samples cost.

Then what 100 samples a second add to steps of one thread, 10 ms of Python and torch each, by us and by py-spy
(which stops the process for each; its own option --nonblocking does not), where that is installed: by turns,
median of the rounds' medians of steps, and what bare runs differ by. Steps of a millisecond with many small
operators: most of what we add is not for samples, and stands beside it.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

KINDS = "waiting", "lock", "torch"
RATES = None, 10, 100, 0
THREADS = 8
WITHOUT = "ours without samples"


def fall(depth, then):
    return then() if depth == 0 else fall(depth - 1, then)


def run(kind, seconds):
    import threading
    import torch

    stopping = threading.Event()
    torch.set_num_threads(1)
    a = torch.randn(300, 300)
    # Its first one imports a thousand files, and with the others' turns between them that takes minutes.
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def spin():
        while not stopping.is_set():
            sum(range(100))

    def multiply():
        while not stopping.is_set():
            a @ a

    work = {"waiting": stopping.wait, "lock": spin, "torch": multiply}[kind]
    threads = [threading.Thread(target=fall, args=(15, work)) for _ in range(THREADS - 1)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    used = 0

    def step():
        optimizer.zero_grad()
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            sum(range(100))

    step()
    begin, used = time.monotonic(), read_used()
    while time.monotonic() < end:
        fall(15, step)
    print((read_used() - used) / (time.monotonic() - begin) / 1e9)
    stopping.set()
    for thread in threads:
        thread.join()


def run_steps(seconds):
    """us of the median step."""
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(20)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(64, 64)).sum().backward()
            optimizer.step()
        return sum(i * i for i in range(40000))

    times, end = [], time.monotonic() + seconds
    print("ready", flush=True)
    while time.monotonic() < end:
        begin = time.monotonic()
        fall(15, step)
        times.append(time.monotonic() - begin)
    print(1e6 * statistics.median(times[len(times) // 5:]))


def time_steps(kind, settings, folder):
    env = dict(os.environ)
    if kind.startswith("ours"):
        env.update(LD_PRELOAD=os.path.abspath(os.environ["LIB"]), TRAINPROF_DIR=folder, TRAINPROF_OVERWRITE="1",
                   TRAINPROF_SCHEDULE="always", TRAINPROF_SAMPLE_HZ="100",
                   TRAINPROF_RECORD="marks" if kind == WITHOUT else "samples")
    guest = subprocess.Popen([os.environ.get("PYTHON", sys.executable), __file__, "--run", "steps", "--seconds",
                              str(settings.seconds)], env=env, stdout=subprocess.PIPE, text=True)
    guest.stdout.readline()
    beside = None
    if kind.startswith("py-spy"):
        beside = subprocess.Popen([find_pyspy(), "record", "-r", "100", "-f", "raw", "-o", folder + ".raw",
                                   "-d", "600", "-p", str(guest.pid)] + kind.split()[1:],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    used = float(guest.stdout.read())
    guest.wait()
    if beside:
        beside.wait()
    return used


def find_pyspy():
    beside = os.path.join(os.path.dirname(os.environ.get("PYTHON", sys.executable)), "py-spy")
    return beside if os.path.exists(beside) else shutil.which("py-spy")


def compare_steps(settings, folder):
    kinds = ["bare", "bare again", WITHOUT, "ours"]
    if find_pyspy():
        kinds += ["py-spy", "py-spy --nonblocking"]
    times = {kind: [] for kind in kinds}
    for _ in range(settings.rounds):
        for kind in kinds:
            times[kind].append(time_steps(kind, settings, folder))
    bare = statistics.median(times["bare"])
    print("a step, 100 samples a second: %.2f ms bare; %s" % (bare / 1000, ", ".join(
        "%s %+.2f %%" % (kind, 100 * (statistics.median(times[kind]) / bare - 1)) for kind in kinds[1:])))


def read_used():
    """ns that our threads have run."""
    used = 0
    for tid in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % tid) as comm:
            if not comm.read().startswith("trainprof"):
                continue
        with open("/proc/self/task/%s/schedstat" % tid) as stat:
            used += int(stat.read().split()[0])
    return used


def measure(kind, rate, settings, folder):
    env = dict(os.environ, LD_PRELOAD=os.path.abspath(os.environ["LIB"]), TRAINPROF_DIR=folder,
               TRAINPROF_OVERWRITE="1", TRAINPROF_SCHEDULE="always",
               TRAINPROF_RECORD="marks" if rate is None else "samples",
               TRAINPROF_SAMPLE_HZ=str(rate or 0))
    done = subprocess.run([os.environ.get("PYTHON", sys.executable), __file__, "--run", kind, "--seconds",
                           str(settings.seconds)], env=env, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", choices=KINDS + ("steps",))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    settings = parser.parse_args()
    if settings.run == "steps":
        return run_steps(settings.seconds)
    if settings.run:
        return run(settings.run, settings.seconds)
    folder = os.path.join(os.environ.get("TMP", "/tmp"), "samples")
    for kind in KINDS:
        used = {rate: [] for rate in RATES}
        for _ in range(settings.rounds):
            for rate in RATES:
                used[rate].append(measure(kind, rate, settings, folder))
        none = statistics.median(used[None])
        print("%-8s %s" % (kind, ", ".join("%s: %.3f %% of a core" % (
            "%d a second" % rate if rate else "the default",
            100 * (statistics.median(used[rate]) - none)) for rate in RATES[1:])),
            "(none: %.3f %%)" % (100 * none), flush=True)
    compare_steps(settings, folder)


main()
