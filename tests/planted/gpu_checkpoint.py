# SPDX-License-Identifier: Apache-2.0
"""The whole model is saved after every tenth step."""
# expect: cause=periodic where=every 10|save|gpu_checkpoint.py
# needs: cuda
import os
import tempfile

import torch
from parts_gpu import PLANTED, ROWS, WIDTH, batches, learn, parts

model, optimizer = parts(width=WIDTH // 2, layers=4)
with tempfile.TemporaryDirectory() as folder:
    for at, (x, y) in enumerate(batches(ROWS, 50)):
        learn(model, optimizer, x, y)
        if PLANTED and at % 10 == 9:
            torch.save(model.state_dict(), os.path.join(folder, "model.pt"))
