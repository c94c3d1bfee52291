# SPDX-License-Identifier: Apache-2.0
"""compare_schedule.py - the schedule against torch.profiler.schedule, step by step

usage: compare_schedule.py LIBRARY [--settings N] [--seed N]

LIBRARY is runtime/engine/config/schedule.c as a shared object. Prints the number of settings and
steps compared and exits with 1 at the first difference. Settings are random, but the edges
(no wait, no warm-up, one active step, for ever) come often.
"""

import argparse
import ctypes
import random
import sys
import warnings

from torch.profiler import ProfilerAction, schedule

WAIT, WARMUP, ACTIVE = 2, 3, 4  # enum tp_phase


class Spec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("skip_first", "wait", "warmup", "active", "repeat")]
    _fields_ += [("per_run", ctypes.c_bool), ("always", ctypes.c_bool)]
    _fields_ += [("only_extra", ctypes.c_bool), ("at", ctypes.c_uint64 * 32),
                 ("n_at", ctypes.c_uint32)]


class Action(ctypes.Structure):
    _fields_ = [("phase", ctypes.c_int), ("is_last_active", ctypes.c_bool)]


def as_torch(action):
    if action.phase == ACTIVE:
        return ProfilerAction.RECORD_AND_SAVE if action.is_last_active else ProfilerAction.RECORD
    return ProfilerAction.WARMUP if action.phase == WARMUP else ProfilerAction.NONE


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--settings", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=20)
    args = parser.parse_args()
    library = ctypes.CDLL(args.library)
    library.tp_sched_at.argtypes = [ctypes.POINTER(Spec), ctypes.c_uint64]
    library.tp_sched_at.restype = Action
    library.tp_sched_parse.argtypes = [ctypes.POINTER(Spec), ctypes.c_char_p, ctypes.c_char_p,
                                       ctypes.c_uint32]
    warnings.simplefilter("ignore")  # torch warns of schedules without warm-up
    rng = random.Random(args.seed)
    n_steps = 0
    for _ in range(args.settings):
        setting = {
            "skip_first": rng.choice([0, 0, 1, rng.randrange(20)]),
            "wait": rng.choice([0, 0, 1, rng.randrange(12)]),
            "warmup": rng.choice([0, 1, rng.randrange(6)]),
            "active": rng.choice([1, 1, 2, 1 + rng.randrange(10)]),
            "repeat": rng.choice([0, 1, 2, rng.randrange(6)]),
        }
        theirs = schedule(**setting)
        words = [f"{name}={value}" for name, value in setting.items()]
        rng.shuffle(words)
        text = ",".join(words)
        spec = Spec(active=1)
        bad = ctypes.create_string_buffer(64)
        if library.tp_sched_parse(spec, text.encode(), bad, 64):
            print(f"{text}: refused at '{bad.value.decode()}'")
            return 1
        cycle = setting["wait"] + setting["warmup"] + setting["active"]
        steps = list(range(setting["skip_first"] + cycle * (setting["repeat"] or 3) + 3))
        steps += [rng.randrange(10**9) for _ in range(5)]
        for step in steps:
            ours = as_torch(library.tp_sched_at(spec, step))
            if ours != theirs(step):
                print(f"{text}: step {step}: {ours}, torch: {theirs(step)}")
                return 1
        n_steps += len(steps)
    print(f"{args.settings} settings, {n_steps} steps: all equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
