#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heap.py - what watching host memory costs, beside heaptrack and memray in the same run

usage: heap.py [--rounds N] [--part micro|process]          (O, LIB, NOP, PYTHON, TMP: make bench)

Kinds of run of one program take turns, bare first; each is compared with the bare run of its own
round, and the median and the middle half of the differences are printed. "own" is CPU time of the
threads that allocate, "all" that of all threads of the process: our drain compresses in there, heaptrack's
compressor is another process and not counted. heaptrack and memray are left out when they are
not installed (heaptrack: Debian's package; memray: pip, into the interpreter PYTHON).
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = {
    "off": {"TRAINPROF_RECORD": "none", "TRAINPROF_HEAP": "off"},
    "counters": {"TRAINPROF_RECORD": "none", "TRAINPROF_HEAP": "counters"},
    "sample": {"TRAINPROF_RECORD": "heap", "TRAINPROF_HEAP": "sample", "TRAINPROF_STACKS": "heap"},
    "events": {"TRAINPROF_RECORD": "heap"},
    "native stacks": {"TRAINPROF_RECORD": "heap", "TRAINPROF_STACKS": "heap,native"},
    "all stacks": {"TRAINPROF_RECORD": "heap", "TRAINPROF_STACKS": "heap"},
}


def middle(values):
    values = sorted(values)
    return statistics.median(values), values[len(values) // 4], values[-1 - len(values) // 4]


def heaptrack_preload():
    for folder in ("/usr/lib/heaptrack", "/usr/lib/x86_64-linux-gnu/heaptrack", "/usr/local/lib/heaptrack"):
        path = os.path.join(folder, "libheaptrack_preload.so")
        if shutil.which("heaptrack") and os.path.exists(path):
            return path
    return None


def has_memray(python):
    return subprocess.run([python, "-c", "import memray"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


class Kinds:
    """How each kind of run starts a program: a command and an environment."""

    def __init__(self, settings, program):
        self.settings, self.program = settings, program
        self.base = {k: v for k, v in os.environ.items()
                     if not k.startswith(("TRAINPROF_", "LD_PRELOAD"))}
        self.base.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

    def start(self, kind, argv, folder):
        env = dict(self.base)
        if kind == "nop":
            env["LD_PRELOAD"] = self.settings.nop
        elif kind in OURS:
            env.update(OURS[kind], LD_PRELOAD=self.settings.lib, TRAINPROF_SCHEDULE="always",
                       TRAINPROF_PROGRAM=self.program, TRAINPROF_DIR=os.path.join(folder, "run"))
        elif kind == "heaptrack":
            env.update(LD_PRELOAD=heaptrack_preload(),
                       DUMP_HEAPTRACK_OUTPUT=os.path.join(folder, "heaptrack.raw"))
        elif kind.startswith("memray"):
            argv = ([argv[0], "-m", "memray", "run", "-q", "-o", os.path.join(folder, "memray.bin")] +
                    (["--native"] if kind == "memray native" else []) + argv[1:])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        # /proc says a child's own peak; RUSAGE_CHILDREN that of the largest so far.
        process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate()
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode:
            sys.exit("'%s' (%s) ended with status %d: %s" %
                     (" ".join(argv), kind, process.returncode, err.decode()[-500:]))
        size = sum(os.path.getsize(os.path.join(at, name))
                   for at, _, names in os.walk(folder) for name in names)
        return out.decode(), wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, size


def run_rounds(kinds, names, argv, settings, read):
    """For each kind: a list, one entry a round, of what `read` makes of a run."""
    found = {name: [] for name in names}
    for at in range(settings.rounds):
        # bare stays first: the first run after a pause is the same kind in each round.
        for name in [names[0]] + (names[1:] if at % 2 else names[:0:-1]):
            with tempfile.TemporaryDirectory(dir=settings.tmp) as folder:
                found[name].append(read(*kinds.start(name, argv, folder)))
    return found


def show_micro(settings):
    load = os.path.join(settings.out, "tests/bench/alloc_load")
    kinds = Kinds(settings, "alloc_load")
    names = ["bare", "nop", "off", "counters", "sample", "events", "native stacks"]
    if heaptrack_preload():
        names.append("heaptrack")
    for events, threads, depth in ((1000000, 1, 12), (1000000, 1, 46), (1000000, 2, 12)):
        argv = [load, str(events), str(threads), str(depth)]

        def read(out, wall, cpu, size):
            own, everything = re.search(r"own ([\d.]+) cpu ([\d.]+)", out).groups()
            return float(own), float(everything), size / events

        found = run_rounds(kinds, names, argv, settings, read)
        bare = [own for own, _, _ in found["bare"]]
        print("%d thread%s, depth %d: bare %.1f ns an event [%.1f-%.1f]; added:" %
              ((threads, "s" * (threads > 1), depth) + middle(bare)))
        for name in names[1:]:
            own = middle([a[0] - b[0] for a, b in zip(found[name], found["bare"])])
            both = middle([a[1] - b[1] for a, b in zip(found[name], found["bare"])])
            size = middle([a[2] for a in found[name]])[0]
            print("  %-16s own %7.1f [%.1f-%.1f]   all %7.1f [%.1f-%.1f]   %6.2f bytes an event" %
                  ((name,) + own + both + (size,)))


def show_process(settings):
    kinds = Kinds(settings, "heap_train")
    names = ["bare", "off", "counters", "sample", "events", "native stacks", "all stacks"]
    if heaptrack_preload():
        names.append("heaptrack")
    if has_memray(settings.python):
        names += ["memray", "memray native"]
    # The peak of one run is what the program itself says last: VmHWM.
    argv = [settings.python, "-c",
            "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__');"
            "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')))",
            os.path.join(HERE, "heap_train.py"), "25"]
    memray_argv = [settings.python, os.path.join(HERE, "heap_train.py"), "25"]

    def read(out, wall, cpu, size):
        peak = re.search(r"VmHWM:\s*(\d+)", out)
        return wall, cpu, int(peak.group(1)) / 1024 if peak else 0, size

    found = {}
    plain = [name for name in names if not name.startswith("memray")]
    found.update(run_rounds(kinds, plain, argv, settings, read))
    if plain != names:
        found.update({k: v for k, v in run_rounds(kinds, ["bare"] + names[len(plain):], memray_argv,
                                                  settings, read).items() if k != "bare"})
    bare = found["bare"]
    print("importing torch and 25 steps: bare %.2f s [%.2f-%.2f], peak RSS %.0f MiB; of that:" %
          (middle([r[0] for r in bare]) + (middle([r[2] for r in bare])[0],)))
    for name in names[1:]:
        wall = middle([a[0] / b[0] for a, b in zip(found[name], bare)])
        cpu = middle([a[1] / b[1] for a, b in zip(found[name], bare)])
        peak = middle([a[2] - b[2] for a, b in zip(found[name], bare)])[0] if found[name][0][2] else None
        print("  %-16s wall x%.3f [%.3f-%.3f]   CPU x%.3f [%.3f-%.3f]   RSS %s   %7.1f MiB written" %
              ((name,) + wall + cpu + ("%+5.0f MiB" % peak if peak is not None else "       ?",
                                       middle([r[3] for r in found[name]])[0] / 2**20)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--part", choices=["micro", "process"])
    settings = parser.parse_args()
    settings.out = os.environ["O"]
    settings.lib, settings.nop = os.environ["LIB"], os.environ["NOP"]
    settings.python = os.environ.get("PYTHON", sys.executable)
    settings.tmp = os.environ.get("TMP")
    print("rounds %d; median [middle half]; heaptrack %s, memray %s" %
          (settings.rounds, "there" if heaptrack_preload() else "not there",
           "there" if has_memray(settings.python) else "not there"))
    if settings.part != "process":
        show_micro(settings)
    if settings.part != "micro":
        show_process(settings)


main()
