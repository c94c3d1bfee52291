# SPDX-License-Identifier: Apache-2.0
"""Rank 0 alone writes statistics in Python in each step."""
# expect: cause=uneven-ranks where=rank ?0
# run: torchrun 2
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import PLANTED, STEPS, batches, learn, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model, _ = parts(width=512)
model = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def write_statistics(at):
    total = 0
    for i in range(150000):
        total += (i * at) % 7
    return total


for at, (x, y) in enumerate(batches(32)):
    learn(model, optimizer, x, y)
    if PLANTED and rank == 0:
        write_statistics(at)
    if at == STEPS:
        break
dist.barrier()
dist.destroy_process_group()
