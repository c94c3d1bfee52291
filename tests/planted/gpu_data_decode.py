# SPDX-License-Identifier: Apache-2.0
"""Documents are decoded in Python by the process that trains."""
# expect: cause=data-loading where=decode|__getitem__|Documents
# needs: cuda
import math

import torch
from parts_gpu import INPUTS, IS_GPU, ROWS, STEPS, learn, often, one_batch, parts, to_device

BATCH = 16


def decode(line):
    return sum(int(word) for word in line.split())


class Documents(torch.utils.data.Dataset):
    def __init__(self, n_lines):
        self.lines = ["17 4 39 8 26 81 5 60"] * n_lines
        self.x = torch.randn(ROWS // BATCH, INPUTS)

    def __len__(self):
        return BATCH * STEPS

    def __getitem__(self, at):
        total = sum(decode(line) for line in self.lines)
        return self.x + total % 2, torch.full((len(self.x),), at % 16)


model, optimizer = parts()
x, y = one_batch()
sample = Documents(100)
n = often(lambda: sample[0], lambda: learn(model, optimizer, x, y), part=0.5, is_beside=True)
documents = Documents(math.ceil(100 * n / BATCH))
loader = torch.utils.data.DataLoader(documents, batch_size=BATCH, pin_memory=IS_GPU)
for batch in loader:
    x, y = to_device(batch)
    learn(model, optimizer, x.flatten(0, 1), y.flatten())
