# SPDX-License-Identifier: Apache-2.0
"""Buckets so small that each gradient travels alone."""
# expect: cause=communication where=bucket|small
# run: torchrun 2
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch import nn
from parts import PLANTED, STEPS, batches, learn

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model = nn.Sequential(nn.Linear(256, 128), *(nn.Sequential(nn.Linear(128, 128), nn.ReLU())
                                             for _ in range(30)), nn.Linear(128, 10))
model = DDP(model, bucket_cap_mb=0.001 if PLANTED else 25)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for at, (x, y) in enumerate(batches(32)):
    learn(model, optimizer, x, y)
    if at == STEPS:
        break
dist.barrier()
dist.destroy_process_group()
