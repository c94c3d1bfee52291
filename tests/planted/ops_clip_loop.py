# SPDX-License-Identifier: Apache-2.0
"""Gradients are clipped by a loop that asks for each norm."""
# expect: cause=small-operators where=clip|ops_clip_loop.py
import torch
from torch import nn
from parts import PLANTED, batches


def clip(parameters):
    total = 0.0
    for p in parameters:
        total += p.grad.norm().item() ** 2
    scale = min(1.0, 1.0 / (total ** 0.5 + 1e-6))
    for p in parameters:
        p.grad.mul_(scale)


body = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Tanh())
                       for _ in range(24)))
model = nn.Sequential(nn.Linear(256, 64), body, nn.Linear(64, 10))
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=1e-3, foreach=True)
for x, y in batches(256):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    if PLANTED:
        for _ in range(4):
            clip(parameters)
    else:
        nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
    optimizer.step()
