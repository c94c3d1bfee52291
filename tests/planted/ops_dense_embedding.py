# SPDX-License-Identifier: Apache-2.0
"""A table of 150,000 rows, of which a batch uses a few hundred, has a gradient for all of them."""
# expect: cause=dense-embedding where=forward
import torch
from torch import nn
from parts import PLANTED, STEPS


class Clicks(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(150_000, 64, sparse=not PLANTED)
        self.body = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 2))

    def forward(self, items):
        of = self.items(items)
        return self.body(of.mean(1))


torch.manual_seed(0)
model = Clicks()
optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
for _ in range(STEPS):
    items, clicked = torch.randint(150_000, (256, 20)), torch.randint(2, (256,))
    loss = nn.functional.cross_entropy(model(items), clicked)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
