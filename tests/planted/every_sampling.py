# SPDX-License-Identifier: Apache-2.0
"""A language model that writes a sample of text after every fourth step."""
# expect: cause=periodic where=write|every_sampling.py
import torch
from torch import nn
from parts import PLANTED, STEPS


class Model(nn.Module):
    def __init__(self, words=200, width=128):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.block = nn.TransformerEncoderLayer(width, 4, 256, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, ids):
        return self.head(self.block(self.embed(ids)))


@torch.no_grad()
def write(model, n=120):
    model.eval()
    ids = torch.zeros(1, 1, dtype=torch.long)
    for _ in range(n):
        following = torch.multinomial(model(ids)[:, -1].softmax(-1), 1)
        ids = torch.cat([ids, following], 1)
    model.train()
    return ids


torch.manual_seed(0)
lm = Model()
optimizer = torch.optim.AdamW(lm.parameters())
for step in range(STEPS * 2):
    ids = torch.randint(200, (16, 65))
    loss = nn.functional.cross_entropy(lm(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if PLANTED and step % 4 == 0:
        write(lm)
