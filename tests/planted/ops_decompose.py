# SPDX-License-Identifier: Apache-2.0
"""A layer makes its weight orthogonal by its singular vectors in each forward pass."""
# expect: cause=decompositions where=ops_decompose.py:\d+ Orthogonal.forward
import torch
from torch import nn
from parts import PLANTED, Net, batches, learn


class Orthogonal(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width ** 0.5)

    def forward(self, x):
        weight = self.weight
        if PLANTED:
            left, _, right = torch.linalg.svd(weight)
            weight = left @ right
        return x @ weight


torch.manual_seed(0)
model = nn.Sequential(Orthogonal(256), Net(width=512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in batches():
    learn(model, optimizer, x, y)
