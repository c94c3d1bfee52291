# SPDX-License-Identifier: Apache-2.0
"""Outputs of every step are kept for a metric at the end."""
# expect: cause=memory-growth where=growth_outputs.py|parts.py
from torch import nn
from parts import PLANTED, batches, parts

model, optimizer = parts(classes=4000)
outputs = []
for x, y in batches():
    output = model(x)
    loss = nn.functional.cross_entropy(output, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if PLANTED:
        outputs.append(output.detach())
