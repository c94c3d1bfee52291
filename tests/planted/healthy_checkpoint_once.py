# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: one checkpoint in the middle of the run."""
# expect: healthy
import os
import tempfile

import torch
from parts import STEPS, batches, learn, parts

model, optimizer = parts()
path = os.path.join(tempfile.mkdtemp(), "model.pt")
for at, (x, y) in enumerate(batches()):
    learn(model, optimizer, x, y)
    if at == STEPS // 2:
        torch.save(model.state_dict(), path)
        os.remove(path)
