# SPDX-License-Identifier: Apache-2.0
"""Rank 0 writes a checkpoint every tenth step while the others wait."""
# expect: cause=uneven-ranks,periodic where=rank ?0|save|every 10
# run: torchrun 2
import os
import tempfile

import torch
from parts import PLANTED, STEPS, Net, batches, join, learn, leave, parallel

rank = join()
model, _ = parallel(Net(width=512))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
path = os.path.join(tempfile.mkdtemp(), "model.pt")


def save():
    for _ in range(6):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    os.remove(path)


for at, (x, y) in enumerate(batches(32, steps=STEPS * 2)):
    learn(model, optimizer, x, y)
    if PLANTED and rank == 0 and at % 10 == 9:
        save()
leave()
