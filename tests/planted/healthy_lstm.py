# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a recurrent net of torch's."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS

model, head = nn.LSTM(128, 256, 2, batch_first=True), nn.Linear(256, 1)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
data = torch.randn(STEPS, 32, 48, 128)
for x in torch.utils.data.DataLoader(data, batch_size=None):
    loss = head(model(x)[0][:, -1]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
