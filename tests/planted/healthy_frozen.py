# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a head learns on what a frozen net of many layers makes of images."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS

layers = [layer for i in range(8) for layer in
          (nn.Conv2d(32 if i else 3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())]
body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
head = nn.Linear(32, 10)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(STEPS):
    x, y = torch.randn(16, 3, 48, 48), torch.randint(10, (16,))
    with torch.no_grad():
        features = body(x)
    loss = nn.functional.cross_entropy(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
