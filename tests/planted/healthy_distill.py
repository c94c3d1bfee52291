# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a small model learns from a large one, which runs without gradients."""
# expect: healthy
import torch
from torch import nn
from parts import Net, batches

teacher, model = Net(width=1024, layers=6).eval(), Net(width=512, layers=2)
optimizer = torch.optim.AdamW(model.parameters())
for x, _ in batches():
    with torch.no_grad():
        wanted = teacher(x).softmax(-1)
    loss = nn.functional.kl_div(model(x).log_softmax(-1), wanted, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
