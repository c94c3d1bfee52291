#!/usr/bin/env python3
"""trigger_ddp.py - a DDP training on gloo that goes on until its windows have been opened

usage: torchrun --nproc_per_node N trigger_ddp.py FOLDER WINDOWS [MODE]

Each rank writes its process number to FOLDER/pid.RANK when it has done 20 steps. All stop together,
20 steps after the last of WINDOWS files "trigger.N" is in FOLDER and its steps are over, or after two
minutes. MODE: slow (the last rank computes longer), eval (the first rank evaluates from time to
time while the others wait for it), handler (the program has a handler of SIGUSR2 of its own).
"""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

folder, n_windows = sys.argv[1], int(sys.argv[2])
mode = sys.argv[3] if len(sys.argv) > 3 else ""
heard = 0


def on_signal(number, frame):
    global heard
    heard += 1


def last_step():
    """The last step that was asked for; -1: not all windows were yet."""
    try:
        with open(f"{folder}/trigger.{n_windows - 1}") as file:
            return int(file.read().split()[3])
    except OSError:
        return -1


def main():
    if mode == "handler":
        signal.signal(signal.SIGUSR2, on_signal)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(nn.Linear(16, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    begin, step, stop = time.monotonic(), 0, torch.zeros(1)
    while not stop.item():
        if mode == "slow" and rank == world - 1:
            time.sleep(0.01)
        if mode == "eval" and rank == 0 and step % 50 == 49:
            time.sleep(0.3)
        optimizer.zero_grad()
        model(torch.ones(4, 16)).sum().backward()
        optimizer.step()
        step += 1
        if step == 20:
            with open(f"{folder}/pid.{rank}", "w") as file:
                file.write(f"{os.getpid()}\n")
        last = last_step() if rank == 0 else -1
        is_over = last >= 0 and step > last + 20 or time.monotonic() - begin > 120
        stop = torch.tensor([float(is_over)])
        dist.all_reduce(stop)
    if mode == "handler":
        # One call: other ranks write to the same place.
        os.write(1, b"rank %d heard %d\n" % (rank, heard))
    # gloo's teardown aborts now and then, with nobody looking on: the ranks leave without it.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


main()
