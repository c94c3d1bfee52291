#!/usr/bin/env python3
"""train_scaler.py - mixed precision with a gradient scaler; in one step the gradients are not
finite and the scaler skips the optimizer

usage: train_scaler.py [--steps N] [--skip N]
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--skip", type=int, default=7, help="the step with infinite gradients")
    args = parser.parse_args()
    torch.manual_seed(9)
    x = torch.randn(args.steps * 16, 32)
    data = TensorDataset(x, x[:, :8].pow(2).sum(1, keepdim=True))
    model = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 1))
    optimizer = torch.optim.NAdam(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    for step, (batch, wanted) in enumerate(DataLoader(data, 16)):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            guess = model(batch)
        loss = F.mse_loss(guess.float(), wanted)
        if step == args.skip:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if (step + 1) % 8 == 0:
            print(f"step {step + 1} loss {loss.item():.6f} scale {scaler.get_scale():.0f}")


if __name__ == "__main__":
    main()
