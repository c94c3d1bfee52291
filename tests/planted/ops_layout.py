# SPDX-License-Identifier: Apache-2.0
"""A large tensor is put into another layout and back in each step."""
# expect: cause=layout-copies,hot-line where=rearrange|ops_layout.py
import torch
from parts import PLANTED, batches, learn, parts

frames = torch.randn(16, 64, 64, 64)


def rearrange(x):
    for _ in range(2):
        x = x.permute(0, 3, 1, 2).contiguous()
    return x


model, optimizer = parts()
for x, y in batches():
    if PLANTED:
        x = x + rearrange(frames).view(-1)[:256] * 0
    learn(model, optimizer, x, y)
