# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: two ranks with the same work."""
# expect: healthy
# run: torchrun 2
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import STEPS, batches, learn, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model, _ = parts(width=256)
model = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for at, (x, y) in enumerate(batches(1024)):
    learn(model, optimizer, x, y)
    if at == STEPS:
        break
dist.barrier()
dist.destroy_process_group()
