# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: two models, two optimizers."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS

maker = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 784))
judge = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
one, other = (torch.optim.Adam(m.parameters(), lr=2e-4) for m in (maker, judge))
loss_of = nn.BCEWithLogitsLoss()
for real in torch.utils.data.DataLoader(torch.randn(STEPS * 128, 784).split(128), batch_size=None):
    made = maker(torch.randn(128, 64))
    loss = loss_of(judge(real), torch.ones(128, 1)) + loss_of(judge(made.detach()), torch.zeros(128, 1))
    other.zero_grad()
    loss.backward()
    other.step()
    loss = loss_of(judge(made), torch.ones(128, 1))
    one.zero_grad()
    loss.backward()
    one.step()
