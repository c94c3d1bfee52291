#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nsys.py - what recording every step of a training costs, and takes on disk, by us and by Nsight Systems

usage: nsys.py [--rounds N] [--steps N]                                     (LIB, PYTHON, TMP: make bench)

A small transformer without a GPU, by turns bare, bare again, with our default and below `nsys profile` with its
own (calls of the C library, NVTX, samples of the processor's instructions: no operators, tensors, or lines of
Python, which its user gets by torch.autograd.profiler.emit_nvtx() in the script). A step's median, relative to
the bare one of the same round, median of the rounds and middle half; bytes of the files. nsys is NSYS, else what
is in PATH (Debian: package nsight-systems of non-free); without it only ours is measured.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

KINDS = "bare", "bare again", "ours", "nsys"


def train(steps):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 4)
    optimizer = torch.optim.AdamW(model.parameters())
    times = []
    for _ in range(steps):
        begin = time.monotonic()
        optimizer.zero_grad()
        model(torch.randn(8, 32, 64)).square().mean().backward()
        optimizer.step()
        times.append(time.monotonic() - begin)
    print(1e6 * statistics.median(times[len(times) // 5:]))


def measure(kind, nsys, steps):
    """us of a step, bytes written."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMP")) as folder:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("TRAINPROF_", "LD_PRELOAD"))}
        command = [os.environ.get("PYTHON", sys.executable), __file__, "--run", "--steps", str(steps)]
        if kind == "ours":
            env.update(LD_PRELOAD=os.path.abspath(os.environ["LIB"]), TRAINPROF_DIR=folder + "/run",
                       TRAINPROF_SCHEDULE="always")
        elif kind == "nsys":
            command = [nsys, "profile", "-o", folder + "/report"] + command
        out = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL).stdout
        size = sum(os.path.getsize(os.path.join(at, name))
                   for at, _, names in os.walk(folder) for name in names)
        return float(next(line for line in out.splitlines() if line[:1].isdigit())), size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=150)
    settings = parser.parse_args()
    if settings.run:
        return train(settings.steps)
    nsys = os.environ.get("NSYS") or shutil.which("nsys")
    kinds = [kind for kind in KINDS if kind != "nsys" or nsys]
    ratio, size = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    for _ in range(settings.rounds):
        for kind in kinds:
            us, n_bytes = measure(kind, nsys, settings.steps)
            if kind == "bare":
                bare = us
            ratio[kind].append(us / bare)
            size[kind].append(n_bytes / settings.steps)
    print("a step of %.2f ms bare:" % (bare / 1000), "no nsys here" if not nsys else "")
    for kind in kinds[1:]:
        low, middle, high = statistics.quantiles(ratio[kind], n=4)
        print("  %-10s %+.1f %% [%+.1f - %+.1f]  %8.1f KiB written per step" % (
            kind, *(100 * (part - 1) for part in (middle, low, high)), statistics.median(size[kind]) / 1024))


main()
