# SPDX-License-Identifier: Apache-2.0
"""Each step begins with a batch that does not fit, and tries again with half of it."""
# expect: cause=device-allocations where=gpu_oom_caught.py|parts_gpu.py
# needs: cuda
import torch
from parts_gpu import PLANTED, ROWS, batches, learn, limit_memory, one_batch, parts, peak_of


def learn_somehow(x, y):
    n = len(x)
    while n:
        try:
            return learn(model, optimizer, x[:n], y[:n])
        except torch.OutOfMemoryError:
            n //= 2
    return None


model, optimizer = parts()
x, y = one_batch(ROWS // 2)
if PLANTED:
    limit_memory(1.1 * peak_of(lambda: learn(model, optimizer, x, y)))
for x, y in batches(ROWS if PLANTED else ROWS // 2):
    learn_somehow(x, y)
