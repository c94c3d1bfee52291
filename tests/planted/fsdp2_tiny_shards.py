# SPDX-License-Identifier: Apache-2.0
"""FSDP2: each of many tiny layers is sharded by itself, and gathered by itself."""
# expect: cause=communication where=small|all_gather|reduce_scatter
# run: torchrun 2
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from parts import PLANTED, batches, join, learn, leave

join()
layers = nn.Sequential(nn.Linear(256, 64), *(nn.Sequential(nn.Linear(64, 64), nn.ReLU())
                                             for _ in range(30)), nn.Linear(64, 10))
if PLANTED:
    for layer in layers:
        fully_shard(layer)
fully_shard(layers)
optimizer = torch.optim.SGD(layers.parameters(), lr=1e-3)
for x, y in batches(512):
    learn(layers, optimizer, x, y)
leave()
