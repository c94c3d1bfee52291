# SPDX-License-Identifier: Apache-2.0
"""Rank 1 computes an auxiliary loss that the other doesn't."""
# expect: cause=uneven-ranks where=rank ?1
# run: torchrun 2
import torch
from torch import nn
from parts import PLANTED, Net, batches, join, leave, parallel

rank = join()
model, optimizer = parallel(Net(width=512))


def auxiliary(x):
    with torch.no_grad():
        return sum(model.module(x).square().mean() for _ in range(8))


for x, y in batches(32):
    if PLANTED and rank == 1:
        auxiliary(x)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
leave()
