# SPDX-License-Identifier: Apache-2.0
"""The losses of a batch are read from the GPU one by one."""
# expect: cause=synchronising where=add_up|gpu_item_loop.py
# needs: cuda
import torch
from parts_gpu import batches, learn, often, one_batch, parts


def add_up(losses):
    total = 0.0
    for loss in losses:
        total += loss.item()
    return total


model, optimizer = parts()
x, y = one_batch()
each = torch.zeros(4096, device=x.device)
n = often(lambda: add_up(each[:1]), lambda: learn(model, optimizer, x, y))
for x, y in batches():
    learn(model, optimizer, x, y)
    if n:
        with torch.no_grad():
            each = torch.nn.functional.cross_entropy(model.head(model.first(x)), y, reduction="none")
        add_up(each[:n])
