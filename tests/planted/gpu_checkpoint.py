# SPDX-License-Identifier: Apache-2.0
"""The whole model is saved after every sixth step."""
# expect: cause=periodic where=every 6|save|gpu_checkpoint.py
# needs: cuda
import os
import tempfile

import torch
from parts_gpu import PLANTED, batches, learn, parts

model, optimizer = parts(layers=6)
with tempfile.TemporaryDirectory() as folder:
    for at, (x, y) in enumerate(batches()):
        learn(model, optimizer, x, y)
        if PLANTED and at % 6 == 5:
            torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
