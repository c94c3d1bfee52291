# SPDX-License-Identifier: Apache-2.0
"""numpy's float64 makes the whole model double."""
# expect: cause=double where=.
import numpy as np
import torch
from parts import PLANTED, batches, learn, parts

mean = np.zeros(256)
model, optimizer = parts()
if PLANTED:
    model = model.double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in batches():
    if PLANTED:
        x = x - torch.from_numpy(mean)
    learn(model, optimizer, x, y)
