#!/usr/bin/env python3
"""problem_leak.py - a training that keeps something of every step"""

import torch
from torch import nn


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    history = []
    for _ in range(40):
        optimizer.zero_grad()
        x = torch.randn(256, 64)
        y = model(x)
        history.append(y.detach() * 2)  # the problem
        loss = (y - x).square().mean()
        loss.backward()
        optimizer.step()
    print(f"{loss:.6f} {len(history)}")


if __name__ == "__main__":
    main()
