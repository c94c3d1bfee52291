#!/usr/bin/env python3
"""problem_item.py - a training that reads a value from the GPU for every sample"""

import torch
from torch import nn


def count_right(guess, y):
    right = 0
    for i in range(len(y)):
        right += (guess[i] == y[i]).item()  # the problem
    return right


def main():
    torch.manual_seed(1)
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    right = 0
    for _ in range(14):
        x, y = torch.randn(32, 16), torch.randint(4, (32,))
        optimizer.zero_grad()
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        right += count_right(out.argmax(1), y)
        loss.backward()
        optimizer.step()
    print(f"{loss:.6f} {right}")


if __name__ == "__main__":
    main()
