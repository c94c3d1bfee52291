# SPDX-License-Identifier: Apache-2.0
"""Each sample's points are turned onto their main axes: a decomposition of 3 x 3 in the forward pass, and no more."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS, learn


class Turned(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(3, 3)
        self.body = nn.Sequential(nn.Linear(3, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, points):
        points = self.lift(points)
        axes = torch.linalg.eigh(points.transpose(1, 2) @ points).eigenvectors
        return self.body(points @ axes).amax(1)


torch.manual_seed(0)
model = Turned()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(STEPS):
    learn(model, optimizer, torch.randn(32, 128, 3), torch.randint(10, (32,)))
