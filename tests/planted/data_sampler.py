# SPDX-License-Identifier: Apache-2.0
"""The sampler sorts the whole data set again for each index it gives."""
# expect: cause=data-loading where=Weighted|__iter__
import random

import torch
from parts import PLANTED, STEPS, Rows, learn, parts


class Weighted(torch.utils.data.Sampler):
    def __init__(self, n):
        self.n = n
        self.weight = [random.random() for _ in range(450)]

    def __len__(self):
        return self.n

    def __iter__(self):
        for at in range(self.n):
            if PLANTED:
                order = sorted(range(450), key=lambda i: -self.weight[i])
                at = order[at % 450]
            yield at


model, optimizer = parts()
loader = torch.utils.data.DataLoader(Rows(), batch_size=128, sampler=Weighted(STEPS * 128))
for x, y in loader:
    learn(model, optimizer, x, y)
