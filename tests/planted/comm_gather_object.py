# SPDX-License-Identifier: Apache-2.0
"""All predictions are gathered as Python objects in each step."""
# expect: cause=communication,host-code where=gather|comm_gather_object.py
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


def gather(x):
    out = [None] * dist.get_world_size()
    dist.all_gather_object(out, x.tolist() * 4)
    return out


for at, (x, y) in enumerate(batches(32)):
    learn(model, optimizer, x, y)
    if PLANTED:
        gather(x)
    if at == STEPS:
        break
dist.barrier()
dist.destroy_process_group()
