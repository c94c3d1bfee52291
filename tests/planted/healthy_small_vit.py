# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a small vision transformer, whose operators are many and not large."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS


class Vit(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        layer = nn.TransformerEncoderLayer(width, 4, 192, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.encoder(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


model = Vit()
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
for _ in range(STEPS):
    x, y = torch.randn(16, 3, 64, 64), torch.randint(10, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
