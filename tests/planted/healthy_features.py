# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a little noise for each batch, and a norm that is looked at."""
# expect: healthy
import torch
from parts import batches, learn, parts

model, optimizer = parts()
norms = []
for x, y in batches():
    learn(model, optimizer, x + torch.randn_like(x) * 0.01, y)
    with torch.no_grad():
        norms.append(float(torch.stack([p.norm() for p in model.parameters()]).max()))
