#!/usr/bin/env python3
"""train_gan.py - two networks, two optimizers that take turns, and no DataLoader

usage: train_gan.py [--steps N]
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

BATCH, NOISE = 64, 8


def real_points(generator):
    """Points on a ring."""
    angle = torch.rand(BATCH, generator=generator) * 6.283185
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(5)
    generator = torch.Generator().manual_seed(6)
    make = nn.Sequential(nn.Linear(NOISE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                         nn.Linear(64, 2))
    judge = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64),
                          nn.LeakyReLU(0.2), nn.Linear(64, 1))
    make_optimizer = torch.optim.Adam(make.parameters(), lr=1e-3, betas=(0.5, 0.9))
    judge_optimizer = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.9))
    ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

    for step in range(args.steps):
        real = real_points(generator)
        false = make(torch.randn(BATCH, NOISE, generator=generator))

        judge_optimizer.zero_grad()
        judge_loss = (F.binary_cross_entropy_with_logits(judge(real), ones)
                      + F.binary_cross_entropy_with_logits(judge(false.detach()), zeros))
        judge_loss.backward()
        judge_optimizer.step()

        make_optimizer.zero_grad()
        make_loss = F.binary_cross_entropy_with_logits(judge(false), ones)
        make_loss.backward()
        make_optimizer.step()
        if (step + 1) % 20 == 0:
            print(f"step {step + 1} judge {judge_loss.item():.6f} make {make_loss.item():.6f}")


if __name__ == "__main__":
    main()
