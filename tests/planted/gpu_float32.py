# SPDX-License-Identifier: Apache-2.0
"""A model of products in float32, without TF32: tensor cores have nothing to do."""
# expect: cause=tensor-cores where=autocast|matmul_precision
# needs: cuda
import torch
from parts_gpu import PLANTED, ROWS, batches, parts

torch.set_float32_matmul_precision("highest" if PLANTED else "high")
model, optimizer = parts(layers=4)
for x, y in batches(ROWS // 2):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
