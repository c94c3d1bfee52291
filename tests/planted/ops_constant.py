# SPDX-License-Identifier: Apache-2.0
"""The table of positions, which never changes, is computed in each forward."""
# expect: cause=hot-line where=positions|ops_constant.py
import torch
from parts import PLANTED, Net, batches, learn


def positions():
    at = torch.arange(6000.0)[:, None]
    rates = torch.exp(torch.arange(0.0, 256.0) * -0.03)
    return torch.sin(at * rates)[:128] + torch.cos(at * rates)[:128]


class Placed(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", positions())

    def forward(self, x):
        return super().forward(x + (positions() if PLANTED else self.table))


model = Placed()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in batches():
    learn(model, optimizer, x, y)
