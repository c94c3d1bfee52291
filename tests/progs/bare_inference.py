# SPDX-License-Identifier: Apache-2.0
"""Inference with neither a data loader nor an optimizer: nothing here ends a step."""
import torch

model = torch.nn.Linear(8, 8)
with torch.no_grad():
    for _ in range(200):
        model(torch.ones(2, 8))
print("done")
