# SPDX-License-Identifier: Apache-2.0
"""The whole validation set after every step."""
# expect: cause=evaluation where=validate|each_evaluation.py
import torch
from parts import PLANTED, batches, learn, parts

held = torch.randn(12, 128, 256)


@torch.no_grad()
def validate(model):
    model.eval()
    right = sum((model(x).argmax(1) == 3).sum() for x in held)
    model.train()
    return right


model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        validate(model)
