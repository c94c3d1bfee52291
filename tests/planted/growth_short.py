# SPDX-License-Identifier: Apache-2.0
"""A run of few steps in which each batch is compared with all batches before it."""
# expect: cause=step-growth,extra-operators where=novelty|growth_short.py
import torch
from parts import PLANTED, batches, learn, parts

past = []


def novelty(x):
    past.append(x)
    nearest = [torch.cdist(x, other).min() for other in (past if PLANTED else past[-1:])]
    return torch.stack(nearest).mean()


model, optimizer = parts(width=512)
for x, y in batches(640, 36):
    novelty(x)
    learn(model, optimizer, x, y)
