# SPDX-License-Identifier: Apache-2.0
"""Targets came from NumPy, and the model was made double to fit them."""
# expect: cause=double where=gpu_double.py|parts_gpu.py|float64
# needs: cuda
import torch
from parts_gpu import PLANTED, ROWS, batches, parts

torch.set_float32_matmul_precision("high")
model, optimizer = parts(layers=4)
kind = torch.float64 if PLANTED else torch.float32
model.to(kind)
for x, y in batches(ROWS // 2):
    loss = torch.nn.functional.cross_entropy(model(x.to(kind)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
