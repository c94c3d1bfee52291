# SPDX-License-Identifier: Apache-2.0
"""A monitor takes the singular values of every weight after each step."""
# expect: cause=extra-operators where=Monitor
import torch
from parts import PLANTED, batches, learn, parts


class Monitor:
    def __init__(self):
        self.spread = []

    @torch.no_grad()
    def on_step_end(self, model):
        largest = [torch.linalg.svdvals(p[:192])[0] for p in model.parameters() if p.dim() == 2]
        self.spread.append(float(torch.stack(largest).max()))


model, optimizer = parts()
monitor = Monitor()
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        monitor.on_step_end(model)
