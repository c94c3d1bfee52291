# SPDX-License-Identifier: Apache-2.0
"""Accelerate: the whole outputs are gathered from all ranks in each step, for a metric."""
# expect: cause=communication where=gather|comm_accelerate_gather.py
# run: torchrun 2
# needs: accelerate
import accelerate
import torch
from torch import nn
from parts import PLANTED, STEPS, Net, Rows

torch.set_num_threads(1)
accelerator = accelerate.Accelerator(cpu=True)
model = Net(width=256, classes=2000)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
loader = torch.utils.data.DataLoader(Rows(64 * 4 * STEPS), batch_size=64)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    output = model(x)
    loss = nn.functional.cross_entropy(output, y)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    if PLANTED:
        every = accelerator.gather_for_metrics(output.detach().repeat(32, 1))
accelerator.end_training()
