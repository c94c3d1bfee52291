# SPDX-License-Identifier: Apache-2.0
"""Gradients of tensors on the GPU are exchanged by gloo, by way of the host."""
# expect: cause=gloo where=nccl|gloo
# run: torchrun 2
# needs: cuda
import torch
import torch.distributed as dist
from torch import nn
from parts_gpu import DEVICE, PLANTED, ROWS, WIDTH, Net, batches, learn

dist.init_process_group("gloo")
torch.manual_seed(0)
dist.barrier()
model = Net(width=WIDTH // 2, layers=2).to(DEVICE)
if PLANTED:
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for x, y in batches(ROWS):
    learn(model, optimizer, x, y)
# gloo ends the program where a rank goes while another one is still busy with it.
dist.barrier()
dist.destroy_process_group()
