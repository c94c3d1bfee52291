# SPDX-License-Identifier: Apache-2.0
"""A language model: its table is small beside what is done with each word."""
# expect: healthy
import torch
from torch import nn
from parts import STEPS

WORDS, LENGTH, WIDTH = 6000, 32, 192


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, WIDTH)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, 512, batch_first=True), 2)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.body(self.table(words)))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(STEPS):
    words = torch.randint(WORDS, (8, LENGTH))
    loss = nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
