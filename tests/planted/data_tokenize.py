# SPDX-License-Identifier: Apache-2.0
"""A chain of transforms, the slow one a lambda of regular expressions, in two workers."""
# expect: cause=data-loading where=data_tokenize.py
import re

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from parts import PLANTED, STEPS


class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, value):
        for step in self.steps:
            value = step(value)
        return value


def split(text):
    text = re.sub(r"[^a-z0-9 ]+", " ", text.lower())
    return re.findall(r"\b\w+\b", text)


class Texts(Dataset):
    page = "It was the best of times -- it was the worst of times; 1859, they say! " * 240

    def __init__(self, n, transform):
        self.n, self.transform = n, transform

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.transform(self.page if PLANTED else self.page[:60]), i % 10


to_ids = Compose(split, lambda words: [hash(w) % 5000 for w in words[:40]],
                 lambda ids: torch.tensor((ids + [0] * 40)[:40]))

if __name__ == "__main__":
    model = nn.Sequential(nn.Embedding(5000, 64), nn.Flatten(), nn.Linear(2560, 3072), nn.ReLU(),
                          nn.Linear(3072, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    for ids, label in DataLoader(Texts(STEPS * 64, to_ids), batch_size=64, num_workers=2):
        optimizer.zero_grad()
        criterion(model(ids), label).backward()
        optimizer.step()
