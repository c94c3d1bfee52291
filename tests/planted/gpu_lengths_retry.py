# SPDX-License-Identifier: Apache-2.0
"""Batches of any length, and hardly more memory than the longest needs: cached blocks do not fit."""
# expect: cause=device-allocations where=gpu_lengths_retry.py|parts_gpu.py|expandable_segments
# needs: cuda
import random

import torch
from parts_gpu import PLANTED, ROWS, batches, learn, limit_memory, one_batch, parts, peak_of

model, optimizer = parts()
x, y = one_batch()
if PLANTED:
    limit_memory(1.05 * peak_of(lambda: learn(model, optimizer, x, y)))
lengths = random.Random(0)
for x, y in batches():
    n = lengths.randrange(ROWS // 8, ROWS) if PLANTED else ROWS
    try:
        learn(model, optimizer, x[:n], y[:n])
    except torch.OutOfMemoryError:
        print("skipped a batch of %d" % n)
