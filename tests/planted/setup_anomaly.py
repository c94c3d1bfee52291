# SPDX-License-Identifier: Apache-2.0
"""Somebody looked for a NaN, and left torch's anomaly detection on."""
# expect: cause=anomaly where=set_detect_anomaly
import torch
from torch import nn
from parts import PLANTED, STEPS

torch.autograd.set_detect_anomaly(PLANTED)
model = nn.Sequential(*(nn.Sequential(nn.Linear(192, 192), nn.LayerNorm(192), nn.ReLU()) for _ in range(24)),
                      nn.Linear(192, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(STEPS):
    x, y = torch.randn(192, 192), torch.randint(10, (192,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
