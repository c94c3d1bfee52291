# SPDX-License-Identifier: Apache-2.0
"""parts_gpu.py - what the planted scripts for a GPU have in common

Without a GPU the script ends with a line that says so; PLANTED_DEVICE=cpu runs it there, with small
sizes. What a problem costs is measured against a step first (often), so that its share is the same on
any GPU. Where several scripts run at a time, PLANTED_TURN is a file: they train by turns, since work
of another process would show as a device that is slow.
"""
import atexit
import fcntl
import math
import multiprocessing
import os
import sys
import time

import torch
from torch import nn

DEVICE = os.environ.get("PLANTED_DEVICE", "cuda")
IS_GPU = DEVICE != "cpu"
if IS_GPU and not torch.cuda.is_available():
    print("%s: skipped: no GPU" % os.path.basename(sys.argv[0]), file=sys.stderr)
    sys.exit(0)
PLANTED = os.environ.get("PLANTED", "1") == "1"
STEPS = int(os.environ.get("STEPS", "32"))
ROWS = 8192 if IS_GPU else 64
INPUTS = 64
WIDTH = 2048 if IS_GPU else 64
MOST_ROUNDS = 4096 if IS_GPU else 8


def take_turn():
    path = os.environ.get("PLANTED_TURN")
    if IS_GPU:
        torch.ones(64, 64, device=DEVICE).matmul(torch.ones(64, 64, device=DEVICE)).sum().item()
    # The other ranks wait for the first one, where they meet.
    if path and os.environ.get("RANK", "0") == "0":
        file = open(path, "a")
        fcntl.flock(file, fcntl.LOCK_EX)
        atexit.register(end_turn, file)


def end_turn(file):
    synchronize()
    fcntl.flock(file, fcntl.LOCK_UN)


def synchronize():
    if IS_GPU:
        torch.cuda.synchronize()


# Workers that are started anew read this file as well.
if not multiprocessing.parent_process():
    take_turn()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    """With bfloat16 a step of some 20 ms on an H100, 3 of which the host needs to ask for it."""

    def __init__(self, width=WIDTH, layers=8, classes=16):
        super().__init__()
        self.first = nn.Linear(INPUTS, width)
        self.body = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(self.first(x)))


class Batches(torch.utils.data.IterableDataset):
    """Whole batches that cost next to nothing."""

    def __init__(self, rows=ROWS, n=STEPS):
        self.x, self.y, self.n = torch.randn(4, rows, INPUTS), torch.randint(16, (4, rows)), n

    def __iter__(self):
        for at in range(self.n):
            yield self.x[at % 4], self.y[at % 4]


def to_device(batch):
    return [part.to(DEVICE, non_blocking=True) for part in batch]


def batches(rows=ROWS, n=STEPS):
    """On the device, by way of pinned memory."""
    for batch in torch.utils.data.DataLoader(Batches(rows, n), batch_size=None, pin_memory=IS_GPU):
        yield to_device(batch)


def one_batch(rows=ROWS):
    return next(iter(batches(rows, 1)))


def parts(**kind):
    torch.manual_seed(0)
    # Made there: the host would take a second for its numbers.
    with torch.device(DEVICE):
        model = Net(**kind)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=IS_GPU)


def autocast():
    return torch.autocast(DEVICE, torch.bfloat16)


def learn(model, optimizer, x, y):
    with autocast():
        loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def seconds(what, n=3):
    """Of a call, with the work that it asks the device for; the first one does not count."""
    what()
    synchronize()
    begin = time.perf_counter()
    for _ in range(n):
        what()
    synchronize()
    return (time.perf_counter() - begin) / n


def often(problem, step, part=0.45, is_beside=False):
    """How many times a problem has to occur in a step to be that part of it. is_beside: the device works
    on the step meanwhile, and only what takes longer than that costs anything. 0: nothing is planted."""
    if not PLANTED:
        return 0
    base = seconds(step)
    wanted = base / (1 - part) if is_beside else base * part / (1 - part)
    return min(MOST_ROUNDS, math.ceil(wanted / max(seconds(problem), 1e-7)))


def limit_memory(bytes_most):
    """The allocator may take no more from the device."""
    if IS_GPU:
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(bytes_most / torch.cuda.mem_get_info()[1])


def peak_of(step):
    """Bytes of tensors at most while it runs, the second time."""
    step()
    if IS_GPU:
        torch.cuda.reset_peak_memory_stats()
    step()
    return torch.cuda.max_memory_allocated() if IS_GPU else 0
