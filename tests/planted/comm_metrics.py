# SPDX-License-Identifier: Apache-2.0
"""The mean over the ranks is taken of each metric alone, in each step."""
# expect: cause=communication where=all_reduce|collectives
# run: torchrun 2
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from parts import PLANTED, STEPS, batches, learn, parts

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank = dist.get_rank()
model, _ = parts(width=256)
model = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for at, (x, y) in enumerate(batches(32)):
    loss = learn(model, optimizer, x, y)
    if PLANTED:
        for _ in range(60):
            dist.all_reduce(loss.detach().clone())
    if at == STEPS:
        break
dist.barrier()
dist.destroy_process_group()
