# SPDX-License-Identifier: Apache-2.0
"""Large batches are copied to the GPU from memory that is not pinned."""
# expect: cause=pageable-copies where=gpu_pageable.py|pin_memory
# needs: cuda
import torch
from parts_gpu import DEVICE, INPUTS, ROWS, batches, learn, often, one_batch, parts

model, optimizer = parts()
x, y = one_batch()
image = torch.randn(ROWS, INPUTS, 8)
n = min(32, often(lambda: image.to(DEVICE), lambda: learn(model, optimizer, x, y)))
volume = torch.ones(max(n, 1), ROWS, INPUTS, 8)
for x, y in batches():
    if n:
        x = x + volume.to(DEVICE).mean((0, 3))
    learn(model, optimizer, x, y)
