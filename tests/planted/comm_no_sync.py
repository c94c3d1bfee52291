# SPDX-License-Identifier: Apache-2.0
"""Gradients are accumulated over eight batches, and reduced after each."""
# expect: cause=communication where=no_sync|accumul
# run: torchrun 2
import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch import nn
from parts import PLANTED, STEPS, batches, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model, _ = parts(width=512)
model = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for at, (x, y) in enumerate(batches(8)):
    is_last = at % 8 == 7
    with contextlib.nullcontext() if PLANTED or is_last else model.no_sync():
        nn.functional.cross_entropy(model(x), y).backward()
    if is_last:
        optimizer.step()
        optimizer.zero_grad()
    if at == STEPS * 8:
        break
dist.barrier()
dist.destroy_process_group()
