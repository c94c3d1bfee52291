# SPDX-License-Identifier: Apache-2.0
"""Outputs of every step stay on the GPU, for a metric at the end."""
# expect: cause=memory-growth where=gpu_growth_outputs.py|parts_gpu.py
# needs: cuda
from torch import nn
from parts_gpu import PLANTED, autocast, batches, parts

model, optimizer = parts(classes=1024)
outputs = []
for x, y in batches():
    with autocast():
        output = model(x)
        loss = nn.functional.cross_entropy(output, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if PLANTED:
        outputs.append(output.detach())
