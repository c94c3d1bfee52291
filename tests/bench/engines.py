# SPDX-License-Identifier: Apache-2.0
"""engines.py RUN: calls and time of each operator, by the merge alone (its view) and by local clusters of Dask and
Spark with one and two workers, where they are installed. Wall time, and CPU time of all processes while the
question is asked: a cluster is started before."""

import os
import resource
import subprocess
import sys
import time

import psutil
import pyarrow

import trainprof

MERGE = os.environ["MERGE"]


def cpu_now():
    """CPU seconds of this process and all below it."""
    total = 0
    for process in [psutil.Process()] + psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def by_merge(path):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([MERGE, "-q", "-v", "operator", "-f", "jsonl", "-o", os.devnull, path], check=True,
                   stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_engine(make, path, workers, expected):
    engine = make(path, workers)
    try:
        # Workers have what they import.
        engine.rows("processes")
        cpu, begin = cpu_now(), time.monotonic()
        found = engine.operators()
        wall, cpu = time.monotonic() - begin, cpu_now() - cpu
    finally:
        engine.close()
    assert found == expected, "another answer"
    return wall, cpu


def say(name, cost, n_events):
    print("%-16s wall %6.1f s, cpu %6.1f s = %5.2f M events/s of wall, %5.2f of cpu"
          % (name, *cost, n_events / cost[0] / 1e6, n_events / cost[1] / 1e6), flush=True)


def main(path):
    import engines_parts
    with trainprof.open(path) as run:
        rows = pyarrow.table(run["files"].select("events", "file_bytes"))
        n_events, n_bytes = (sum(rows[name].to_pylist()) for name in ("events", "file_bytes"))
        expected = engines_parts.operators(run)
    print("%d ranks, %.1f M events, %.0f MB" % (len(rows), n_events / 1e6, n_bytes / 1e6), flush=True)
    say("merge alone", by_merge(path), n_events)
    for name, needs in ("Dask", "distributed"), ("Spark", "pyspark"):
        try:
            __import__(needs)
        except ImportError:
            print("%s: not installed (make setup-long)" % name)
            continue
        for workers in 1, 2:
            cost = by_engine(getattr(engines_parts, name), path, workers, expected)
            say("%s, %d worker%s" % (name, workers, "s" * (workers > 1)), cost, n_events)


if __name__ == "__main__":
    os.environ.setdefault("TRAINPROF_TEST", "engines")
    main(*sys.argv[1:])
