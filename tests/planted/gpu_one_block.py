# SPDX-License-Identifier: Apache-2.0
"""A softmax over one row that is millions of numbers long: one multiprocessor does it, the others rest."""
# expect: cause=few-blocks where=pool|gpu_one_block.py
# needs: cuda
import torch
from parts_gpu import IS_GPU, batches, learn, often, one_batch, parts

scores = torch.randn(4 << 20 if IS_GPU else 4096)


def pool(scores):
    with torch.no_grad():
        return torch.softmax(scores, 0)


model, optimizer = parts()
x, y = one_batch()
scores = scores.to(x.device)
n = often(lambda: pool(scores), lambda: learn(model, optimizer, x, y))
for x, y in batches():
    learn(model, optimizer, x, y)
    for _ in range(n):
        pool(scores)
