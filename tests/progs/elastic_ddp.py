#!/usr/bin/env python3
"""elastic_ddp.py - a DDP training whose second rank dies once: torchrun starts both again

usage: torchrun --nproc_per_node 2 --max-restarts 1 elastic_ddp.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(16, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    if step == 8 and dist.get_rank() == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os._exit(3)
    optimizer.zero_grad()
    model(torch.ones(4, 16)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
print("done", flush=True)
