# SPDX-License-Identifier: Apache-2.0
"""two_trees.py base|now: a model whose last layer is of another class in one of them, and whose second block
is called twice in "now"."""

import sys

import torch

is_now = sys.argv[1] == "now"


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 256)
        self.down = torch.nn.Linear(256, 64)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.last = torch.nn.Linear(64, 64) if is_now else torch.nn.LayerNorm(64)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        if is_now:
            x = self.blocks[1](x)
        return self.last(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    net(torch.ones(32, 64)).sum().backward()
    optimizer.step()
