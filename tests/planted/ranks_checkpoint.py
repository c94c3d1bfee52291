# SPDX-License-Identifier: Apache-2.0
"""Rank 0 writes a checkpoint every tenth step while the others wait."""
# expect: cause=uneven-ranks,periodic where=rank ?0|save|every 10
# run: torchrun 2
import os
import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import PLANTED, STEPS, batches, learn, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model, _ = parts(width=512)
model = DDP(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
path = os.path.join(tempfile.mkdtemp(), "model.pt")


def save():
    for _ in range(6):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    os.remove(path)


for at, (x, y) in enumerate(batches(32)):
    learn(model, optimizer, x, y)
    if PLANTED and rank == 0 and at % 10 == 9:
        save()
    if at == STEPS * 2:
        break
dist.barrier()
dist.destroy_process_group()
