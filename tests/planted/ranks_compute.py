# SPDX-License-Identifier: Apache-2.0
"""Rank 1 computes an auxiliary loss that the other doesn't."""
# expect: cause=uneven-ranks where=rank ?1
# run: torchrun 2
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch import nn
from parts import PLANTED, STEPS, batches, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model, _ = parts(width=512)
model = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def auxiliary(x):
    with torch.no_grad():
        return sum(model.module(x).square().mean() for _ in range(8))


for at, (x, y) in enumerate(batches(32)):
    if PLANTED and rank == 1:
        auxiliary(x)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if at == STEPS:
        break
dist.barrier()
dist.destroy_process_group()
