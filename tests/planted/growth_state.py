# SPDX-License-Identifier: Apache-2.0
"""The state of a recurrent cell is carried from step to step with its graph, which each backward pass goes through."""
# expect: cause=step-growth,memory-growth where=growth_state.py
import torch
from torch import nn
from parts import PLANTED, STEPS

torch.manual_seed(0)
cell, head = nn.GRUCell(64, 256), nn.Linear(256, 64)
body = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 64))
weights = [*cell.parameters(), *head.parameters(), *body.parameters()]
optimizer = torch.optim.SGD(body.parameters(), lr=1e-3)
state = torch.zeros(128, 256)
for _ in range(STEPS):
    x = torch.randn(128, 64)
    state = cell(body(x), state if PLANTED else state.detach())
    loss = nn.functional.mse_loss(head(state), x)
    optimizer.zero_grad()
    gradients = torch.autograd.grad(loss, weights, retain_graph=True)
    for weight, gradient in zip(weights[-6:], gradients[-6:]):
        weight.grad = gradient.clamp(-1, 1)
    with torch.no_grad():
        for weight in body.parameters():
            weight.data.sub_(1e-4 * weight.grad)
