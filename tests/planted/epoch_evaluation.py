# SPDX-License-Identifier: Apache-2.0
"""Each epoch ends with an evaluation over more samples than it trains on."""
# expect: cause=between where=epoch_evaluation.py.* evaluate
import torch
from parts import PLANTED, STEPS, Rows, learn, parts

model, optimizer = parts()


def evaluate(n):
    right = 0
    with torch.no_grad():
        for x, y in torch.utils.data.DataLoader(Rows(n), batch_size=128):
            right += (model(x).argmax(1) == y).sum().item()
    return right


for epoch in range(6):
    for x, y in torch.utils.data.DataLoader(Rows(STEPS // 2 * 128), batch_size=128):
        learn(model, optimizer, x, y)
    evaluate((STEPS * 2 if PLANTED else 4) * 128)
