# SPDX-License-Identifier: Apache-2.0
"""A compiled function sees another Python number in each step, and is compiled again."""
# expect: cause=recompilation where=.
import torch
from parts import PLANTED, batches, parts

torch._dynamo.config.recompile_limit = 1000
model, optimizer = parts()


@torch.compile(backend="eager", dynamic=False)
def loss_of(x, y, n):
    return torch.nn.functional.cross_entropy(model(x[:n]), y[:n])


for at, (x, y) in enumerate(batches()):
    loss = loss_of(x, y, 128 - (at % 120 if PLANTED else 0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
