# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: gradients of four batches are added up before each step."""
# expect: healthy
# needs: cuda
from torch import nn
from parts_gpu import ROWS, STEPS, autocast, batches, parts

model, optimizer = parts(layers=4)
for at, (x, y) in enumerate(batches(ROWS, 4 * STEPS)):
    with autocast():
        loss = nn.functional.cross_entropy(model(x), y) / 4
    loss.backward()
    if at % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
