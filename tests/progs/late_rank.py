#!/usr/bin/env python3
"""late_rank.py - a DDP training on gloo in which one rank may be late, and why is known

usage: torchrun --nproc_per_node N late_rank.py [--late data|host|ops] [--steps N]

The last rank is late by some 20 ms a step: in its data set, in Python, or in operators. Each rank
prints one line at the end with what it did: all-reduces of buckets, of the loss, barriers.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

BATCH = 16
LATE_S = 0.02


class Numbers(Dataset):
    def __init__(self, is_late):
        self.is_late = is_late

    def __len__(self):
        return 100000

    def __getitem__(self, at):
        if self.is_late and at % BATCH == 0:
            time.sleep(LATE_S)
        return torch.full((64,), at % 7 / 7), at % 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--late", default="", choices=["", "data", "host", "ops"])
    parser.add_argument("--steps", type=int, default=14)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    late = args.late if dist.get_rank() == dist.get_world_size() - 1 else ""
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    square = torch.ones(128, 128)
    for step, (x, y) in enumerate(DataLoader(Numbers(late == "data"), batch_size=BATCH)):
        if step == args.steps:
            break
        optimizer.zero_grad()
        until = time.monotonic() + LATE_S
        while late == "ops" and time.monotonic() < until:
            for _ in range(50):
                square @ square
        if late == "host":
            time.sleep(LATE_S)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        dist.all_reduce(loss.detach())
        dist.barrier()
        optimizer.step()
    print("rank %d loss %.6f" % (dist.get_rank(), loss.item()), flush=True)
    dist.barrier()
    # gloo's teardown aborts now and then, with nobody looking on: the ranks leave without it.
    os._exit(0)


main()
