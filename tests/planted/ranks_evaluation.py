# SPDX-License-Identifier: Apache-2.0
"""Rank 0 alone evaluates after every sixth step; the others wait for it at a barrier."""
# expect: cause=uneven-ranks,periodic where=rank ?0|evaluate|every 6
# run: torchrun 2
import torch
import torch.distributed as dist
from parts import PLANTED, STEPS, Net, batches, join, learn, leave, parallel

rank = join()
net = Net(width=512)
model, optimizer = parallel(net)
held_out = torch.randn(24, 64, 256)


@torch.no_grad()
def evaluate():
    net.eval()
    hits = 0
    for x in held_out:
        hits += (net(x).argmax(-1) == 3).sum().item()
    net.train()
    return hits / held_out.numel()


for step, (x, y) in enumerate(batches(32, STEPS * 2), 1):
    learn(model, optimizer, x, y)
    if step % 6 == 0:
        if rank == 0 and PLANTED:
            evaluate()
        dist.barrier()
leave()
