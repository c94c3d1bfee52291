# SPDX-License-Identifier: Apache-2.0
"""Only a head is trained, but the body before it has gradients, which nobody uses."""
# expect: cause=unused-gradients where=forward
import torch
from torch import nn
from parts import PLANTED, STEPS


class Tuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*(nn.Sequential(nn.Linear(640, 640), nn.GELU()) for _ in range(6)))
        self.head = nn.Sequential(nn.Linear(640, 64), nn.GELU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(self.body(x))


model = Tuned()
model.body.requires_grad_(PLANTED)
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)
for _ in range(STEPS):
    x, y = torch.randn(128, 640), torch.randint(10, (128,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
