#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""processes.py - what the library costs a short-lived process: shells, small programs, Python

usage: processes.py [ROUNDS]   (with LIB, NOP)

Each kind of process is started some hundreds of times a round by posix_spawn: bare, with the hooks
that only forward, with the library. Rounds alternate; CPU time of a process and what it starts, and
wall time: the median, and the best round, which other work of the machine disturbs least.
"""

import os
import statistics
import sys
import time

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
KINDS = (
    ("/bin/true", ["true"], 200),
    ("/bin/sh", ["sh", "-c", "/bin/true; :"], 100),
    (sys.executable, [sys.executable, "-S", "-c", "pass"], 20),
)
WAYS = (("bare", None), ("forwarding hooks", os.environ.get("NOP")), ("library", os.environ["LIB"]))


def run(path, argv, count, library):
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    if library:
        env["LD_PRELOAD"] = library
    begin, cpu = time.perf_counter(), 0
    for _ in range(count):
        pid = os.posix_spawn(path, argv, env)
        _, status, used = os.wait4(pid, 0)
        if status:
            sys.exit(f"{path} failed")
        cpu += used.ru_utime + used.ru_stime
    return (time.perf_counter() - begin) / count * 1e6, cpu / count * 1e6


for path, argv, count in KINDS:
    times = {name: [] for name, library in WAYS if name == "bare" or library}
    for at in range(ROUNDS + 1):
        for name, library in WAYS:
            if name in times:
                took = run(path, argv, count, library)
                if at:
                    times[name].append(took)
    for name, took in times.items():
        wall, cpu = ([t[i] for t in took] for i in (0, 1))
        print(f"{' '.join(argv[-3:])[-20:]:20s} {name:17s} "
              f"CPU {statistics.median(cpu):7.0f} us, best {min(cpu):7.0f}   "
              f"wall {statistics.median(wall):7.0f} us, best {min(wall):7.0f}")
