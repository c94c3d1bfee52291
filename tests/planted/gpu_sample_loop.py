# SPDX-License-Identifier: Apache-2.0
"""A small network rates the samples of a batch one by one: a kernel takes less time than its launch."""
# expect: cause=host-bound where=rate|gpu_sample_loop.py
# needs: cuda
import torch
from torch import nn
from parts_gpu import INPUTS, batches, learn, often, one_batch, parts

model, optimizer = parts()
judge = nn.Sequential(nn.Linear(INPUTS, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
judge.to(next(model.parameters()).device)


def rate(samples):
    with torch.no_grad():
        return torch.stack([judge(sample).sigmoid().clamp(0.1, 0.9) for sample in samples])


x, y = one_batch()
# The device works on the step while the host asks for the first of them.
n = often(lambda: rate(x[:1]), lambda: learn(model, optimizer, x, y), part=0.6, is_beside=True)
for x, y in batches():
    if n:
        x = torch.cat([x[:n] * rate(x[:n]), x[n:]])
    learn(model, optimizer, x, y)
