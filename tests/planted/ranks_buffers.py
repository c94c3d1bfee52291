# SPDX-License-Identifier: Apache-2.0
"""A memory of past features is a buffer of the model: DDP sends it from rank 0 before each forward pass."""
# expect: cause=communication where=broadcast
# run: torchrun 2
import torch
from parts import PLANTED, STEPS, Net, batches, join, learn, leave, parallel


class WithMemory(Net):
    def __init__(self):
        super().__init__(width=256)
        self.register_buffer("memory", torch.zeros(12 << 20))

    def forward(self, x):
        self.memory[:256] = x[0].detach()
        return super().forward(x)


join()
model, optimizer = parallel(WithMemory(), broadcast_buffers=PLANTED)
for x, y in batches(steps=STEPS * 2):
    learn(model, optimizer, x, y)
leave()
