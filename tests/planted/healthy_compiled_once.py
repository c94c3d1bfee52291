# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a function is compiled once, in the first step."""
# expect: healthy
import torch
from parts import batches, parts

model, optimizer = parts()


@torch.compile(backend="eager", dynamic=False)
def loss_of(x, y):
    return torch.nn.functional.cross_entropy(model(x), y)


for x, y in batches():
    loss = loss_of(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
