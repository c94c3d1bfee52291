# SPDX-License-Identifier: Apache-2.0
"""The mean over the ranks is taken of each metric alone, in each step."""
# expect: cause=communication where=comm_metrics.py
# run: torchrun 2
import torch.distributed as dist
from parts import PLANTED, Net, batches, join, learn, leave, parallel

join()
model, optimizer = parallel(Net(width=256))
for x, y in batches(32):
    loss = learn(model, optimizer, x, y)
    if PLANTED:
        for _ in range(60):
            dist.all_reduce(loss.detach().clone())
leave()
