# SPDX-License-Identifier: Apache-2.0
"""Inputs of unlike length: now this rank is late, now the other."""
# expect: cause=communication,uneven-ranks where=length|each step|not always
# run: torchrun 2
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import PLANTED, STEPS, batches, learn, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model, _ = parts(width=512)
model = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for at, (x, y) in enumerate(batches(256)):
    n = (240 if (at * 7 // 3 + rank) % 2 else 8) if PLANTED else 124
    learn(model, optimizer, x[:n], y[:n])
    if at == STEPS:
        break
dist.barrier()
dist.destroy_process_group()
