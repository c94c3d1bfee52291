# SPDX-License-Identifier: Apache-2.0
"""Beam search in plain Python inside forward, between two layers."""
# expect: cause=host-code where=search|forward|host_search.py
import torch
from parts import PLANTED, Net, batches, learn


class Searching(Net):
    def search(self, scores):
        best = 0.0
        for _ in range(8):
            for score in scores:
                best = max(best, score * 0.9 + best * 0.1)
        return best

    def forward(self, x):
        hidden = self.body(x)
        if PLANTED:
            scores = hidden[:, 0].detach().tolist() * 64
            hidden = hidden + self.search(scores) * 1e-9
        return self.head(hidden)


model = Searching()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in batches():
    learn(model, optimizer, x, y)
