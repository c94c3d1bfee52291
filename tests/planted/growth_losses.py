# SPDX-License-Identifier: Apache-2.0
"""Losses are kept with their graphs, for the mean of an epoch."""
# expect: cause=memory-growth where=growth_losses.py|parts.py
from torch import nn
from parts import PLANTED, batches, parts

model, optimizer = parts()
losses = []
for x, y in batches():
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward(retain_graph=PLANTED)
    optimizer.step()
    losses.append(loss if PLANTED else loss.item())
