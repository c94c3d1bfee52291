# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a short table of positions is computed in each forward."""
# expect: healthy
import torch
from parts import Net, batches, learn


class Placed(Net):
    def forward(self, x):
        return super().forward(x + torch.sin(torch.arange(256.0) * 0.03))


model = Placed()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in batches():
    learn(model, optimizer, x, y)
