# SPDX-License-Identifier: Apache-2.0
"""A logger keeps every record of the run, with all gradients' statistics as text."""
# expect: cause=host-memory-growth where=log.records
import torch
from parts import PLANTED, STEPS, batches, parts


class Logger:
    def __init__(self):
        self.records = []

    def log(self, **values):
        self.records.append({key: [str(value)] * 12000 for key, value in values.items()})
        if not PLANTED:
            del self.records[:-10]


log = Logger()
model, optimizer = parts(width=320)
for step, (x, y) in enumerate(batches(steps=STEPS * 2)):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.log(step=step, loss=loss.item(), x=step * 2)
