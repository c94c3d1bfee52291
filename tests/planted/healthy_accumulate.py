# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: gradients are accumulated over four batches."""
# expect: healthy
from torch import nn
from parts import STEPS, batches, parts

model, optimizer = parts()
for at, (x, y) in enumerate(batches(64, steps=STEPS * 2)):
    (nn.functional.cross_entropy(model(x), y) / 4).backward()
    if at % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
