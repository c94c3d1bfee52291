# SPDX-License-Identifier: Apache-2.0
"""Batches are made of Python's lists of numbers, in the loop, without a loader."""
# expect: cause=host-code where=make_batch|data_lists.py
import torch
from parts import PLANTED, STEPS, learn, parts

rows = [[float(i * j % 17) for j in range(256)] for i in range(512)]
table = torch.tensor(rows)


def make_batch(at, n=256):
    chosen = [(at * 64 + i) % 512 for i in range(n)]
    y = torch.tensor([i % 10 for i in chosen])
    return (torch.tensor([rows[i] for i in chosen]) if PLANTED else table[chosen]), y


model, optimizer = parts(width=256)
for step in range(STEPS):
    x, y = make_batch(step)
    learn(model, optimizer, x, y)
