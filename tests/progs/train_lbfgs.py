#!/usr/bin/env python3
"""train_lbfgs.py - a whole-data fit by L-BFGS: the optimizer calls a closure several times in
each of its steps; no DataLoader

usage: train_lbfgs.py [--steps N]
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    args = parser.parse_args()
    torch.manual_seed(8)
    x = torch.linspace(-2, 2, 128).unsqueeze(1)
    wanted = (3 * x).sin() * (-x * x / 2).exp()
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(),
                          nn.Linear(32, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), wanted)
        loss.backward()
        return loss

    for step in range(args.steps):
        loss = optimizer.step(closure)
        if (step + 1) % 5 == 0:
            print(f"step {step + 1} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
