# SPDX-License-Identifier: Apache-2.0
"""The best weights so far are pickled to memory after each step, "to be safe"."""
# expect: cause=host-code where=remember_best|host_state_dict.py
import io

import torch
from parts import PLANTED, batches, parts

best = {"loss": float("inf"), "blob": b""}


def remember_best(model, optimizer, loss):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    best["loss"], best["blob"] = min(best["loss"], loss), buffer.getvalue()


model, optimizer = parts(width=512)
criterion = torch.nn.CrossEntropyLoss()
for x, y in batches():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if PLANTED:
        remember_best(model, optimizer, loss.item())
