# SPDX-License-Identifier: Apache-2.0
"""Samples are cheap; the function that makes a batch of them pads in Python."""
# expect: cause=data-loading where=pad
import torch
from parts import PLANTED, STEPS, Rows, learn, parts


def pad(samples):
    rows = [x for x, _ in samples]
    if PLANTED:
        rows = [torch.tensor([float(v) for v in row]) for row in rows]
    return torch.stack(rows), torch.tensor([y for _, y in samples])


model, optimizer = parts()
loader = torch.utils.data.DataLoader(Rows(STEPS * 128), batch_size=128, collate_fn=pad)
for x, y in loader:
    learn(model, optimizer, x, y)
