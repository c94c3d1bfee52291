# SPDX-License-Identifier: Apache-2.0
"""Words are looked up by a product of one-hot vectors with the whole table."""
# expect: cause=one-hot where=ops_one_hot.py:\d+ Words.forward
import torch
from torch import nn
from parts import PLANTED, STEPS, learn

WORDS = 8000


class Words(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.table = nn.Parameter(torch.randn(WORDS, width) / width)
        self.body = nn.Sequential(nn.Linear(width, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                  nn.Linear(512, 10))

    def forward(self, numbers):
        if PLANTED:
            found = nn.functional.one_hot(numbers, WORDS).float() @ self.table
        else:
            found = self.table[numbers]
        return self.body(found.mean(1))


model = Words()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(STEPS):
    learn(model, optimizer, torch.randint(WORDS, (16, 32)), torch.randint(10, (16,)))
