# SPDX-License-Identifier: Apache-2.0
"""Each parameter, its gradient and the optimizer's state is looked through for NaN in each step."""
# expect: cause=small-operators,hot-line,host-code where=check|ops_nan_check.py
import torch
from torch import nn
from parts import PLANTED, batches


def check(named, optimizer):
    for name, p in named:
        for t in (p, p.grad, *(s for s in optimizer.state[p].values() if torch.is_tensor(s))):
            if torch.isnan(t).any().item() or torch.isinf(t).any().item():
                raise ValueError(name)


def build():
    blocks = [nn.Sequential(nn.Linear(96, 96), nn.LayerNorm(96), nn.ReLU()) for _ in range(20)]
    return nn.Sequential(nn.Linear(256, 96), *blocks, nn.Linear(96, 10))


model = build()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
for x, y in batches(512):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if PLANTED:
        check(model.named_parameters(), optimizer)
