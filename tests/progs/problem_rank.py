#!/usr/bin/env python3
"""problem_rank.py - two ranks, of which the second one does more on the host; under torchrun"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def log_statistics(rank):
    if rank == 1:
        time.sleep(0.03)  # the problem


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        loss = model(torch.randn(64, 64)).square().mean()
        log_statistics(rank)
        loss.backward()
        optimizer.step()
    # gloo's teardown aborts now and then, with nobody looking on: the ranks leave without it.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
