#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""score.py - does the first advice name the planted problem?

usage: score.py [--from DIR] [--keep DIR [--record]] [--jobs N] [--limit S] [--within S] [--repeat N]
                [--removed] [--busy N] [--schedule S] [--calibrate] [NAME...]
                                               (LIB, MERGE, PYTHON; NAME: part of a script's name)

Each script is run as README says, merged, and the first row of the overview's table `advice` is the
verdict. A script's head says what is expected:

    # expect: cause=NAME[,NAME] where=PATTERN     or     # expect: healthy
    # run: torchrun N                             (else python)
    # needs: MODULE, MODULE                       (else it is skipped, and said; cuda: a GPU)

right: cause and place; cause: the place is not named; elsewhere: the cause is a later advice;
missed: no advice at all; wrong: another cause is accused first. --removed runs the planted ones
with PLANTED=0, where there must be none. --keep leaves the runs in DIR, --from scores those that
are there; --record only makes them. --jobs: so many scripts at a time; those for a GPU train by turns,
others get in each other's way. --limit: seconds of a run, --within: of all. --busy: beside so many
loops that do nothing: the verdict is to be the same, or none. --schedule: another TRAINPROF_SCHEDULE
('' is the library's own); the environment's STEPS is the length of most runs. --calibrate: what the
problem costs a step, without us. Status 1: something was accused that is not there, or less is right
than --at-least says.
"""
import argparse
import concurrent.futures
import contextlib
import functools
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SCHEDULE = "wait=5,warmup=1,active=4,repeat=2"
LONGEST_S = 300  # of a run, also on a busy machine
# The rules that name a cause.
RULES = {
    "data-loading": "data-loading|busy-workers", "epoch-start": "epoch-start",
    "between": "between-epochs", "host-code": "host-code",
    "periodic": "every-n-steps", "stalls": "slow-steps", "small-operators": "small-operators",
    "optimizer": "small-operators|optimizer", "hot-line": "hot-line|recomputed-constants",
    "layout-copies": "layout-copies", "double": "double-precision", "lock": "interpreter-lock",
    "threads": "too-many-threads", "cores": "waits-for-cores", "few-threads": "too-few-threads",
    "recompilation": "recompilation",
    "memory-growth": "memory-growth", "host-memory-growth": "host-memory-growth|memory-growth",
    "step-growth": "step-growth|slow-since", "garbage": "garbage", "uneven-ranks": "uneven-ranks",
    "communication": "communication|small-buckets|many-collectives",
    "synchronising": "synchronising", "device-allocations": "device-allocations",
    "pageable-copies": "pageable-copies", "exposed-copies": "exposed-copies", "host-bound": "host-bound",
    "anomaly": "anomaly-detection", "profiler": "torch-profiler", "python-hooks": "python-hooks",
    "evaluation": "evaluation", "extra-operators": "extra-operators",
    "dense-embedding": "dense-embedding", "one-hot": "one-hot", "decompositions": "matrix-decompositions",
    "few-blocks": "few-blocks", "unused-gradients": "unused-gradients", "tensor-cores": "tensor-cores", "gloo": "gloo",
}
VERDICTS = ("right", "cause", "elsewhere", "missed", "wrong", "healthy", "false alarm", "recorded", "failed")


def read_head(path):
    """(causes, or None where it is healthy; pattern of the place; ranks)"""
    with open(path) as file:
        head = file.read(2000)
    said = re.search(r"^# expect: (?:healthy|cause=(\S+) where=(.*))$", head, re.M)
    if not said:
        sys.exit("%s: no '# expect:' line" % path)
    run = re.search(r"^# run: torchrun (\d+)$", head, re.M)
    causes = said.group(1).split(",") if said.group(1) else None
    for cause in causes or ():
        if cause not in RULES:
            sys.exit("%s: no such cause: '%s'" % (path, cause))
    return causes, said.group(2), int(run.group(1)) if run else 0


def judge(causes, where, advice):
    """The verdict on the rows of `advice`, the first one first."""
    if causes is None:
        return "false alarm" if advice else "healthy"
    rules = re.compile("|".join("^(?:%s)$" % RULES[cause] for cause in causes))
    if not advice:
        return "missed"
    first = advice[0]
    if rules.match(first["rule"]):
        text = " ".join(str(first.get(key) or "") for key in ("place", "evidence", "advice"))
        return "right" if re.search(where, text, re.I) else "cause"
    return "elsewhere" if any(rules.match(row["rule"]) for row in advice) else "wrong"


def command(path, ranks):
    python = os.environ.get("PYTHON", sys.executable)
    if not ranks:
        return [python, path]
    return [python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks),
            path]


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRAINPROF_")}
    env.update(more)
    return env


def run_well(args, what, seconds=LONGEST_S, **more):
    """What a command did; None, and a line that says so, where it failed or took too long. All of a
    launcher's processes end with it."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(args, stderr=said, text=True, start_new_session=True, **more)
        try:
            out = process.communicate(timeout=seconds)[0]
            why = "ended with status %d" % process.returncode if process.returncode else None
        except subprocess.TimeoutExpired:
            why = "did not end within %d s" % seconds
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        if why:
            print("%s %s: %s" % (what, why, said.read()[-400:].strip()), file=sys.stderr, flush=True)
        return None if why else out or ""


def train(path, ranks, folder, settings):
    env = environment(LD_PRELOAD=os.path.abspath(os.environ.get(
        "LIB", os.path.join(TOP, "build/libtrainprof.so"))), TRAINPROF_DIR=os.path.abspath(folder),
        TRAINPROF_OVERWRITE="1", PLANTED="0" if settings.removed else "1")
    if settings.schedule:
        env["TRAINPROF_SCHEDULE"] = settings.schedule
    if settings.jobs > 1:
        env["PLANTED_TURN"] = os.path.join(settings.turns, "turn")
        env.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // settings.jobs)))
    limit = min(settings.limit, settings.end - time.monotonic())
    if limit <= 0:
        print("%s: no time was left to run it" % path, file=sys.stderr, flush=True)
        return False
    return run_well(command(path, ranks), path, limit, env=env, stdout=subprocess.DEVNULL,
                    cwd=HERE) is not None


def read_advice(folder):
    """None: there is none to read, which was said."""
    merge = os.environ.get("MERGE", os.path.join(TOP, "build/trainprof-merge"))
    out = run_well([merge, "-q", "-v", "overview", "-f", "jsonl", folder], "the merge of " + folder,
                   stdout=subprocess.PIPE)
    if out is None:
        return None
    rows = [json.loads(line) for line in out.splitlines()]
    return [row for row in rows if row.get("table") == "advice"]


def calibrate(path, ranks):
    """Seconds of the script with its problem and without; starting Python and torch left out. None: it failed."""
    times = {}
    for planted in "1", "0", "1", "0":
        begin = time.monotonic()
        if run_well(command(path, ranks), path, env=environment(PLANTED=planted), cwd=HERE,
                    stdout=subprocess.DEVNULL) is None:
            return None
        times.setdefault(planted, []).append(time.monotonic() - begin)
    begin = time.monotonic()
    subprocess.run(command("/dev/null", ranks) if ranks else
                   [command("", 0)[0], "-c", "import torch"], env=environment(), check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    start = time.monotonic() - begin
    return min(times["1"]) - start, max(min(times["0"]) - start, 1e-3)


@functools.lru_cache(maxsize=None)
def has(module):
    if module == "cuda" and os.environ.get("PLANTED_DEVICE"):
        return True
    tried = "import torch; torch.ones(1, device='cuda')" if module == "cuda" else \
        "import importlib.util as u, sys; sys.exit(not u.find_spec('%s'))" % module
    return not subprocess.run([command("", 0)[0], "-c", tried], env=environment(), check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def lacks(path):
    """The first module that the script needs and PYTHON lacks, or the GPU; None: nothing."""
    with open(path) as file:
        needs = re.search(r"^# needs: (.*)$", file.read(2000), re.M)
    for module in needs.group(1).split(", ") if needs else ():
        if not has(module):
            return "no GPU" if module == "cuda" else "no module " + module
    return None


def choose(names):
    # The healthy ones first: where time ends, a false alarm is what should not be missed.
    paths = sorted((p for p in glob.glob(os.path.join(HERE, "*.py"))
                    if os.path.basename(p) not in ("score.py", "parts.py", "parts_gpu.py", "parts_trainer.py")),
                   key=lambda p: (not os.path.basename(p).startswith("healthy"), p))
    return [p for p in paths if not names or any(n in os.path.basename(p) for n in names)]


def score_run(path, run, settings):
    """(verdict, what is told of it); None: there is no such run."""
    causes, where, ranks = read_head(path)
    with tempfile.TemporaryDirectory() as tmp:
        folder = os.path.join(settings.source or settings.keep or tmp, run)
        if settings.source and not os.path.isdir(folder):
            return None
        if not settings.source and not train(path, ranks, folder, settings):
            return "failed", ""
        if settings.record:
            return "recorded", ""
        advice = read_advice(folder)
    if advice is None:
        return "failed", ""
    first = advice[0] if advice else {}
    return judge(None if settings.removed else causes, where, advice), "%s: %s | %s" % (
        first["rule"], first["evidence"], first.get("place") or "") if first else ""


def choose_runs(paths, settings):
    """(script, name of a run) of each that is to be, and can be."""
    for path in paths:
        name = os.path.basename(path)[:-3]
        if settings.removed and read_head(path)[0] is None:
            continue
        missing = None if settings.source else lacks(path)
        if missing:
            print("%-12s %-26s %s" % ("skipped", name, missing), flush=True)
            continue
        for at in range(settings.repeat):
            yield path, "%s%s%s" % (name, ".removed" if settings.removed else "", ".%d" % at if at else "")


@contextlib.contextmanager
def foreign_load(n):
    loop = "import os\nwhile os.getppid() == %d: pass" % os.getpid()
    loops = [subprocess.Popen([sys.executable, "-c", loop], env={}) for _ in range(n)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def score(paths, settings):
    found = {verdict: [] for verdict in VERDICTS}
    with concurrent.futures.ThreadPoolExecutor(settings.jobs) as pool:
        runs = {pool.submit(score_run, path, run, settings): run for path, run in choose_runs(paths, settings)}
        for done in concurrent.futures.as_completed(runs):
            if not done.result():
                continue
            verdict, told = done.result()
            found[verdict].append(runs[done])
            print("%-12s %-26s %s" % (verdict, runs[done], told), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--keep")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=LONGEST_S)
    parser.add_argument("--within", type=float, default=float("inf"))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--removed", action="store_true")
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--schedule", default=SCHEDULE)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--at-least", type=float, default=0, help="percent that are right")
    settings = parser.parse_args()
    if settings.record and not settings.keep:
        parser.error("--record needs --keep")
    settings.end = time.monotonic() + settings.within
    paths = choose(settings.names)
    is_failed = False
    if settings.calibrate:
        for path in paths:
            causes, _, ranks = read_head(path)
            if causes:
                seconds = calibrate(path, ranks)
                if not seconds:
                    is_failed = True
                    continue
                with_it, without = seconds
                print("%-26s %5.2f s with it, %5.2f s without: %+.0f %% of a step" % (
                    os.path.basename(path)[:-3], with_it, without,
                    100 * (with_it - without) / with_it), flush=True)
        return int(is_failed)
    with tempfile.TemporaryDirectory() as settings.turns, foreign_load(settings.busy):
        found = score(paths, settings)
    n_planted = sum(len(found[v]) for v in VERDICTS[:5])
    if found["failed"]:
        print("failed       %3d: %s" % (len(found["failed"]), " ".join(found["failed"])))
    for verdict in VERDICTS[:-2]:
        of = n_planted if verdict in VERDICTS[:5] else \
            len(found["healthy"]) + len(found["false alarm"])
        if of:
            print("%-12s %3d of %d, %.0f %%" % (verdict, len(found[verdict]), of,
                                               100 * len(found[verdict]) / of))
    is_less = n_planted and 100 * len(found["right"]) / n_planted < settings.at_least
    return 1 if is_less or found["false alarm"] or found["wrong"] or found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
