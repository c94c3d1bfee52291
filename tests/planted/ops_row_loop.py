# SPDX-License-Identifier: Apache-2.0
"""Rows of a batch are normalised one after another."""
# expect: cause=small-operators where=normalise|ops_row_loop.py
import torch
from parts import PLANTED, batches, learn, parts


def normalise(x):
    if not PLANTED:
        return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
    return torch.stack([(row - row.mean()) / row.std() for row in x])


model, optimizer = parts(width=384)
for x, y in batches(256):
    learn(model, optimizer, normalise(x), y)
