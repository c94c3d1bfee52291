# SPDX-License-Identifier: Apache-2.0
"""The model is copied as it is whenever the loss is the least so far, which on the way down is in each step."""
# expect: cause=layout-copies,host-code where=keep_best|host_deepcopy.py
import copy

import torch
from parts import PLANTED, learn, parts, STEPS

best = {"loss": float("inf"), "model": None}


def keep_best(model, loss):
    if loss < best["loss"]:
        best["loss"], best["model"] = loss, copy.deepcopy(model)


model, _ = parts(width=1024)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 256), torch.randint(0, 10, (32,))
for _ in range(STEPS):
    loss = learn(model, optimizer, x, y)
    if PLANTED:
        keep_best(model, loss.item())
