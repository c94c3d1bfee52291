# SPDX-License-Identifier: Apache-2.0
"""A small training under a profiler of PyTorch's: profiled.py always|schedule|never."""
import contextlib
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(32, 32), nn.ReLU()) for _ in range(12)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
when = {"always": None, "schedule": schedule(wait=1, warmup=1, active=2, repeat=1)}
watched = (contextlib.nullcontext() if sys.argv[1] == "never" else
           profile(activities=[ProfilerActivity.CPU], schedule=when[sys.argv[1]]))
with watched as profiler:
    for _ in range(20):
        loss = model(torch.randn(16, 32)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if sys.argv[1] == "schedule":
            profiler.step()
print(loss.item())
