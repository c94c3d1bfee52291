# SPDX-License-Identifier: Apache-2.0
"""A checkpoint every ten steps."""
# expect: cause=periodic where=save|every_checkpoint.py|every 10
import os
import tempfile

import torch
from parts import PLANTED, STEPS, batches, learn, parts

model, optimizer = parts()
path = os.path.join(tempfile.mkdtemp(), "model.pt")
for at, (x, y) in enumerate(batches(steps=STEPS * 2)):
    learn(model, optimizer, x, y)
    if PLANTED and at % 10 == 9:
        for _ in range(3):
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
if os.path.exists(path):
    os.remove(path)
