# SPDX-License-Identifier: Apache-2.0
"""Batches get longer, and memory is scarce: no cached block fits, and all of them go back to the driver."""
# expect: cause=device-allocations where=gpu_lengths_retry.py|parts_gpu.py|expandable_segments
# needs: cuda
import torch
from parts_gpu import (DEVICE, IS_GPU, PLANTED, ROWS, STEPS, autocast, batches, learn, limit_memory, one_batch,
                       parts, peak_of)

FIRST, MORE = (6 << 30, 64 << 20) if IS_GPU else (1 << 16, 1 << 10)
model, optimizer = parts()
x, y = one_batch()
if PLANTED:
    # A quarter more than the last step needs.
    limit_memory(1.25 * peak_of(lambda: learn(model, optimizer, x, y)) + FIRST + STEPS * MORE)
for at, (x, y) in enumerate(batches(ROWS)):
    # Scores of all pairs, for instance.
    scores = torch.zeros(FIRST + (at * MORE if PLANTED else 0), dtype=torch.uint8, device=DEVICE)
    with autocast():
        loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    del scores
    optimizer.step()
