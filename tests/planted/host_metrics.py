# SPDX-License-Identifier: Apache-2.0
"""A confusion matrix is counted in Python after each step."""
# expect: cause=host-code where=count_confusion|learn.*host_metrics|host_metrics.py
import torch
from parts import PLANTED, batches, learn, parts

table = [[0] * 10 for _ in range(10)]


def count_confusion(wanted, got):
    for _ in range(600):
        for a, b in zip(wanted, got):
            table[a][b] += 1


model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        with torch.no_grad():
            got = model(x[:16]).argmax(1)
        count_confusion(y.tolist() * 2, got.tolist() * 16)
