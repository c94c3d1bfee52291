#!/usr/bin/env python3
"""late_rank.py - a DDP training on gloo in which one rank may be late, and why is known

usage: torchrun --nproc_per_node N late_rank.py [--late data|host|ops] [--every N] [--buckets N] [--steps N]
                                                [--ms N]

The last rank is late by some 20 ms (--ms) a step, or by as much for all in every N-th: in its data set (there
in each), in Python, or in operators. Each rank prints one line at the end with what it did: all-reduces of buckets,
of the loss, barriers; with --buckets another one, when it began the backward pass of each step (ns). With --buckets there are so many in a step, under way together, and nothing else.
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


class Numbers(Dataset):
    def __init__(self, late_s):
        self.late_s = late_s

    def __len__(self):
        return 100000

    def __getitem__(self, at):
        if at % BATCH == 0:
            time.sleep(self.late_s)
        return torch.full((64,), at % 7 / 7), at % 10


def make_model(n_buckets):
    if not n_buckets:
        return DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)))
    sizes = [64] + [256] * (n_buckets - 1) + [10]
    layers = [nn.Linear(i, o, bias=False) for i, o in zip(sizes, sizes[1:])]
    # A bucket for each weight: none is larger than a byte.
    dist._DEFAULT_FIRST_BUCKET_BYTES = 1
    return DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=1 / (1 << 20))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--late", default="", choices=["", "data", "host", "ops"])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--buckets", type=int, default=0)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--ms", type=float, default=20)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    late = args.late if dist.get_rank() == dist.get_world_size() - 1 else ""
    model = make_model(args.buckets)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    square = torch.ones(128, 128)
    came_ns = []
    late_s = args.ms / 1000 * args.every
    data = DataLoader(Numbers(late_s if late == "data" else 0), batch_size=BATCH)
    for step, (x, y) in enumerate(data):
        if step == args.steps:
            break
        optimizer.zero_grad()
        is_due = step % args.every == 0
        until = time.monotonic() + late_s
        while late == "ops" and is_due and time.monotonic() < until:
            for _ in range(50):
                square @ square
        if late == "host" and is_due:
            time.sleep(late_s)
        loss = nn.functional.cross_entropy(model(x), y)
        came_ns.append(time.monotonic_ns())
        loss.backward()
        if not args.buckets:
            dist.all_reduce(loss.detach())
            dist.barrier()
        optimizer.step()
    print("rank %d loss %.6f" % (dist.get_rank(), loss.item()), flush=True)
    if args.buckets:
        print("rank %d came %s" % (dist.get_rank(), " ".join(map(str, came_ns))), flush=True)
    dist.barrier()
    # gloo's teardown aborts now and then, with nobody looking on: the ranks leave without it.
    os._exit(0)


main()
