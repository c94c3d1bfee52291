# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a convolution net."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS

model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
data = torch.utils.data.TensorDataset(torch.randn(STEPS * 16, 3, 32, 32),
                                      torch.randint(10, (STEPS * 16,)))
for x, y in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
