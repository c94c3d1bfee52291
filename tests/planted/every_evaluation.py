# SPDX-License-Identifier: Apache-2.0
"""An evaluation of many batches every twelve steps, inside the loop."""
# expect: cause=periodic where=evaluate|every_evaluation.py|every 12
import torch
from parts import PLANTED, STEPS, batches, learn, parts

held = torch.randn(40, 128, 256)


def evaluate(model):
    model.eval()
    with torch.no_grad():
        right = sum(int((model(x).argmax(1) == 0).sum()) for x in held)
    model.train()
    return right


model, optimizer = parts()
for at, (x, y) in enumerate(batches(steps=STEPS * 2)):
    learn(model, optimizer, x, y)
    if PLANTED and at % 12 == 11:
        evaluate(model)
