# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: autocast to bfloat16."""
# expect: healthy
import torch
from parts import batches, parts

model, optimizer = parts()
for x, y in batches():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
