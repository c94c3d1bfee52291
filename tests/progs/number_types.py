# SPDX-License-Identifier: Apache-2.0
"""A small training in one type of numbers: number_types.py float32|float64|bfloat16."""
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
kind = getattr(torch, sys.argv[1])
model = nn.Sequential(*(nn.Sequential(nn.Linear(32, 32), nn.ReLU()) for _ in range(12))).to(kind)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(16):
    # A statistic in double precision, as many losses and metrics have.
    seen = torch.ones(4, dtype=torch.float64).sum()
    loss = model(torch.randn(16, 32, dtype=kind)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), seen.item())
