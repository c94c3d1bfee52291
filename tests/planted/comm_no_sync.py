# SPDX-License-Identifier: Apache-2.0
"""Gradients are accumulated over eight batches, and reduced after each."""
# expect: cause=communication where=no_sync|accumul
# run: torchrun 2
import contextlib

from torch import nn
from parts import PLANTED, STEPS, Net, batches, join, leave, parallel

join()
model, optimizer = parallel(Net(width=512))
for at, (x, y) in enumerate(batches(64, steps=STEPS * 8)):
    is_last = at % 8 == 7
    with contextlib.nullcontext() if PLANTED or is_last else model.no_sync():
        nn.functional.cross_entropy(model(x), y).backward()
    if is_last:
        optimizer.step()
        optimizer.zero_grad()
leave()
