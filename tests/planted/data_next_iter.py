# SPDX-License-Identifier: Apache-2.0
"""Each step takes the first batch of a new epoch: next(iter(loader)) shuffles all samples for it."""
# expect: cause=data-loading where=data_next_iter.py|one iterator
import torch
from parts import PLANTED, STEPS, learn, parts

rows = torch.utils.data.TensorDataset(torch.randn(200000, 256), torch.randint(0, 10, (200000,)))
loader = torch.utils.data.DataLoader(rows, batch_size=16, shuffle=True)
model, optimizer = parts()
kept = iter(loader)
for _ in range(STEPS):
    x, y = next(iter(loader)) if PLANTED else next(kept)
    learn(model, optimizer, x, y)
