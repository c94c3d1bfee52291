#!/usr/bin/env python3
"""train_compiled.py - model and optimizer step both under torch.compile

usage: train_compiled.py [--steps N] [--backend NAME]

The eager backend of the compiler captures graphs but makes no machine code: quick, and no
C++ compiler is needed. `--backend inductor` is what users run.
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--backend", default="aot_eager")
    args = parser.parse_args()
    torch.manual_seed(10)
    x = torch.randn(args.steps * 16, 32)
    data = TensorDataset(x, x.sum(1, keepdim=True).sin())
    model = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 1))
    forward = torch.compile(model, backend=args.backend)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(3e-3))

    @torch.compile(backend=args.backend)
    def update():
        optimizer.step()

    for step, (batch, wanted) in enumerate(DataLoader(data, 16)):
        optimizer.zero_grad()
        loss = F.mse_loss(forward(batch), wanted)
        loss.backward()
        update()
        if (step + 1) % 4 == 0:
            print(f"step {step + 1} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
