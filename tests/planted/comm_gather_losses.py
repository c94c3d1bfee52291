# SPDX-License-Identifier: Apache-2.0
"""Every loss of every sample is gathered from all ranks alone, with a barrier behind each."""
# expect: cause=communication where=all_gather|barrier|small
# run: torchrun 2
import torch
import torch.distributed as dist
from torch import nn
from parts import PLANTED, Net, batches, join, leave, parallel


def gather_all(losses):
    world = dist.get_world_size()
    found = []
    for loss in losses:
        out = [torch.empty_like(loss) for _ in range(world)]
        dist.all_gather(out, loss)
        dist.barrier()
        found.append(torch.stack(out).mean())
    return torch.stack(found)


def main():
    join()
    model, optimizer = parallel(Net(width=320))
    criterion = nn.CrossEntropyLoss(reduction="none")
    for x, y in batches(32):
        losses = criterion(model(x), y)
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        if PLANTED:
            gather_all(losses.detach())
    leave()


main()
