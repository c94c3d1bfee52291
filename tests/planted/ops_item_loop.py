# SPDX-License-Identifier: Apache-2.0
"""The losses of a batch are added up one by one with .item()."""
# expect: cause=small-operators,host-code where=add_up|ops_item_loop.py
import torch
from parts import PLANTED, batches, learn, parts


def add_up(losses):
    total = 0.0
    for loss in losses:
        total += loss.item()
    return total


model, optimizer = parts(width=384)
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        with torch.no_grad():
            losses = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
        for _ in range(80):
            add_up(losses)
