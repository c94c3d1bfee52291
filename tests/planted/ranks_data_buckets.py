# SPDX-License-Identifier: Apache-2.0
"""Rank 1 comes late by its data; the gradients go in several buckets."""
# expect: cause=uneven-ranks where=rank ?1
# run: torchrun 2
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import PLANTED, STEPS, Rows, learn, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()


class Stored(Rows):
    def __getitem__(self, at):
        if PLANTED and rank == 1:
            time.sleep(0.0006)
        return super().__getitem__(at)


model, _ = parts(width=512)
model = DDP(model, bucket_cap_mb=1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for x, y in torch.utils.data.DataLoader(Stored(STEPS * 32), batch_size=32):
    learn(model, optimizer, x, y)
dist.barrier()
dist.destroy_process_group()
