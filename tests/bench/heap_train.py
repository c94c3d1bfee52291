#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heap_train.py - a training whose host memory is watched: the load of tests/bench/heap.py

usage: heap_train.py STEPS

A small transformer on one thread; most of its blocks are those of importing torch, which makes it the hard
case: every import allocates from stacks that were never seen before.
"""

import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from torch import nn

STEPS = int(sys.argv[1])
torch.manual_seed(0)
torch.set_num_threads(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(512, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.1)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(64, 512)

    def forward(self, x):
        return self.out(self.layers(self.embed(x)))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
loss_of = nn.CrossEntropyLoss()
for step in range(STEPS):
    generator = torch.Generator().manual_seed(step)
    batch = torch.randint(0, 512, (16, 33), generator=generator)
    optimizer.zero_grad()
    loss = loss_of(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    loss.backward()
    optimizer.step()
print("loss %.6f" % loss.item())
