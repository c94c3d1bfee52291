# SPDX-License-Identifier: Apache-2.0
"""tracemalloc was left on after a search for a leak."""
# expect: cause=python-hooks where=tracemalloc
import tracemalloc

import torch
from torch import nn
from parts import PLANTED, STEPS, batches, learn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 128), *(nn.Sequential(nn.Linear(128, 128), nn.GELU()) for _ in range(24)),
                      nn.Linear(128, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
if PLANTED:
    tracemalloc.start(25)
for x, y in batches(256, 2 * STEPS):
    learn(model, optimizer, x, y)
