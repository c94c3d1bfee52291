#!/usr/bin/env python3
"""problem_item.py - a training that reads a value from the GPU after every layer"""

import torch
from torch import nn


class Blocks(nn.Module):
    def __init__(self, width=16, depth=6):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.largest = 0.0

    def forward(self, x):
        for block in self.blocks:
            x = torch.relu(block(x))
            self.largest = max(self.largest, x.max().item())  # the problem
        return x


def main():
    torch.manual_seed(1)
    model = Blocks()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(14):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        optimizer.step()
    print(f"{loss:.6f}")


if __name__ == "__main__":
    main()
