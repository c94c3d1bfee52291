# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a small transformer with a schedule of the learning rate."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS

layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
model = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoder(layer, 3), nn.Linear(128, 1000))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
text = torch.randint(1000, (STEPS, 8, 64))
for words in torch.utils.data.DataLoader(text, batch_size=None):
    loss = nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
