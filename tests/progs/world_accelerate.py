#!/usr/bin/env python3
"""world_accelerate.py - an Accelerate loop: twelve steps of two accumulated batches each"""

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def main():
    set_seed(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    x = torch.randn(192, 16)
    data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for at, (batch, wanted) in enumerate(data):
        with accelerator.accumulate(model):
            loss = F.mse_loss(model(batch), wanted)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        print(f"batch {at} loss {loss.item():.8f}", flush=True)


if __name__ == "__main__":
    main()
