# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a small tensor is put into another layout in each step."""
# expect: healthy
import torch
from parts import batches, learn, parts

frames = torch.randn(4, 16, 16, 16)
model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x + frames.permute(0, 3, 1, 2).contiguous().view(-1)[:256] * 0, y)
