# SPDX-License-Identifier: Apache-2.0
"""Accelerate: a confusion matrix is counted in plain Python after each batch."""
# expect: cause=host-code where=count|accelerate_metrics.py
# needs: accelerate
import accelerate
from torch import nn
from parts import PLANTED, batches, parts

accelerator = accelerate.Accelerator(cpu=True)
model, optimizer = parts(width=512)
model, optimizer, loader = accelerator.prepare(model, optimizer, batches())
matrix = [[0] * 10 for _ in range(10)]


def count(wanted, found):
    for _ in range(400):
        for a, b in zip(wanted, found):
            matrix[a][b] += 1


for x, y in loader:
    output = model(x)
    loss = nn.functional.cross_entropy(output, y)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    if PLANTED:
        count(y.tolist(), output.argmax(1).tolist())
