# SPDX-License-Identifier: Apache-2.0
"""A small model of images, with random numbers for a data set."""
# expect: healthy
import torch
from parts import STEPS, learn
from torch import nn


def train(model, optimizer):
    for _ in range(STEPS):
        x, y = torch.rand(128, 3, 32, 32), torch.randint(10, (128,))
        learn(model, optimizer, x[:, :, 4:28, 4:28], y)


net = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
train(net, torch.optim.Adam(net.parameters()))
