# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: losses are added up in double precision, the model computes in single."""
# expect: healthy
import torch
from parts import batches, learn, parts

model, optimizer = parts()
total = torch.zeros((), dtype=torch.float64)
for x, y in batches():
    total += learn(model, optimizer, x, y).detach().double()
