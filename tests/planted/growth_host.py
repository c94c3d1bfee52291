# SPDX-License-Identifier: Apache-2.0
"""Batches are remembered as lists of Python's."""
# expect: cause=host-memory-growth where=.seen., a list of .*growth_host.py
from parts import PLANTED, STEPS, batches, learn, parts

seen = []


def remember(x):
    seen.append(x.tolist())


model, optimizer = parts(width=512)
for x, y in batches(steps=STEPS * 2):
    if PLANTED:
        remember(x)
    learn(model, optimizer, x, y)
