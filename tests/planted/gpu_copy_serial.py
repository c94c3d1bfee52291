# SPDX-License-Identifier: Apache-2.0
"""Batches come from pinned memory, but in the stream that computes: it waits for each of them."""
# expect: cause=exposed-copies where=gpu_copy_serial.py
# needs: cuda
import torch
from parts_gpu import DEVICE, INPUTS, IS_GPU, ROWS, batches, learn, often, one_batch, parts

model, optimizer = parts()
x, y = one_batch()
image = torch.randn(ROWS, INPUTS, 8).pin_memory() if IS_GPU else torch.randn(ROWS, INPUTS, 8)
n = min(48, often(lambda: image.to(DEVICE, non_blocking=True), lambda: learn(model, optimizer, x, y)))
volume = torch.zeros(max(n, 1), ROWS, INPUTS, 8, pin_memory=IS_GPU)
for x, y in batches():
    if n:
        x = x + volume.to(DEVICE, non_blocking=True).mean((0, 3))
    learn(model, optimizer, x, y)
