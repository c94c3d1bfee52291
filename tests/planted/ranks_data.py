# SPDX-License-Identifier: Apache-2.0
"""Rank 1 reads its data from slower storage."""
# expect: cause=uneven-ranks where=SlowRows
# run: torchrun 2
import torch
from parts import PLANTED, STEPS, Net, Rows, SlowRows, join, learn, leave, parallel

rank = join()
data = SlowRows(STEPS * 32, 0.0006) if PLANTED and rank == 1 else Rows(STEPS * 32)
model, optimizer = parallel(Net(width=512))
for x, y in torch.utils.data.DataLoader(data, batch_size=32):
    learn(model, optimizer, x, y)
leave()
