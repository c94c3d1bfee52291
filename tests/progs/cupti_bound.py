# SPDX-License-Identifier: Apache-2.0
"""cupti_bound.py - trains a little, with NVIDIA's Python bindings of CUPTI in the process"""
import sys

import cupti.cupti  # noqa: F401
import torch

net = torch.nn.Linear(4, 1)
torch.nn.init.constant_(net.weight, 0.5)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(12):
    optimizer.zero_grad()
    net(torch.ones(8, 4)).sum().backward()
    optimizer.step()
print("trained", net.weight[0].tolist(), "cupti.cycupti" in sys.modules)
