# SPDX-License-Identifier: Apache-2.0
"""A TensorDataset: each row is fetched alone and put together again."""
# expect: cause=data-loading where=.
import torch
from parts import PLANTED, STEPS, Batches, learn, parts

model, optimizer = parts(width=256, layers=2)
if PLANTED:
    data = torch.utils.data.TensorDataset(torch.randn(STEPS * 512, 256),
                                          torch.randint(10, (STEPS * 512,)))
    loader = torch.utils.data.DataLoader(data, batch_size=512, shuffle=True)
else:
    loader = torch.utils.data.DataLoader(Batches(512, STEPS), batch_size=None)
for x, y in loader:
    learn(model, optimizer, x, y)
