# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a recurrent net of torch's that has no kernel of its own, and a backward pass of many nodes."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(2000, 64)
        self.recurrent = nn.GRU(64, 96, batch_first=True)
        self.head = nn.Linear(96, 5)

    def forward(self, tokens):
        return self.head(self.recurrent(self.words(tokens))[0][:, -1])


model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
data = torch.utils.data.TensorDataset(torch.randint(0, 2000, (STEPS * 32, 40)), torch.randint(0, 5, (STEPS * 32,)))
for tokens, tags in torch.utils.data.DataLoader(data, batch_size=32):
    loss = nn.functional.cross_entropy(model(tokens), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
