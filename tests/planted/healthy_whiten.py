# SPDX-License-Identifier: Apache-2.0
"""A first layer that whitens its input: no gradient is recorded there, yet nothing of it is the same in each step."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS


class Whiten(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.width = nn.Linear(width, width), width

    def forward(self, x):
        covariance = x.T @ x / len(x) + 0.1 * torch.eye(self.width)
        return self.linear(torch.linalg.solve(covariance, x.T).T)


torch.manual_seed(0)
model = nn.Sequential(Whiten(256), nn.ReLU(), nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(STEPS):
    x, y = torch.randn(512, 256), torch.randint(10, (512,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
