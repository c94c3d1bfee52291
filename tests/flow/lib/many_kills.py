#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""many_kills.py N HELD - kills the program N times, and compares what is left each time

usage: many_kills.py N HELD          with LIB, MERGE and O of the flow tests, in a folder of its own

Each time HELD, which does nothing but allocate on four threads, records host memory with native stacks
into a ring of 4 MiB and is killed with SIGKILL at a random moment of the first thousandths of a second
of its window. What had been published by then, by a reader of the ring that is not the merge's, is what
the files have after --recover; each tenth time every stack is looked at, too. Prints TAP: a line for
each that was not so, and one for all.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import ring_reader
import stacks_whole

RUN, DUMP = "run", "dump"
SETTINGS = {
    "TRAINPROF_DIR": RUN, "TRAINPROF_RECORD": "heap", "TRAINPROF_STACKS": "heap",
    "TRAINPROF_BUFFER": "4M", "TRAINPROF_SCHEDULE": "always", "TRAINPROF_STEP": "clock:10",
    "TRAINPROF_PROGRAM": "held", "LD_PRELOAD": os.environ["LIB"],
}
HEAP_EVENTS = tuple(b"EVENT\t%d\t" % kind for kind in range(18, 23))


def traces():
    names = os.listdir(RUN) if os.path.isdir(RUN) else []
    return [os.path.join(RUN, name) for name in sorted(names) if ".tpt" in name]


def kill_one(held):
    """None, or why there was nothing to compare."""
    shutil.rmtree(RUN, ignore_errors=True)
    program = subprocess.Popen([held, "allocate"], env=dict(os.environ, **SETTINGS),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not traces() and program.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(random.random() * 0.008)
    program.send_signal(signal.SIGKILL)
    said = program.communicate()[1].decode("utf-8", "replace")
    return None if traces() else "no trace: %r" % said


def compare(with_stacks):
    """(what is not so or None, records)."""
    rings = [ring_reader.read_ring(path, RUN) for path in ring_reader.find_rings(RUN)]
    published = sum(ring["heap"] for ring in rings if ring)
    merge = subprocess.run([os.environ["MERGE"], "--recover", "-v", "health", RUN],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if merge.returncode:
        return "the merge ended with %d: %r" % (merge.returncode, merge.stderr), published
    n_files = 0
    for trace in traces():
        with open(DUMP, "wb") as dump:
            subprocess.run([os.environ["O"] + "/tests/progs/tptdump", trace], stdout=dump, check=False)
        with open(DUMP, "rb") as dump:
            n_files += sum(line.startswith(HEAP_EVENTS) for line in dump)
        if with_stacks:
            whole = stacks_whole.read_dump(DUMP)
            if whole.troubles:
                return "; ".join(whole.troubles), published
    if n_files != published:
        return "%d records were published, %d are in files" % (published, n_files), published
    return None, published


def main():
    n_kills, held = int(sys.argv[1]), os.path.abspath(sys.argv[2])
    n_records = n_false = n_empty = 0
    for i in range(n_kills):
        said, n = kill_one(held), 0
        if not said:
            said, n = compare(i % 10 == 0)
        n_records += n
        n_empty += n == 0
        if said:
            n_false += 1
            print("not ok - kill %d: %s" % (i, said), flush=True)
            if os.path.isdir(RUN):
                shutil.copytree(RUN, "kept.%d" % i, symlinks=True)
    print("%sok - %d kills: all that was published is in files, once" % (
        "not " if n_false else "", n_kills))
    print("%sok - nearly all had something to lose" % ("not " if n_empty * 10 > n_kills else ""))
    print("# %d kills, %d records, %d without one" % (n_kills, n_records, n_empty))


if __name__ == "__main__":
    main()
