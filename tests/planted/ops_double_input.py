# SPDX-License-Identifier: Apache-2.0
"""The network is made double so that it takes what numpy gives."""
# expect: cause=double where=double|float64
import numpy as np
import torch
import torch.nn as nn
from parts import PLANTED, STEPS

rng = np.random.default_rng(3)
inputs, targets = rng.standard_normal((512, 784)), rng.standard_normal((512, 10))
kind = torch.float64 if PLANTED else torch.float32
net = nn.Sequential(nn.Linear(784, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(),
                    nn.Linear(768, 10)).to(kind)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for i in range(STEPS):
    at = rng.integers(0, 512, 128)
    x, y = torch.as_tensor(inputs[at]).to(kind), torch.as_tensor(targets[at]).to(kind)
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
