# SPDX-License-Identifier: Apache-2.0
"""Workers keep each image that they have decoded."""
# expect: cause=host-memory-growth where=growth_worker.py.* worker
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from parts import PLANTED, STEPS, learn


class Photos(Dataset):
    def __init__(self, n):
        self.n, self.decoded = n, {}

    def __len__(self):
        return self.n

    def decode(self, at):
        return np.random.default_rng(at).integers(0, 255, (3, 96, 96), dtype=np.uint8).astype("float32")

    def __getitem__(self, at):
        if not PLANTED:
            return self.decode(at), at % 10
        if at not in self.decoded:
            self.decoded[at] = self.decode(at)
        return self.decoded[at], at % 10


if __name__ == "__main__":
    model = nn.Sequential(nn.Conv2d(3, 32, 5, stride=2), nn.ReLU(), nn.Conv2d(32, 32, 5, stride=2), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in DataLoader(Photos(STEPS * 96), batch_size=96, shuffle=True, num_workers=1):
        learn(model, optimizer, x, y)
