#!/usr/bin/env python3
"""problem_launches.py - a training of many small kernels, which the host cannot ask for fast enough"""

import torch
from torch import nn


def smooth(x):
    for _ in range(60):
        x = x * 0.5 + x.roll(1, 0) * 0.5  # the problem
    return x


def main():
    torch.manual_seed(1)
    model = nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(14):
        optimizer.zero_grad()
        loss = smooth(model(torch.randn(8, 16))).square().mean()
        loss.backward()
        optimizer.step()
    print(f"{loss:.6f}")


if __name__ == "__main__":
    main()
