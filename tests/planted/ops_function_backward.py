# SPDX-License-Identifier: Apache-2.0
"""A Function of the program's own sums up its weight's gradient row by row."""
# expect: cause=small-operators where=backward|ops_function_backward.py
import torch
from parts import PLANTED, Net, batches, learn


class Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        if not PLANTED:
            return grad @ weight.t(), x.t() @ grad
        total = torch.zeros_like(weight)
        for row, row_grad in zip(x, grad):
            total += torch.outer(row, row_grad)
        return grad @ weight.t(), total


class Own(Net):
    def __init__(self):
        super().__init__(width=192)
        self.weight = torch.nn.Parameter(torch.randn(256, 256) * 0.06)

    def forward(self, x):
        return super().forward(Project.apply(x, self.weight))


torch.manual_seed(0)
model = Own()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in batches(256):
    learn(model, optimizer, x, y)
