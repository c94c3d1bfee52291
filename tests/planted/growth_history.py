# SPDX-License-Identifier: Apache-2.0
"""Each step computes over all steps before it: the run gets slower and slower."""
# expect: cause=step-growth,hot-line,memory-growth where=smooth|growth_history.py|longer
import torch
from parts import PLANTED, STEPS, batches, learn, parts

history = []


def smooth(x):
    history.append(x * 0.5)
    return torch.stack(history).mul(0.9).tanh().mean(0)


model, optimizer = parts(width=384)
for x, y in batches(steps=STEPS * 4):
    if PLANTED:
        smooth(x)
    learn(model, optimizer, x, y)
